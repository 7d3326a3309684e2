"""A comparison in words and tables."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from market_spread.controller.compare.comparison import Comparison, compare
from market_spread.controller.compare.figures import read_figures
from market_spread.controller.compare.groups import Group
from market_spread.controller.compare.page import comparison_document, comparison_page, signed_percent
from market_spread.controller.views.output import markdown_view, terminal_view
from tests.unit.controller.compare.run_fixtures import run

PATHS = ("latency_ns.p50", "latency_ns.p99", "cpu_us_per_message")
BEFORE = [20.0, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6, 20.7]


def made(name: str, first: int, factor: float, **facts: str) -> Group:
    return Group(
        name,
        tuple(
            run(
                first + 2 * number,
                {PATHS[0]: value * 1e6, PATHS[1]: value * factor * 1e6, PATHS[2]: 5.0 + number},
                facts=facts,
            )
            for number, value in enumerate(BEFORE)
        ),
    )


def slower() -> Comparison:
    groups = (made("before", 0, 1.0, commit="aaa"), made("after", 1, 1.1, commit="bbb"))
    return compare(groups, read_figures((), ()))


def terminal(comparison: Comparison) -> str:
    output = StringIO()
    Console(file=output, width=140).print(terminal_view(comparison_page(comparison)), highlight=False)
    return output.getvalue()


def test_terminal_has_verdict_figures_and_what_differs() -> None:
    text = terminal(slower())

    assert "  WORSE    after against before: 1 worse, 1 same, 1 undecided (8 against 8 runs)" in text
    rows = {line.split(",")[0].strip(): line.split() for line in text.splitlines()}
    assert rows["latency p99"][3:] == [
        "worse", "20.35", "[20,", "20.7]", "22.39", "[22,", "22.77]", "+10.0%", "+8.4%", "to", "+11.6%",
        "100%", "<0.001",
    ]  # fmt: skip
    assert rows["latency p50"][3] == "same"
    assert "• undecided (CPU of the job): the runs differ too much among themselves; make more" in text
    assert ["commit", "aaa", "bbb"] in [line.split() for line in text.splitlines()]


def test_markdown_is_a_table_with_numbers_to_the_right() -> None:
    text = markdown_view(comparison_page(slower()))

    assert text.startswith("**worse**: after against before: 1 worse")
    assert "|---|---|---:|---:|---:|---:|---:|---:|\n" in text
    assert (
        "| latency p99, ms | worse | 20.35 [20, 20.7] | 22.39 [22, 22.77] | +10.0% | +8.4% to +11.6% | 100% |" in text
    )


def test_forced_runs_are_marked_before_all_else() -> None:
    after = made("after", 1, 1.1)
    forced = replace(after, runs=(*after.runs[:7], replace(after.runs[7], void_reasons=("the generator was late",))))

    text = terminal(compare((made("before", 0, 1.0), forced), read_figures((), ())))

    assert "  VOID    after against before" in text
    assert "• VOID: run-15 of after takes part by force, so nothing here counts: the generator was late" in text


def test_runs_that_were_left_out_are_told() -> None:
    void = run(99, void_reasons=("the generator was late",))
    groups = (made("before", 0, 1.0), replace(made("after", 1, 1.1), left_out=(void,)))

    text = terminal(compare(groups, read_figures((), ())))

    assert "• void: 0 of 8 runs of before, 1 of 9 runs of after" in text
    assert "• left out: 1 void run of after; one is run-99: the generator was late" in text


def test_same_manifests_are_told() -> None:
    text = terminal(compare((made("before", 0, 1.0), made("after", 1, 1.1)), read_figures((), ())))

    assert "• the manifests of all runs say the same" in text


def test_document_has_the_verdict_of_every_figure() -> None:
    document = comparison_document(slower())

    assert document["schema_version"] == 2
    assert document["exit_status"] == 1
    assert [figure["verdict"] for figure in document["contrasts"][0]["figures"]] == ["same", "worse", "undecided"]
    assert document["contrasts"][0]["figures"][1]["shift"]["estimate"] > 0.09
    assert document["differences"] == {"commit": [{"aaa": 8}, {"bbb": 8}]}
    assert document["groups"][0]["runs"] == [f"run-{number}" for number in range(0, 16, 2)]


def test_percent_has_a_sign() -> None:
    assert [signed_percent(share) for share in (0.1, -0.034, 12.5)] == ["+10.0%", "-3.4%", "+1,250%"]
