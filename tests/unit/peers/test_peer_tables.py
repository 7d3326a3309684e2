"""What is made of the peers' figures: rounds, medians, tables, and the sentences that say where Spark stands."""

import pickle
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "peers"))

from committed import BytewaxStore
from contenders import CONTENDERS, contender_of
from counting import Counts
from figures import FIGURES
from peer_picture import draw
from peer_tables import NOT_MEASURED, publish
from recovering import longest_silence_us
from rounds import Measurement, append, read, turns
from standings import Result, Standing, results_of, standing
from sustained import SEARCH, searched

from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.sweep.search import RateOutcome

PAGE = "# Peers\n" + "".join(
    f"<!-- {part} -->\n<!-- /{part} -->\n" for part in ("drain", "latency", "commits", "sustained", "recovery")
)


def measured(contender: str, values: Sequence[dict[str, object]], figure: str = "drain") -> list[Measurement]:
    """Of as many rounds as there are values, from round 1 on."""
    return [
        Measurement(number, figure, contender, 1, "2026-11-25T00:00:00+00:00", None, found)
        for number, found in enumerate(values, 1)
    ]


def drains(contender: str, *rates_per_s: float) -> list[Measurement]:
    return measured(contender, [{"rate_per_s": rate, "cpu_us_per_message": 1e6 / rate} for rate in rates_per_s])


def test_counts_know_how_many_messages_are_below_an_offset() -> None:
    counts = Counts()
    for messages in (3, 200, 1):
        counts.add("nbbo", 0, messages * NBBO.width)
    counts.add("orders", 0, 5 * ORDER.width)

    assert counts.below({("nbbo", 0): 2, ("orders", 0): 1}) == 208
    assert counts.below({("nbbo", 0): 0}) == 0
    assert counts.below({("nbbo", 0): 9}) == 204  # read less than is committed: what is known
    assert counts.records_below({("nbbo", 0): 2, ("orders", 0): 1}) == 3


def test_silence_is_the_longest_from_the_kill_on() -> None:
    received_us = np.array([10, 20, 500, 510, 1_400, 1_401], np.int64)

    assert longest_silence_us(received_us, 505) == 890
    assert longest_silence_us(received_us, 20) == 890
    assert longest_silence_us(received_us, 1_401) == 0


def test_void_runs_are_counted_but_their_values_are_not() -> None:
    runs: list[dict[str, object]] = [
        {"p50_ms": 3.0, "verdict": "passed"},
        {"p50_ms": 90.0, "verdict": "void"},
        {"p50_ms": 5.0, "verdict": "failed"},
        {"p50_ms": None, "verdict": "passed"},
    ]
    (result,) = results_of(measured("bytewax", runs, "rate-1000"))

    assert result.values("p50_ms") == {1: 3.0, 3: 5.0}
    found = result.interval("p50_ms")
    assert found is not None
    assert found.estimate == 4.0
    assert found.low is None  # two values bound nothing
    assert list(result.verdicts) == ["passed", "void", "failed", "passed"]
    assert result.interval("p99_ms") is None


def test_rounds_are_drawn_into_other_orders_and_gone_on_with(tmp_path: Path) -> None:
    drain = next(figure for figure in FIGURES if figure.name == "drain")
    first = list(turns([drain], CONTENDERS, 8, []))
    assert {turn.contender.name for turn in first[: len(CONTENDERS)]} == {it.name for it in CONTENDERS}
    orders = [[turn.contender.name for turn in first if turn.round == number] for number in range(1, 9)]
    assert len({tuple(order) for order in orders}) == 8

    done = tmp_path / "peers.jsonl"
    for turn in first[:5]:
        append(done, Measurement(turn.round, "drain", turn.contender.name, turn.place, "", "0123456", {"lost": 0}))
    assert list(turns([drain], CONTENDERS, 8, read(done))) == first[5:]
    assert read(done)[4].contender == first[4].contender.name


