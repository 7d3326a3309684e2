"""Messages at the times at which they were recorded: all inputs together, at a speed, a window of them."""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import DURATION_S_MAX, NS_PER_S, Profile
from market_spread.common.schema import number, text
from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.message_files import ISO, UNITS_NS, FromKeys, InputKeys, Message, messages_of

RECORDED: Final = "recorded"
_NOT_ASKED = number(0, 2**62, "Found in the files; leave it out.")
# Found in the files, and so no part of a workload's own.
OF_THE_FILES = ("begin_s", "end_s", "messages", "peak_per_s")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded times of files. The warm-up is the begin of the window, and what is measured comes behind it.

    begin_s, end_s: of this load, after the window's begin, at its speed; messages, peak_per_s: what there is between
    them, and the most of a second. All of them are 0 until `between` has looked. `Times` has what is due when.
    """

    profile: Literal["recorded"] = field(default=RECORDED, kw_only=True)
    speed: Annotated[float, number(0.001, 1_000_000, "How many recorded seconds pass in one.")] = 1.0
    since: Annotated[str | None, text("Begin of the window: a time as the files have it, or of ISO 8601.")] = None
    until: Annotated[str | None, text("Its end, which is not part of it.")] = None
    begin_s: Annotated[float, _NOT_ASKED] = 0
    end_s: Annotated[float, _NOT_ASKED] = 0
    messages: Annotated[int, _NOT_ASKED] = 0
    peak_per_s: Annotated[int, _NOT_ASKED] = 0

    @property
    def duration_ns(self) -> int:
        return round((self.end_s - self.begin_s if self.end_s else DURATION_S_MAX) * NS_PER_S)

    @property
    def highest_per_s(self) -> int:
        return self.peak_per_s

    def total(self) -> int:
        return self.messages

    def between(self, begin_s: float, end_s: float, inputs: tuple[InputKeys, ...]) -> "Recorded":
        """The same, of this part of the window alone. UsageError if that has no message; end_s: 0 is the window's."""
        _, begin_ns, end_ns = _window(self, inputs)
        end_s = end_s or (end_ns - begin_ns) / self.speed / NS_PER_S
        part = replace(self, begin_s=begin_s, end_s=end_s)
        times = Times(part, inputs)
        if end_s <= begin_s or not times.total():
            raise UsageError(
                f"the recording has no message from {begin_s:g} s to {end_s:g} s of its window, at the speed "
                f"{self.speed:g}; change the window, the speed or warm_up.duration_s"
            )
        return replace(part, messages=times.total(), peak_per_s=times.highest_per_s)


class Times(Profile):
    """A recorded load with its times at hand, 8 bytes for each message. skipped: messages of the files before it."""

    def __init__(self, of: Recorded, inputs: tuple[InputKeys, ...]) -> None:
        """UsageError if a file has no times, or they go back."""
        times_ns, begin_ns, _ = _window(of, inputs)
        window_ns = (times_ns - begin_ns) / of.speed
        first = np.searchsorted(window_ns, round(of.begin_s * NS_PER_S))
        after = np.searchsorted(window_ns, round(of.end_s * NS_PER_S))
        self.duration_s = of.end_s - of.begin_s
        self.skipped = int(first)
        self.all_ns: Int64s = (window_ns[first:after]).astype(np.int64) - round(of.begin_s * NS_PER_S)

    @property
    def highest_per_s(self) -> int:
        return int(np.bincount(self.all_ns // NS_PER_S).max())

    def due(self, offset_ns: int) -> int:
        return int(np.searchsorted(self.all_ns, offset_ns))

    def total(self) -> int:
        return len(self.all_ns)

    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        return self.all_ns[numbers]


def by_time(inputs: tuple[InputKeys, ...], seed: int) -> Iterator[tuple[InputKeys, int, Message]]:
    """All messages of the files in the order of their times, each with its input and its place in that."""
    merged = heapq.merge(*(_timed(each, seed) for each in inputs), key=lambda timed: timed[0])
    return ((into, place, message) for _, into, place, message in merged)


def _timed(into: InputKeys, seed: int) -> Iterator[tuple[int, InputKeys, int, Message]]:
    source, before_ns = into.source, 0
    for place, message in zip(count(), messages_of(into, seed), strict=False):
        where = f"{source.name}, message {place + 1}"
        time_ns = _time_ns(message, source, where)
        if time_ns < before_ns:
            raise UsageError(f"{where} is earlier than the one in front of it; sort the file by {source.time}")
        before_ns = time_ns
        yield time_ns, into, place, message


def _time_ns(message: Message, source: FromKeys, where: str) -> int:
    if source.time is None and message.recorded_ms >= 0:
        return message.recorded_ms * UNITS_NS["ms"]
    try:
        row = message.value if isinstance(message.value, Mapping) else json.loads(message.value)
        return int(np.int64(parsed_ns(row[source.time or ""], source.time_unit)))
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{where} has no time in {source.time!r}, in {source.time_unit}: {message.value!r:.80}; correct time: "
            "or time_unit:"
        ) from error


def parsed_ns(time: object, unit: str) -> int:
    """Unix nanoseconds of a time: a number of the unit, or a text or datetime of ISO 8601, UTC unless it says more."""
    if isinstance(time, str) and unit == ISO:
        time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        seconds = time.replace(microsecond=0, tzinfo=time.tzinfo or UTC).timestamp()
        return round(seconds) * NS_PER_S + time.microsecond * 1000
    if isinstance(time, str | int):
        digits = str(time)
        return int(digits) * UNITS_NS[unit] if digits.isdecimal() else round(float(digits) * UNITS_NS[unit])
    if isinstance(time, float):
        return round(time * UNITS_NS[unit])
    raise TypeError(type(time).__name__)


def _stats(inputs: Sequence[InputKeys]) -> tuple[tuple[int, int], ...]:
    """What changes when the files change."""
    found = (Path(str(each.source.file)) for each in inputs)
    return tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in found if path.is_file())


@lru_cache(maxsize=2)
def _times_ns(inputs: tuple[InputKeys, ...], stats: tuple[tuple[int, int], ...]) -> Int64s:
    """Those of all messages of the files, in order."""
    merged = heapq.merge(*((timed[0] for timed in _timed(each, 0)) for each in inputs))
    return np.fromiter(merged, np.int64)


def _window(of: Recorded, inputs: tuple[InputKeys, ...]) -> tuple[Int64s, int, int]:
    """All times of the files, and when the window begins and ends. UsageError without a message, or for a wrong end."""
    times_ns = _times_ns(inputs, _stats(inputs))
    if not len(times_ns):
        raise UsageError(f"there is no message in {inputs[0].source.name}; name one that has some")
    begin_ns, end_ns = int(times_ns[0]), int(times_ns[-1]) + 1000
    if of.since is not None:
        begin_ns = _asked_ns(of.since, "since", inputs)
    if of.until is not None:
        end_ns = min(end_ns, _asked_ns(of.until, "until", inputs))
    return times_ns, begin_ns, end_ns


def _asked_ns(asked: str, key: str, inputs: Sequence[InputKeys]) -> int:
    unit = inputs[0].source.time_unit
    for kind in (unit, ISO):
        try:
            return parsed_ns(asked, kind)
        except (ValueError, KeyError):
            continue
    raise UsageError(f"load.{key}={asked!r}; use a time in {unit}, as the files have it, or of ISO 8601")
