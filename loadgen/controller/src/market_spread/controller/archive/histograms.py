"""Interval logs of latencies: HdrHistogram's log format, one file a figure, one histogram a second."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from market_spread.common.documents import write_whole
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import END_TO_END, SEND_LAG, SERVICE, STAGE
from market_spread.common.telemetry.recorder import interval_histogram
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.latency import judged_alerts, stages_us
from market_spread.controller.analysis.observed import Observed
from market_spread.metrics_aggregator.model import hlog, run_files
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest

# The begin and the end of a time, Unix nanoseconds, and the microseconds that it has.
TimedHistogram = tuple[int, int, HdrCounts]
_HEAD = (
    "#[Histogram log format version 1.2]", "#[BaseTime: 0.0 (seconds since epoch)]",
    "#[Values: microseconds; times: Unix seconds]",
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
)  # fmt: skip


def write(path: Path, intervals: Iterable[TimedHistogram]) -> Path:
    """Write an interval log; an interval without values is left out. OSError if that fails.

    The log keeps counts; minimum, maximum and sum are as exact as its buckets, 0.1%.
    """
    lines = [*_HEAD]
    for start_ns, end_ns, histogram in intervals:
        if histogram.count:
            encoded = b64encode(hlog.wrapped(histogram.encode())).decode()
            times = f"{start_ns / 1e9:.3f},{(end_ns - start_ns) / 1e9:.3f}"
            lines.append(f"{times},{histogram.max_us / 1000:.3f},{encoded}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, "\n".join(lines) + "\n")


def judged_histograms(observed: Observed, *, from_us: int) -> list[IntervalHistogram]:
    """What the result's latencies are of, each under the key of the series in which the processes push theirs.

    The orders' latencies are of those due from `from_us` on, Unix microseconds; the send lag is of all of the measured
    load. Nothing without alerts.
    """
    timed = observed.timed_alerts
    if timed is None or not len(alerts := judged_alerts(timed, from_us=from_us)):
        return []
    phase = "measured"
    made = [
        interval_histogram(END_TO_END, HdrCounts(alerts.received_us - alerts.intended_us), phase=phase),
        interval_histogram(SERVICE, HdrCounts(alerts.received_us - alerts.sent_us), phase=phase),
    ]
    for stage, values_us in stages_us(alerts).items():
        made.append(interval_histogram(STAGE, HdrCounts(values_us), phase=phase, stage=stage))
    if observed.sent.send_lag_histogram:
        made.append(interval_histogram(SEND_LAG, HdrCounts.decode(observed.sent.send_lag_histogram)))
    return made


def by_second(times_us: Int64s, values_us: Int64s) -> Iterator[TimedHistogram]:
    """A histogram for each second in which a value has its time, Unix microseconds; ascending."""
    order = np.argsort(times_us, kind="stable")
    seconds, begins = np.unique(times_us[order] // 1_000_000, return_index=True)
    for second, values in zip(seconds.tolist(), np.split(values_us[order], begins[1:]), strict=False):
        yield second * 1_000_000_000, (second + 1) * 1_000_000_000, HdrCounts(values)


def pushed(metrics: Path, name: str, *, from_unix_ns: int, to_unix_ns: int) -> Iterator[TimedHistogram]:
    """The histograms of a metric as processes pushed them, of intervals that have any of the time from a load's begin.

    A sender begins an interval when it is told of a load, so none has anything of the one before.
    """
    for entry in run_files.read(metrics, hlog.Reading()):
        if isinstance(entry, PushRequest) and entry.end_unix_ns > from_unix_ns and entry.start_unix_ns < to_unix_ns:
            for item in entry.histograms:
                if item.key.name == name:
                    yield entry.start_unix_ns, entry.end_unix_ns, HdrCounts.decode(item.encoded)