def test_a_figure_with_commits_of_its_own_takes_only_who_can_commit_so() -> None:
    by_name = {figure.name: figure for figure in FIGURES}
    taken = {
        name: {it.name for it in CONTENDERS if by_name[name].takes(it)} for name in ("drain", "commit-1", "commit-30")
    }

    assert taken["drain"] == {it.name for it in CONTENDERS}
    assert taken["commit-30"] == taken["drain"] - {"spark-as-shipped", "spark-micro-batch"}
    assert taken["commit-1"] == taken["commit-30"] - {"spark-real-time"}


def test_six_rounds_tell_who_is_better_and_five_do_not() -> None:
    def of(rounds: int) -> list[Result]:
        drift = [1.0, 1.4, 0.8, 1.3, 0.9, 1.5][:rounds]  # the machine's, the same for all systems of a round
        found = [
            *drains("spark-real-time", *(100.0 * each for each in drift)),
            *drains("spark-micro-batch", *(200.0 * each for each in drift)),
            *drains("kafka-streams", *(230.0 * each for each in drift)),
            *drains("bytewax", *(150.0 * each for each in drift)),
            *drains("flink", *(200.0 * each * (1 + (-1) ** at / 20) for at, each in enumerate(drift))),
        ]
        results: list[Result] = results_of(found)
        return results

    assert standing(of(6), "drain", "rate_per_s", higher=True) == Standing(("kafka-streams",), ("bytewax",), ("flink",))
    assert standing(of(6), "drain", "cpu_us_per_message") == Standing(("kafka-streams",), ("bytewax",), ("flink",))
    five = standing(of(5), "drain", "rate_per_s", higher=True)
    assert five is not None
    assert (five.behind, five.ahead, len(five.undecided)) == ((), (), 3)
    assert standing(results_of(drains("bytewax", 1.0)), "drain", "rate_per_s") is None
    assert standing(results_of(drains("spark-real-time", 1.0)), "drain", "rate_per_s") is None


@pytest.mark.statistical
def test_systems_that_are_alike_are_seldom_called_better() -> None:
    """The same distribution for all, with a drift from round to round: one comparison in twenty may say more."""
    random = np.random.default_rng(7)
    called = 0
    for _ in range(200):
        drift = np.exp(random.normal(0, 0.3, 8))
        names = ("spark-real-time", "flink", "bytewax", "kafka-streams", "kafka-python")
        found = [
            it for name in names for it in drains(name, *(100 * drift * np.exp(random.normal(0, 0.1, 8))).tolist())
        ]
        said = standing(results_of(found), "drain", "rate_per_s", higher=True)
        assert said is not None
        called += bool(said.behind or said.ahead)
    assert called <= 18  # 5% of 200, and what chance adds to that in 99 cases of 100


def test_page_says_what_was_not_measured_and_where_spark_stands(tmp_path: Path) -> None:
    page = tmp_path / "peers.md"
    page.write_text(PAGE)

    publish([], page)
    assert page.read_text().count(f"| {NOT_MEASURED} | {NOT_MEASURED} |") >= len(CONTENDERS)
    assert "better" not in page.read_text()

    publish(results_of([*drains("spark-real-time", 100.0), *drains("flink", 90.0, 110.0, 400.0)]), page)
    text = page.read_text()
    assert "| Flink SQL | 110 | 9090.91 | 3 |" in text
    assert "Who is better is not said before 6 rounds." in text

    rates = range(100, 108)
    rounds = [*drains("spark-real-time", *rates), *drains("flink", *(2 * rate for rate in rates))]
    publish(results_of(rounds), page)
    text = page.read_text()
    assert "| Flink SQL | 207 (200 to 214) |" in text
    assert "* messages a second: behind Flink SQL" in text
    assert text.count("<!-- drain -->") == text.count("<!-- /drain -->") == 1


def test_table_of_runs_has_hot_and_cold_keys_and_how_many_passed(tmp_path: Path) -> None:
    page = tmp_path / "peers.md"
    page.write_text(PAGE)
    run = {"p50_ms": 5.0, "p99_ms": 31.25, "p99_hot_ms": 30.0, "p99_cold_ms": 44.0, "cpu_us_per_message": 9.5}
    found = [*measured("flink", [{**run, "verdict": "passed"}, {**run, "verdict": "void"}], "rate-20000")]

    publish(results_of(found), page)

    text = page.read_text()
    row = "| 5.0 | 31.2 | too few | 30.0 | 44.0 | 9.50 | 1 of 2 |"
    assert f"| Flink SQL | 20,000 {row}" in text
    assert f"| Flink SQL | 10 {row}" in text
    assert "Messages/s: 1,000 and 100,000 not measured yet." in text


