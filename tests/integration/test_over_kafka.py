"""A small application over a real broker in each mode; in memory all of them run in every mode."""

import re
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from market_spread.controller.session.pipeline import run_pipeline
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
    late = ["bert,4990", "bert,1"]  # a third; Spark drops what was late for the one before

    found = outcome(
        tmp_path, named("minutes"), MICRO_BATCH, "visits", [it.encode() for it in lines + late], *OF_MINUTES
    )

    windows = sorted(value.decode() for sink, value in found if sink == "counts")
    assert windows == sorted(f"anna {60 * minute} 120" for minute in range(83))
    assert [value.decode() for sink, value in found if sink == "warning"] == [
        "'minute' puts a window out when a row comes from 5 s after its end",
        "1 rows came too late for a step that goes by time, and were dropped",
    ]


OF_MINUTES = ("counts", "warning")
