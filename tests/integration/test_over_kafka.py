"""A small application over a real broker in each mode; in memory all of them run in every mode."""

import json
import re
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from market_spread.common.errors import MarketSpreadError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.session.pipeline import run_pipeline
from tests.support.jobs import Jobs
from tests.support.pipelines import named

REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
LINES = "\n".join(topics.values()).splitlines()[:3_000]


def outcome(
    folder: Path, application: str, mode: str, source: str, lines: list[bytes], *sinks: str
) -> list[tuple[str, bytes]]:
    """What the topics of these sinks hold in the end, and no others; what is warned of counts as one, `warning`."""
    path = folder / source
    path.write_bytes(b"\n".join(lines) + b"\n")
    records: list[tuple[str, bytes]] = []
    run_pipeline(
        application,
        mode=mode,
        inputs={source: path},
        show=lambda name, value: records.append((name, value)),
        say=lambda line: None,
        warn=lambda line: records.append(("warning", line.encode())),
    )
    assert {name for name, _ in records} == set(sinks)
    return records


@pytest.mark.full
def test_word_count(tmp_path: Path) -> None:
    found = outcome(tmp_path, "word_count", REAL_TIME, "lines", [line.encode() for line in LINES], "counts")

    words = re.findall(r"(?:[^\W_]|')+", "\n".join(LINES).lower())
    last: dict[str, int] = {}
    for _, record in found:
        word, _, count = record.decode().split(" ")
        assert int(count) == last.get(word, 0) + 1
        last[word] = int(count)
    assert len(words) > 10_000
    assert last == dict(Counter(words))


@pytest.mark.full
def test_sequence_window(tmp_path: Path) -> None:
    numbers = range(1, 201)
    lines = [f"N{'numbers':<8}{value:012}{value:+012}".encode() for value in numbers]

    found = outcome(tmp_path, named("sequence_window"), MICRO_BATCH, "numbers", lines, "windows")

    windows = {int(window[-1]): tuple(map(int, window)) for window in (it.decode()[1:-1].split(",") for _, it in found)}
    assert len(found) == len(windows) == len(numbers)
    assert all(windows[last] == tuple(max(0, last - step) for step in (6, 4, 2, 0)) for last in numbers)


def test_windows_that_have_ended_are_put_out_before_the_job_ends(tmp_path: Path) -> None:
    lines = [f"anna,{number // 2}" for number in range(10_000)]  # two batches
    late = ["bert,4990", "bert,1"]  # a third

    found = outcome(
        tmp_path, named("minutes"), MICRO_BATCH, "visits", [it.encode() for it in lines + late], *OF_MINUTES
    )

    windows = sorted(value.decode() for sink, value in found if sink == "counts")
    assert windows == sorted(f"anna {60 * minute} 120" for minute in range(83))
    assert [value.decode() for sink, value in found if sink == "warning"] == [
        "'minute' puts a window out when a row comes from 5 s after its end",
        "1 rows came too late for a step that goes by time, and were dropped",
    ]


WRONG = """
from market_spread.streaming import MapBatches, Pipeline, Sink, Source, Text

def wrong() -> Pipeline:
    step = MapBatches("parts", takes=("text",), gives={"text": "string"}, function=lambda rows: {"text": 1 // 0})
    return Source("lines", Text()).to(step).to_sink(Sink("out", Text()), name="wrong")
"""


def test_failure_is_told_without_a_log_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)

    with pytest.raises(MarketSpreadError) as raised:
        outcome(tmp_path, f"{tmp_path}/wrong.py:wrong", MICRO_BATCH, "lines", [b"a"])

    assert "ZeroDivisionError: integer division or modulo by zero" in str(raised.value)
    assert "log:" not in str(raised.value)


@pytest.mark.parametrize("mode", [MICRO_BATCH, REAL_TIME])
def test_key_headers_and_time_of_a_record_are_fields(mode: str, broker: Broker, tmp_path: Path) -> None:
    jobs, source, sink, invalid = Jobs(tmp_path, broker), *(f"{name}-{mode}" for name in ("lines", "out", "invalid"))
    jobs.create_topics(source, sink, invalid)
    begin_us = time.time_ns() // 1_000_000 * 1_000
    with closing(KafkaBroker(broker.bootstrap_servers, "test").producer()) as producer:
        for text, key in ((b"a", "é".encode()), (b"b", None), (b"c", "é".encode())):
            producer.send(source, 0, text, [("trace-id", b"t" + text)], lambda offset, error: None, key)
        producer.close(30)

    client = jobs.start_job(
        named("of_records"), tmp_path / "checkpoint", mode=mode, topics=f"lines={source},out={sink},invalid={invalid}"
    )
    try:
        jobs.wait_for_commit(client, source)
    finally:
        client.close()
        jobs.stop()

    found = [value.decode().split() for value in jobs.received(sink)]
    assert [(*fields[:3], fields[4]) for fields in found] == [("a", "é", "ta", "1"), ("c", "é", "tc", "2")]
    assert all(begin_us <= int(fields[3]) <= time.time_ns() // 1_000 for fields in found)
    assert [json.loads(report)["offset"] for report in jobs.received(invalid)] == [1]


OF_MINUTES = ("counts", "warning")
