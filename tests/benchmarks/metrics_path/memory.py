"""What a run of a day with 200 series takes in memory: fed second by second, on a clock that is moved by hand."""

import psutil
from figure import Figure, Figures
from pushes import SECOND_NS, sender_pushes

from market_spread.common.clock import SystemClock
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.metrics_pb2 import PushRequest
from tests.support.clock import ManualClock

SECONDS = 86_400
# A sender of 4 partitions has 33 series, 3 of them histograms.
SOURCES = 6
_PARTITIONS = 4


def figures(scale: float) -> Figures:
    """Resident memory before and after, and what the history says that it holds."""
    seconds = max(60, round(SECONDS * scale))
    templates = sender_pushes("sender-0", 20, partitions=_PARTITIONS)
    clock, process, real = ManualClock(templates[0].start_unix_ns), psutil.Process(), SystemClock()
    before = process.memory_info().rss
    store, highest = Store(clock=clock), 0
    begin_ns = real.monotonic_ns()
    for second in range(seconds):
        clock.advance_ns(SECOND_NS)
        for source in range(SOURCES):
            store.push(_at(templates[second % len(templates)], f"sender-{source}", second, templates[0].start_unix_ns))
        highest = max(highest, store.history_bytes)
    taken_s = (real.monotonic_ns() - begin_ns) / 1e9
    (run,) = store.runs()
    return [
        Figure("series", len(store), ""),
        Figure("hours", seconds / 3_600, "h"),
        Figure("resident memory that the run takes", (process.memory_info().rss - before) / 1e6, "MB"),
        Figure("history at its highest, of 536.9", highest / 1e6, "MB"),
        Figure("level of the history's resolution, 0 to 8", run.resolution.level, ""),
        Figure("CPU of a push, merging of older intervals included", taken_s / (seconds * SOURCES) * 1e6, "us"),
    ]


def _at(template: PushRequest, source: str, second: int, begin_unix_ns: int) -> PushRequest:
    push = PushRequest()
    push.CopyFrom(template)
    push.source, push.sequence = source, second + 1
    push.start_unix_ns, push.end_unix_ns = begin_unix_ns + second * SECOND_NS, begin_unix_ns + (second + 1) * SECOND_NS
    for counter in push.counters:
        counter.value = second * 100.0
    return push
