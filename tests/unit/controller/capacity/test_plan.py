"""The plan's arithmetic, from costs that are known."""

from dataclasses import replace
from math import ceil

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.capacity.plan import REASONS, TERMS, Model, PlannedFigure, Planner
from market_spread.controller.plan.reading import Overrides, overridden
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from market_spread.controller.views.output import terminal_view
from tests.unit.controller.capacity.synthetic import CUTS, cores, observations

WORKLOAD = DEFAULT_WORKLOAD.changed(frames={"messages": 900, "linger_ms": 5})


def planner(rate: int = 3_000_000, symbols: int = 35_000, machine: str = "c4.8xlarge", speed: float = 1.0) -> Planner:
    offered = overridden(WORKLOAD, Overrides(rate_per_s=rate, symbols=symbols))
    return Planner(Model.fit(observations(), "real-time"), offered, machine, speed)


def by_name(of: Planner) -> dict[str, PlannedFigure]:
    return {each.name: each for each in of.figures()}


def test_every_figure_has_its_value_process_and_reason() -> None:
    figures = planner().figures()

    assert [each.name for each in figures] == list(REASONS)
    for each in figures:
        process, why = REASONS[each.name]
        assert process in TERMS
        assert "; not known: " in why or "; none where" in why
        assert each.why == why


def test_known_costs_make_the_known_plan() -> None:
    found = by_name(planner())
    load = planner().cut(0)
    job = cores(load, "job")
    bytes_per_s = 3_000_000 * 57 + load.numbers()["frames_per_s"] * 80

    def value(name: str) -> float | None:
        return found[name].value

    assert value("CPU of the job, cores") == pytest.approx(job, rel=1e-6)
    assert value("CPU of the brokers, cores") == pytest.approx(cores(load, "broker"), rel=1e-6)
    assert value("tasks at once") == 2 * load.partitions + load.state_partitions
    assert value("executors") == ceil(job / 0.7 / 7)
    assert value("network in, and out, Gbit/s") == pytest.approx(8 * bytes_per_s / 1e9)
    assert value("disk of the brokers, MB/s") == pytest.approx(bytes_per_s / 1e6)
    # The disk takes 500 MB/s, of which 70% are planned with.
    assert value("brokers") == ceil(bytes_per_s / 1e6 / 350) == 1


def test_no_thread_is_planned_to_be_busier_than_it_should() -> None:
    for rate in (1_000, 100_000, 1_000_000, 3_000_000):
        load = planner(rate).cut(0)
        job = cores(load, "job")

        assert job * 0.25 / (2 * load.partitions) <= 0.7
        assert job * 0.75 / load.state_partitions <= 0.7
    fewer = replace(load, partitions=load.partitions - 1)
    assert cores(fewer, "job") * 0.25 / (2 * fewer.partitions) > 0.6


def test_state_holds_all_symbols_where_misses_cost_more_than_tasks() -> None:
    # 39 partitions hold 35,000 symbols; each of the 23 that the default has not is a fiftieth of a core.
    cuts = {rate: planner(rate).cut(0) for rate in (20_000, 200_000)}

    assert {rate: cut.state_partitions for rate, cut in cuts.items()} == {20_000: 16, 200_000: 39}
    for cut in cuts.values():
        other = replace(cut, state_partitions=55 - cut.state_partitions)
        assert cores(cut, "job") < cores(other, "job")


def test_symbols_ask_for_partitions_of_the_state_at_any_rate() -> None:
    assert [planner(1000, symbols).cut(0).state_partitions for symbols in (350, 3500, 100_000)] == [1, 4, 16]


def test_each_sender_more_draws_the_messages_of_all() -> None:
    found = by_name(planner(2_000_000))
    alone, of_each = cores(planner(2_000_000).cut(0), "sender"), 0.05 + 2_000_000 * 0.08e-6
    senders = found["senders"].value

    assert senders == ceil((alone - of_each) / (0.7 - of_each))
    assert found["CPU of the senders, cores"].value == pytest.approx(alone + (senders - 1) * of_each, rel=1e-6)
    assert by_name(planner(1000))["senders"].value == 1


def test_no_number_of_senders_draws_more_than_one_can() -> None:
    found = by_name(planner(9_000_000))

    assert found["senders"].value is None
    assert found["CPU of the senders, cores"].value is None
    assert found["brokers"].value is not None
    assert by_name(replace(planner(4_000_000), core_speed=2.0))["senders"].value is not None


def test_nodes_hold_the_brokers_and_the_job() -> None:
    found = by_name(planner())

    assert found["nodes of brokers and job"].value == 1 + ceil(cores(planner().cut(0), "job") / 0.7 / 16)


def test_twice_the_core_speed_takes_half_the_cores() -> None:
    slow, fast = by_name(planner(100_000, 350)), by_name(planner(100_000, 350, speed=2.0))

    for name in ("CPU of the job, cores", "CPU of the brokers, cores"):
        assert fast[name].value == pytest.approx(slow[name].value / 2)  # type: ignore[operator]


def test_only_what_lies_beyond_the_runs_is_extrapolated() -> None:
    far, near = by_name(planner()), by_name(planner(60_000, 350))

    assert [name for name, each in far.items() if not each.extrapolated] == ["CPU of the receiver, cores"]
    assert not any(each.extrapolated for each in near.values())


def test_latencies_are_those_of_the_runs_or_none() -> None:
    grid = observations()[: len(CUTS)]
    runs = [replace(run, latencies={"p99 between commits, ms": 10.0 + place}) for place, run in enumerate(grid)]
    silent = [replace(run, latencies={}) for run in grid]

    measured, unknown = (
        by_name(replace(planner(20_000, 350), model=Model.fit(of, "real-time"))) for of in (runs, silent)
    )

    assert measured["p99 between commits, ms"][1:4] == (15.5, 10, 21)
    assert unknown["p99 between commits, ms"][1:4] == (None, None, None)


def test_slower_runs_widen_the_plan() -> None:
    shaken = observations([1 + 0.25 * (place % 2) for place in range(len(CUTS))])

    found = by_name(replace(planner(), model=Model.fit(shaken, "real-time")))

    low, value, high = (getattr(found["CPU of the job, cores"], name) for name in ("low", "value", "high"))
    assert low < value < high
    assert found["executors"].low <= found["executors"].value <= found["executors"].high  # type: ignore[operator]


def test_rate_that_no_partitions_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="--rate 10000000 takes more partitions than there can be; use a lower one"):
        replace(planner(10_000_000), core_speed=0.01).figures()


def test_page_says_what_is_extrapolated_and_how_good_the_fit_is(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    Console(width=500).print(terminal_view(planner().page()), highlight=False)
    said = capsys.readouterr().out

    assert "3,000,000 messages/s, 35,000 symbols, on c4.8xlarge at core speed 1" in said
    assert "3,000,000 messages a second, fitted up to 150,000" in said
    assert "held-out steps predicted within 0%, the worst of 3 within 0%" in said
    assert "500 us for alerts a second" in said
