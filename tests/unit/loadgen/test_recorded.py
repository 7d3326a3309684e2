"""Recorded messages: sent by their times, at a speed, in windows, all inputs together."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.errors import UsageError
from market_spread.loadgen.message_files import InputKeys
from market_spread.loadgen.messages import MESSAGES, messages
from market_spread.loadgen.recorded import Recorded

START_NS = 1_700_000_000_000_000_000


def write(path: Path, times: list[Any], name: str = "at") -> Path:
    path.write_text("".join(json.dumps({name: time, "n": place}) + "\n" for place, time in enumerate(times)))
    return path


def keys(path: Path, topic: str = "trips", **of_source: Any) -> dict[str, Any]:
    return {"topic": topic, "from": {"file": str(path), "time": "at", "time_unit": "s", **of_source}}


def sent(inputs: list[dict[str, Any]], **profile: Any) -> list[tuple[float, str, int]]:
    """Of each message when it is due, in seconds after the start, its topic, and its place in its file."""
    load = messages({"inputs": inputs, "profile": {"profile": "recorded", **profile}, "seed": 1}, START_NS)
    found = [record for some in load.records() for record in some]
    assert load.messages == len(found)
    for place, record in enumerate(found):
        assert load.messages_due(record.intended_ns) <= place < load.messages_due(record.intended_ns + 1)
    return [((it.intended_ns - START_NS) / 1e9, it.topic, json.loads(it.value)["n"]) for it in found]


def test_messages_of_all_files_are_sent_by_their_times_at_the_speed(tmp_path: Path) -> None:
    trips, fares = write(tmp_path / "t", [100, 102, 110]), write(tmp_path / "f", [101, 102.5, 109])
    inputs = [keys(trips), keys(fares, "fares")]

    assert sent(inputs, begin_s=0, end_s=10.5) == [
        (0, "trips", 0), (1, "fares", 0), (2, "trips", 1), (2.5, "fares", 1), (9, "fares", 2), (10, "trips", 2),
    ]  # fmt: skip
    at_ten = [0, 0.1, 0.2, 0.25, 0.9, 1]
    assert [due_s for due_s, _, _ in sent(inputs, begin_s=0, end_s=1.05, speed=10.0)] == at_ten


def test_a_load_begins_where_the_one_before_it_ended(tmp_path: Path) -> None:
    inputs = [keys(write(tmp_path / "t", list(range(100, 110))))]
    assert [place for _, _, place in sent(inputs, begin_s=0, end_s=4)] == [0, 1, 2, 3]
    assert sent(inputs, begin_s=4, end_s=9.5)[0] == (0, "trips", 4)
    assert [place for _, _, place in sent(inputs, begin_s=4, end_s=9.5)] == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("since", "until", "places"),
    [("103", "107", [3, 4, 5, 6]), ("1970-01-01T00:01:43", "1970-01-01T00:01:45Z", [3, 4]), ("108.5", None, [9])],
)
def test_a_window_is_named_by_times_of_the_file_or_of_iso_8601(
    tmp_path: Path, since: str, until: str | None, places: list[int]
) -> None:
    inputs = [keys(write(tmp_path / "t", list(range(100, 110))))]
    part = Recorded(since=since, until=until).between(0, 0, of(inputs))
    assert part.messages == len(places)
    found = sent(inputs, since=since, until=until, begin_s=part.begin_s, end_s=part.end_s)
    assert [place for _, _, place in found] == places


def test_what_a_part_offers_is_counted_with_its_busiest_second(tmp_path: Path) -> None:
    inputs = of([keys(write(tmp_path / "t", [0, 1, 2, 2.1, 2.2, 3, 4, 5]))])
    part = Recorded().between(1, 0, inputs)
    assert (part.messages, part.highest_per_s, part.duration_ns) == (7, 3, 4_000_001_000)


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (["2026-11-02T09:30:00.000250", "2026-11-02T09:30:01.000250"], "iso"),
        (["2026-11-02T10:30:00.000250+01:00", "2026-11-02T09:30:01.000250Z"], "iso"),
        ([1_793_611_800_000_250, 1_793_611_801_000_250], "us"),
        ([1_793_611_800_000_250_017, 1_793_611_801_000_250_017], "ns"),
        (["1793611800.00025", "1793611801.00025"], "s"),
    ],
)
def test_times_are_read_in_their_unit(tmp_path: Path, times: list[Any], unit: str) -> None:
    inputs = [keys(write(tmp_path / "t", times), time_unit=unit)]
    part = Recorded(since="2026-11-02T09:30:00").between(0, 0, of(inputs))
    (first, _, _), (second, _, _) = sent(inputs, since="2026-11-02T09:30:00", begin_s=0, end_s=part.end_s)
    assert first == pytest.approx(0.00025, abs=3e-7)
    assert second == pytest.approx(1.00025, abs=3e-7)


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ([5, 4], "t, message 2 is earlier than the one in front of it; sort the file by at"),
        ([5, "soon"], "t, message 2 has no time in 'at', in s: b'{"),
        ([5, None], "t, message 2 has no time in 'at', in s: b'{"),
        ([], "there is no message in "),
        ([5], "the recording has no message from 2 s to "),
    ],
)
def test_what_cannot_be_sent_is_refused_in_a_sentence(tmp_path: Path, times: list[Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        Recorded().between(2, 0, of([keys(write(tmp_path / "t", times))]))


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    inputs = of([keys(write(tmp_path / "t", [1, 2]))])
    assert Recorded().between(0, 0, inputs).messages == 2
    write(tmp_path / "t", [1, 2, 3])
    assert Recorded().between(0, 0, inputs).messages == 3


def of(inputs: list[dict[str, Any]]) -> tuple[InputKeys, ...]:
    profile = {"profile": "constant", "messages_per_s": 1, "duration_s": 1}
    return MESSAGES.read({"inputs": inputs, "profile": profile, "seed": 1}).inputs
