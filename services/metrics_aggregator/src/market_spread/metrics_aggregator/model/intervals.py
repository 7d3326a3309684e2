"""What was measured in an interval, and how several intervals become one without loss."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import Exact, HdrCounts

# What Python needs for one, measured with sys.getsizeof: the tuples, their numbers, its place in a list.
_POINT_BYTES, _HISTOGRAM_BYTES = 176, 510


class HistogramInterval(NamedTuple):
    """A histogram of one interval, end exclusive; values in microseconds; encoded: HdrHistogram V2, compressed."""

    start_unix_ns: int
    end_unix_ns: int
    exact: Exact
    encoded: bytes


class Point(NamedTuple):
    """What a counter grew by in an interval, or what a gauge was at its end; times Unix nanoseconds."""

    start_unix_ns: int
    end_unix_ns: int
    value: float


Interval = TypeVar("Interval", bound=HistogramInterval | Point)


def bytes_of(interval: HistogramInterval | Point) -> int:
    """Memory that it takes."""
    return _POINT_BYTES if isinstance(interval, Point) else _HISTOGRAM_BYTES + len(interval.encoded)


def merged_histograms(intervals: Sequence[HistogramInterval]) -> HistogramInterval:
    """One interval with all values of these, bucket added to bucket. There is at least one."""
    if len(intervals) == 1:
        return intervals[0]
    values = values_of(intervals)
    starts, ends, *_ = zip(*intervals, strict=True)
    return HistogramInterval(min(starts), max(ends), values.exact, values.encode())


def values_of(intervals: Iterable[HistogramInterval]) -> HdrCounts:
    """All values of these."""
    values = HdrCounts()
    for interval in intervals:
        values.merge_buckets(Buckets.decode(interval.encoded), interval.exact)
    return values


def summed(points: Sequence[Point]) -> Point:
    """One interval of a counter, with the growth of all of these."""
    start, end = min(point.start_unix_ns for point in points), max(point.end_unix_ns for point in points)
    return Point(start, end, sum(point.value for point in points))


def last(points: Sequence[Point]) -> Point:
    """One interval of a gauge, with the value at its end."""
    newest = max(points, key=lambda point: point.end_unix_ns)
    return Point(min(point.start_unix_ns for point in points), newest.end_unix_ns, newest.value)
