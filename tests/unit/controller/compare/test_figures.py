"""Figures by name, and how they are shown."""

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.compare.figures import Figure, read_figures, short_number


def test_without_a_choice_the_usual_ones_are_compared() -> None:
    figures = read_figures((), ())

    assert len(figures) == 11
    assert {figure.least_share for figure in figures} == {0.05}
    assert [figure.path for figure in figures if figure.higher_is_better] == ["achieved_rate_per_s"]


def test_a_share_holds_for_all_and_one_for_a_figure() -> None:
    figures = read_figures(("latency_ns.p99.9", "cpu_us_per_message"), ("3%", "latency_ns.p99.9=0.1"))

    assert [figure.least_share for figure in figures] == [0.1, 0.03]


@pytest.mark.parametrize(
    ("text", "unit", "higher"),
    [
        ("stages_ns.compute.p50", "ms", False),
        ("boundary_gap_ns_max", "ms", False),
        ("time_to_first_order_s", "s", False),
        ("cpu_us_per_message_second_half", "us", False),
        ("offered_rate_per_s", "/s", False),
        ("achieved_rate_per_s", "messages/s", True),
        ("achieved_rate_per_s:lower", "messages/s", False),
        ("boundaries:higher", "", True),
        ("latency_by_state_partition_ns.3.p99.9", "ms", False),
        ("backlog.messages_max", "", False),
    ],
)
def test_a_field_of_the_result_has_its_unit_and_direction(text: str, unit: str, higher: bool) -> None:
    (figure,) = read_figures((text,), ())

    assert (figure.unit, figure.higher_is_better) == (unit, higher)


@pytest.mark.parametrize(
    ("chosen", "least", "said"),
    [
        (("latency_ns.p99:up",), (), "--figure latency_ns.p99:up; after the colon use higher or lower"),
        (("latency_ns.p98",), (), "latency_ns.p98 is no number of the result; use the right name: latency_ns.p99,"),
        (("latency_ns.p99", "cpu_us_per_mesage"), (), "the right name: cpu_us_per_message,"),
        (("stages_ns.compute.p51",), (), "the right name: stages_ns.compute.p95, stages_ns.compute.p50"),
        (("latency_ns",), (), "the right name: latency_ns.p99,"),
        (("stages_ns",), (), "--figure stages_ns is no number"),
        (("verdict",), (), "--figure verdict is no number"),
        ((), ("no",), "--least no; use a share such as 5% or 0.05"),
        ((), ("0%",), "--least 0%; use a share"),
        (("boundaries",), ("latency_ns.p99=5%",), "latency_ns.p99 is not compared; name one of boundaries"),
    ],
)
def test_what_is_no_figure_or_no_share_is_said(chosen: tuple[str, ...], least: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_figures(chosen, least)

    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (21_348_000, "21.35"), (0, "0"), (5_000_000_000, "5,000"), (123_456, "0.1235")]
)
def test_figures_are_shown_in_their_unit(value: float | None, shown: str) -> None:
    assert Figure("latency_ns.p99", "p99", "ms", 1e6).shown(value) == shown


def test_large_numbers_keep_all_their_digits() -> None:
    assert short_number(19_990.4) == "19,990"
