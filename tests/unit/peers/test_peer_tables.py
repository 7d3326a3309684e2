"""What is made of the peers' figures: counts, medians, tables, and the sentence that says where Spark loses."""

import pickle
import re
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "peers"))

from committed import BytewaxStore
from contenders import CONTENDERS, contender_of
from counting import Counts
from figures import better_than_spark, result_of
from peer_picture import draw
from peer_tables import NOT_MEASURED, publish
from recovering import Recovered, longest_silence_us

from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.plan.plan import plan_of_workload

PAGE = "# Peers\n" + "".join(f"<!-- {part} -->\n<!-- /{part} -->\n" for part in ("drain", "latency", "recovery"))


@dataclass(frozen=True)
class Drained:
    rate_per_s: float
    cpu_us_per_message: float


def drains(contender: str, *rates_per_s: float) -> dict[str, object]:
    result: dict[str, object] = result_of(contender, "drain", [Drained(rate, 1e6 / rate) for rate in rates_per_s])
    return result


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


def test_medians_are_of_the_numbers_that_there_are() -> None:
    result = result_of(
        "bytewax", "recovery", [Recovered(3.0, 0, 7, 0), Recovered(1.0, 0, 9, 0), Recovered(2.0, 0, 8, 0)]
    )

    assert result["medians"] == {"silence_s": 2.0, "lost": 0, "doubled": 8, "wrong": 0}
    assert result["held"] == 3


def test_who_beats_the_better_mode_of_spark_is_named_the_best_first() -> None:
    results = [
        drains("spark-real-time", 100.0),
        drains("spark-micro-batch", 200.0),
        drains("kafka-streams", 300.0),
        drains("bytewax", 150.0),
        drains("flink", 400.0),
    ]

    assert better_than_spark(results, "drain", "rate_per_s", higher=True) == ["flink", "kafka-streams"]
    assert better_than_spark(results, "drain", "cpu_us_per_message") == ["flink", "kafka-streams"]
    assert better_than_spark(results[2:], "drain", "rate_per_s", higher=True) == []


def test_page_says_what_was_not_measured_and_where_spark_loses(tmp_path: Path) -> None:
    page = tmp_path / "peers.md"
    page.write_text(PAGE)

    publish([], page)
    assert page.read_text().count(f"| {NOT_MEASURED} | {NOT_MEASURED} |") >= len(CONTENDERS)
    assert "loses" not in page.read_text()

    publish([drains("spark-real-time", 100.0), drains("flink", 90.0, 110.0, 400.0)], page)
    text = page.read_text()
    assert "| Flink SQL | 110 | 9090.91 |" in text
    assert "* messages a second: Flink SQL" in text
    assert text.count("<!-- drain -->") == text.count("<!-- /drain -->") == 1


def test_picture_has_a_panel_for_each_figure_that_was_measured(tmp_path: Path) -> None:
    steady = {"contender": "flink", "figure": "rate-1000", "medians": {"p50_ms": 8.0, "p99_ms": 84.7}}  # too few: p99.9
    without_cpu = {"contender": "bytewax", "figure": "drain", "medians": {"rate_per_s": 70e6}}

    draw([], tmp_path / "none")
    draw([drains("spark-real-time", 100.0), drains("flink", 90.0), without_cpu, steady], tmp_path / "peers")

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
    first, *others = [plan_of_workload(contender.workload(rate_per_s=1_000, scale=0.2)) for contender in CONTENDERS]

    assert all((it.initial, it.warm_up, it.measured) == (first.initial, first.warm_up, first.measured) for it in others)
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
