"""The pauses of a JVM, from its log of garbage collections and safepoints, and how it is started to write one."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from market_spread.controller.host.timeline import Row

_PAUSE = re.compile(r"^\[(\d+)ms\].*GC\(\d+\) Pause .+? \d+[KMG]->\d+[KMG]\(\d+[KMG]\) ([\d.]+)ms$")
_SAFEPOINT = re.compile(r"^\[(\d+)ms\].*Safepoint \"(\w+)\".* Total: +(\d+) ns$")
_COLLECTS = re.compile("GC|G1|Collect")


def log_option(path: Path) -> str | None:
    """The JVM's option for a log there; None if the path has what an option cannot have."""
    # Unix milliseconds before each line.
    return None if re.search(r"[\s:,\"']", str(path)) else f"-Xlog:gc,safepoint:file={path}:tm:filecount=0"


def read(path: Path) -> Iterator[tuple[int, float, str]]:
    """Safepoints of a log, if it is there: end, Unix ms; length, ms, with the wait for all threads; "GC" or name."""
    for match in _matches(path, _SAFEPOINT):
        yield int(match[1]), int(match[3]) / 1e6, "GC" if _COLLECTS.search(match[2]) else f"safepoint {match[2]}"


def rows(component: str, path: Path) -> list[Row]:
    """What a timeline has of a log: each second's collections, their pauses, and all safepoints' standstill."""
    totals: dict[tuple[int, str], float] = defaultdict(float)
    for match in _matches(path, _PAUSE):
        totals[int(match[1]) // 1000, "gc_collections"] += 1
        totals[int(match[1]) // 1000, "gc_pause_ms"] += float(match[2])
    for match in _matches(path, _SAFEPOINT):
        totals[int(match[1]) // 1000, "safepoint_ms"] += int(match[3]) / 1e6
    return [(second, component, name, value) for (second, name), value in sorted(totals.items())]


def _matches(path: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield from filter(None, (pattern.match(line.rstrip()) for line in lines))
    except OSError:
        return
