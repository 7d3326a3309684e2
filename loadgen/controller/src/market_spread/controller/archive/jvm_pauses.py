"""The pauses of a JVM, from its log of garbage collections and safepoints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from market_spread.controller.host.sampler import Row

_PAUSE = re.compile(r"^\[(\d+)ms\].*GC\(\d+\) Pause (.+?) \d+[KMG]->\d+[KMG]\(\d+[KMG]\) ([\d.]+)ms$")
_SAFEPOINT = re.compile(r"^\[(\d+)ms\].*Safepoint \"(\w+)\".* Total: +(\d+) ns$")


@dataclass(frozen=True, slots=True)
class Pause:
    """A standstill of a JVM: when it ended, Unix milliseconds, and how long it was."""

    end_unix_ms: int
    kind: str
    duration_ms: float


def read(path: Path) -> Iterator[Pause]:
    """The collections in a log; none if there is no log."""
    try:
        with path.open(errors="replace") as lines:
            for line in lines:
                match = _PAUSE.match(line.rstrip())
                if match:
                    yield Pause(int(match[1]), match[2], float(match[3]))
    except OSError:
        return


def rows(component: str, path: Path) -> list[Row]:
    """What a timeline has of a log: each second's collections, their pauses, and all safepoints' standstill."""
    totals: dict[tuple[int, str], float] = {}

    def add(unix_ms: int, name: str, value: float) -> None:
        key = (unix_ms // 1000, name)
        totals[key] = totals.get(key, 0.0) + value

    for pause in read(path):
        add(pause.end_unix_ms, "gc_collections", 1)
        add(pause.end_unix_ms, "gc_pause_ms", pause.duration_ms)
    try:
        with path.open(errors="replace") as lines:
            for line in lines:
                match = _SAFEPOINT.match(line.rstrip())
                if match:
                    add(int(match[1]), "safepoint_ms", int(match[3]) / 1e6)
    except OSError:
        pass
    return [(second, component, name, value) for (second, name), value in sorted(totals.items())]