def test_search_ends_beside_the_limit_and_says_when_the_rig_ended_it() -> None:
    def below(limit: int, otherwise: RateOutcome) -> Callable[[int], RateOutcome]:
        return lambda rate: RateOutcome.HELD if rate <= limit else otherwise

    found = searched(below(230_000, RateOutcome.BROKEN))
    assert found.held_per_s <= 230_000 < (found.broken_per_s or 0) <= found.held_per_s * (1 + SEARCH.precision)
    assert not found.is_rig_bound
    assert searched(below(150_000, RateOutcome.VOID)).is_rig_bound
    none = searched(below(1, RateOutcome.BROKEN))
    assert (none.held_per_s, none.broken_per_s) == (0, SEARCH.low)


def test_picture_has_a_panel_for_each_figure_that_was_measured(tmp_path: Path) -> None:
    steady = measured("flink", [{"p50_ms": 8.0, "p99_ms": 84.7, "p999_ms": None}], "rate-1000")
    without_cpu = measured("bytewax", [{"rate_per_s": 70e6}])

    draw([], tmp_path / "none")
    found = [*drains("spark-real-time", 100.0), *drains("flink", 90.0), *without_cpu, *steady]
    draw(results_of(found), tmp_path / "peers")

    assert {path.name for path in tmp_path.iterdir()} == {"peers.png", "peers.svg"}
    labels = re.findall(r"<!-- (.*?) -->", (tmp_path / "peers.svg").read_text())
    assert {"million messages a second, drained", "Flink SQL", "85", "70.00"} <= set(labels)
    assert any("at 1,000/s" in label for label in labels)
    assert not any("kill" in label or "at 20,000/s" in label for label in labels)


def test_page_without_a_mark_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "peers.md"
    page.write_text("<!-- drain -->\n<!-- /drain -->\n")

    with pytest.raises(ValueError, match="latency"):
        publish([], page)


def test_all_contenders_are_given_the_same_messages() -> None:
    plans = {it.name: plan_of_workload(it.workload(rate_per_s=1_000, scale=0.2)) for it in CONTENDERS}
    longer = plans.pop("spark-as-shipped")  # so that its commit is within what is measured
    first, *others = plans.values()

    assert all((it.initial, it.warm_up, it.measured) == (first.initial, first.warm_up, first.measured) for it in others)
    assert (longer.initial, longer.warm_up) == (first.initial, first.warm_up)
    assert longer.duration_s > first.duration_s + 5
    assert contender_of("flink").peer is not None


def test_bytewax_has_committed_what_it_would_resume_from(tmp_path: Path) -> None:
    store = BytewaxStore(tmp_path)
    assert store.offsets() == {}

    with closing(sqlite3.connect(tmp_path / "part-0.sqlite3")) as database:
        database.execute("CREATE TABLE snaps (step_id, state_key, snap_epoch, ser_change)")
        database.execute("CREATE TABLE fronts (ex_num, worker_index, worker_frontier)")
        database.executemany("INSERT INTO fronts VALUES (?, 0, ?)", [(0, 9), (1, 5)])
        rows = [("0-nbbo", 3, 30), ("0-nbbo", 4, 40), ("0-nbbo", 5, 50), ("0-orders", 4, 7), ("1-orders", 4, -2)]
        steps = [("market_spread.frames", key, epoch, pickle.dumps(offset)) for key, epoch, offset in rows]
        other = ("market_spread.newest_quotes", "0", 4, pickle.dumps({}))
        database.executemany("INSERT INTO snaps VALUES (?, ?, ?, ?)", [*steps, other])
        database.commit()

    assert store.offsets() == {("nbbo", 0): 40, ("orders", 0): 7}
