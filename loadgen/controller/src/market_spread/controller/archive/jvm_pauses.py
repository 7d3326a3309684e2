"""The pauses of a JVM, from its log of garbage collections and safepoints, and how it is started to write one."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from market_spread.controller.host.sampler import Row

# Unix milliseconds before each line.
_LOG_OPTION = "-Xlog:gc,safepoint:file={path}:tm:filecount=0"
_PAUSE = re.compile(r"^\[(\d+)ms\].*GC\(\d+\) Pause (.+?) \d+[KMG]->\d+[KMG]\(\d+[KMG]\) ([\d.]+)ms$")
_SAFEPOINT = re.compile(r"^\[(\d+)ms\].*Safepoint \"(\w+)\".* Total: +(\d+) ns$")


@dataclass(frozen=True, slots=True)
class Pause:
    """A standstill of a JVM: when it ended, Unix milliseconds, and how long it was."""

    end_unix_ms: int
    kind: str
    duration_ms: float


def log_option(path: Path) -> str | None:
    """The JVM's option for a log there; None if the path has what an option cannot have."""
    return None if re.search(r"[\s:,\"']", str(path)) else _LOG_OPTION.format(path=path)


def read(path: Path) -> Iterator[Pause]:
    """The collections in a log; none if there is no log."""
    return (Pause(int(match[1]), match[2], float(match[3])) for match in _matches(path, _PAUSE))


def rows(component: str, path: Path) -> list[Row]:
    """What a timeline has of a log: each second's collections, their pauses, and all safepoints' standstill."""
    totals: dict[tuple[int, str], float] = defaultdict(float)
    for pause in read(path):
        totals[pause.end_unix_ms // 1000, "gc_collections"] += 1
        totals[pause.end_unix_ms // 1000, "gc_pause_ms"] += pause.duration_ms
    for match in _matches(path, _SAFEPOINT):
        totals[int(match[1]) // 1000, "safepoint_ms"] += int(match[3]) / 1e6
    return [(second, component, name, value) for (second, name), value in sorted(totals.items())]


def _matches(path: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    try:
        with path.open(errors="replace") as lines:
            yield from filter(None, (pattern.match(line.rstrip()) for line in lines))
    except OSError:
        return
