"""Latency histograms that lose nothing: HdrHistogram's buckets as one numpy array, in microseconds.

The buckets are those of HdrHistogram for 1 microsecond to 1 hour with 3 significant digits. Recording is numpy over
batches, because the `hdrhistogram` package records one value at a time, in Python.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from market_spread.common.hdr.codec import HIGHEST_US, SLOTS, Buckets, Int64s

PERCENTILES = (50.0, 95.0, 99.0, 99.9, 99.99)
# A percentile of a tail, one from p95 on, is shown only if it lies in so many clusters of time.
CLUSTERS_MIN = 10

# Below 2,048 a bucket is one value wide; above, each doubling of the value has 1,024 buckets.
_LINEAR = 2048
_HALF_BITS = 10
# So few values are recorded faster one by one than by numpy.
_FEW = 8


class Exact(NamedTuple):
    """What is known of a histogram besides its buckets, as `HdrCounts` has it."""

    count: int  # type: ignore[assignment]  # a tuple has a method of that name
    sum_us: int
    min_us: int
    max_us: int
    overflow: int
    negative: int


class HdrCounts:
    """Counts of values by bucket, with their exact number, sum, minimum and maximum. Not thread-safe.

    counts: int64, one a bucket. All values are whole microseconds; an empty histogram has min_us and max_us 0.
    negative: values below 0, recorded as 0. overflow: values above 1 hour, recorded in the bucket of 1 hour, while
    sum_us and max_us have their own size.
    """

    __slots__ = ("count", "counts", "max_us", "min_us", "negative", "overflow", "sum_us")

    def __init__(self, values_us: Int64s | None = None) -> None:
        """An empty one, or one of the values (n,)."""
        self.counts: Int64s = np.zeros(SLOTS, np.int64)
        self.count = self.sum_us = self.min_us = self.max_us = self.overflow = self.negative = 0
        if values_us is not None:
            self.record(values_us)

    @property
    def exact(self) -> Exact:
        """All but the counts by bucket."""
        return Exact(self.count, self.sum_us, self.min_us, self.max_us, self.overflow, self.negative)

    def record(self, values_us: Int64s) -> None:
        """Add the values (n,), in any order."""
        if len(values_us) <= _FEW:
            self.record_few(values_us.tolist())
            return
        smallest, largest = int(values_us.min()), int(values_us.max())
        if smallest < 0:
            self.negative += int(np.count_nonzero(values_us < 0))
            values_us = np.maximum(values_us, 0)
            smallest, largest = 0, max(largest, 0)
        if largest > HIGHEST_US:
            self.overflow += int(np.count_nonzero(values_us > HIGHEST_US))
            # A missing stamp makes a latency of 50 years; a few thousand of those overflow 64 bits.
            self.sum_us += (int((values_us >> 32).sum()) << 32) + int((values_us & 0xFFFFFFFF).sum())
            values_us = np.minimum(values_us, HIGHEST_US)
        else:
            self.sum_us += int(values_us.sum())
        self._widen(len(values_us), smallest, largest)
        np.add.at(self.counts, bucket_indices(values_us), 1)

    def record_few(self, values_us: list[int]) -> None:
        """The same for so few that numpy would take longer."""
        for value_us in values_us:
            self.negative += value_us < 0
            self.overflow += value_us > HIGHEST_US
            exact = max(value_us, 0)
            self._widen(1, exact, exact)
            self.sum_us += exact
            value = min(exact, HIGHEST_US)
            shift = max(value.bit_length() - _LINEAR.bit_length() + 1, 0)
            self.counts[(shift << _HALF_BITS) + (value >> shift)] += 1

    def merge(self, other: "HdrCounts") -> None:
        self.merge_buckets(Buckets.of(other.counts), other.exact)

    def copy(self) -> "HdrCounts":
        """An equal histogram that shares nothing with this one."""
        twin = HdrCounts()
        twin.merge(self)
        return twin

    def percentile(self, percent: float) -> int:
        """The value that `percent` (above 0, at most 100) of the values do not exceed, microseconds; 0 if empty.

        It is the highest value of its bucket, but never above the exact maximum.
        """
        return self.percentiles([percent])[0]

    def percentiles(self, percents: Sequence[float]) -> list[int]:
        """The percentile of each, from one pass over the counts."""
        if not self.count:
            return [0] * len(percents)
        ranks = [max(1, int(percent * self.count / 100 + 0.5)) for percent in percents]
        slots = np.searchsorted(np.cumsum(self.counts), ranks, side="left")
        return [min(int(value), self.max_us) for value in highest_values(slots)]

    def supports(self, percent: float) -> bool:
        """True if at least 10 values lie above that percentile, so that it may be printed."""
        # In millionths of a percent, because 1 - 0.9999 is not exact in floating point.
        return self.count * round((100 - percent) * 1_000_000) >= 10 * 100_000_000

    def merge_buckets(self, buckets: Buckets, exact: Exact) -> None:
        """Add a histogram whose used buckets and exact values are known and do not contradict each other."""
        if not exact.count:
            return
        self._widen(exact.count, exact.min_us, exact.max_us)
        used = self.counts[buckets.first : buckets.last + 1]
        used += buckets.counts[buckets.first :]
        self.sum_us += exact.sum_us
        self.overflow += exact.overflow
        self.negative += exact.negative

    def encode(self) -> bytes:
        """HdrHistogram V2, compressed, without base64. Sum, minimum, maximum, overflow and negative are not in it."""
        return Buckets.of(self.counts).encode()

    @staticmethod
    def decode(encoded: bytes) -> "HdrCounts":
        """An encoded one, minimum, maximum, sum as exact as its buckets. ValueError if the bytes are none of ours."""
        buckets = Buckets.decode(encoded)
        decoded = HdrCounts()
        if buckets.count:
            decoded.counts[: len(buckets.counts)] = buckets.counts
            used = np.flatnonzero(buckets.counts)
            lowest, highest, numbers = lowest_values(used), highest_values(used), buckets.counts[used]
            decoded.count = buckets.count
            decoded.min_us, decoded.max_us = int(lowest[0]), int(highest[-1])
            decoded.sum_us = round(float(((lowest + highest) / 2) @ numbers))
        return decoded

    @staticmethod
    def of_status(encoded: bytes) -> "HdrCounts":
        """The same, of a status, which has no bytes for an empty one."""
        return HdrCounts.decode(encoded) if encoded else HdrCounts()

    def _widen(self, count: int, smallest_us: int, largest_us: int) -> None:
        self.min_us = min(self.min_us, smallest_us) if self.count else smallest_us
        self.max_us = max(self.max_us, largest_us)
        self.count += count


def bucket_indices(values_us: Int64s) -> Int64s:
    """The bucket of each value from 0 to HIGHEST_US."""
    # A double's exponent is the bit length, and exact here; the bits below _LINEAR keep small values in bucket row 0.
    exponents = (values_us | (_LINEAR - 1)).astype(np.float64).view(np.int64) >> 52
    shifts = exponents - (1023 + _HALF_BITS)
    return (shifts << _HALF_BITS) + (values_us >> shifts)


def lowest_values(indices: npt.NDArray[np.integer]) -> Int64s:
    """The least value, microseconds, of each bucket."""
    shifts = _shifts(indices)
    return (indices - (shifts << _HALF_BITS)) << shifts


def highest_values(indices: npt.NDArray[np.integer]) -> Int64s:
    """The greatest value, microseconds, of each bucket."""
    return lowest_values(indices) + (1 << _shifts(indices)) - 1


def check_exact(buckets: Buckets, exact: Exact) -> None:
    """ValueError if a count, minimum or maximum contradicts the buckets."""
    count, _, min_us, max_us, overflow, negative = exact
    if buckets.count != count:
        raise ValueError(f"count={count} is not the sum of the buckets, {buckets.count}")
    first_lowest, first_highest = _ends_of(buckets.first)
    last_lowest, last_highest = _ends_of(max(buckets.last, 0))
    if not first_lowest <= min_us <= first_highest:
        raise ValueError(f"min={min_us} is not in the first bucket, {first_lowest} to {first_highest}")
    if max_us < last_lowest or (max_us > last_highest and not overflow):
        raise ValueError(f"max={max_us} is not in the last bucket, {last_lowest} to {last_highest}")
    if overflow + negative > count:
        raise ValueError(f"overflow={overflow} and negative={negative} are more than count={count}")


def latency_summary_ns(histogram: HdrCounts) -> dict[str, int | None]:
    """Percentiles and maximum in nanoseconds; None where there are too few values for the percentile."""
    summary = {
        f"p{percent:g}": value * 1000 if histogram.supports(percent) else None
        for percent, value in zip(PERCENTILES, histogram.percentiles(PERCENTILES), strict=True)
    }
    return {**summary, "max": histogram.max_us * 1000 if histogram.count else None}


def _ends_of(index: int) -> tuple[int, int]:
    """The least and the greatest value of one bucket, microseconds."""
    shift = max((index >> _HALF_BITS) - 1, 0)
    lowest = (index - (shift << _HALF_BITS)) << shift
    return lowest, lowest + (1 << shift) - 1


def _shifts(indices: npt.NDArray[np.integer]) -> Int64s:
    shifts: Int64s = np.maximum((indices.astype(np.int64) >> _HALF_BITS) - 1, 0)
    return shifts
