"""Histograms, against the hdrhistogram package and by literal values."""

import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.codec import HIGHEST_US, Buckets
from market_spread.common.hdr.histogram import (
    HdrCounts,
    bucket_indices,
    check_exact,
    highest_values,
    latency_summary_ns,
    lowest_values,
)

VALUES = st.lists(
    st.one_of(
        st.integers(0, 5_000), st.integers(0, HIGHEST_US), st.integers(0, 32).map(lambda bits: 2**bits - 1)
    ).filter(lambda value: value <= HIGHEST_US),
    max_size=60,
)
PERCENTS = [1.0, 50.0, 95.0, 99.0, 99.9, 99.99, 100.0]


def recorded(*values_us: int) -> HdrCounts:
    histogram = HdrCounts()
    histogram.record(np.array(values_us, np.int64))
    return histogram


def package_histogram(*values_us: int) -> HdrHistogram:
    histogram = HdrHistogram(1, HIGHEST_US, 3, word_size=8, b64_wrap=False)
    for value in values_us:
        assert histogram.record_value(value)
    return histogram


def package_counts(histogram: HdrHistogram) -> list[int]:
    counts: list[int] = np.frombuffer(histogram.counts, np.int64).tolist()
    return counts


@settings(max_examples=60)
@given(VALUES, VALUES)
def test_record_and_merge_equal_the_package(first: list[int], second: list[int]) -> None:
    theirs = package_histogram(*first)
    theirs.add(package_histogram(*second))

    ours = recorded(*first)
    ours.merge(recorded(*second))

    both = first + second
    assert ours.counts.tolist() == package_counts(theirs)
    assert (ours.count, ours.sum_us) == (len(both), sum(both))
    assert (ours.min_us, ours.max_us) == (min(both, default=0), max(both, default=0))
    if both:
        expected = theirs.get_percentile_to_value_dict(PERCENTS)
        assert ours.percentiles(PERCENTS) == [min(expected[percent], max(both)) for percent in PERCENTS]


@settings(max_examples=60)
@given(VALUES)
def test_encoded_histogram_comes_back(values: list[int]) -> None:
    histogram = recorded(*values)

    decoded = HdrCounts.decode(histogram.encode())

    assert decoded.counts.tolist() == histogram.counts.tolist()
    assert decoded.count == histogram.count
    for exact, known in ((histogram.min_us, decoded.min_us), (histogram.max_us, decoded.max_us)):
        assert bucket_indices(np.array([min(exact, HIGHEST_US)])) == bucket_indices(np.array([known]))


def test_the_package_reads_our_encoding() -> None:
    histogram = recorded(5, 1_000_000, HIGHEST_US)

    theirs = HdrHistogram.decode(histogram.encode(), b64_wrap=False)

    assert theirs.get_total_count() == 3
    assert package_counts(theirs) == histogram.counts.tolist()


def test_we_read_the_packages_encoding() -> None:
    encoded = package_histogram(7, 7, 2048).encode()

    decoded = HdrCounts.decode(encoded)

    assert decoded.count == 3
    assert decoded.counts[[7, 2048]].tolist() == [2, 1]


@settings(max_examples=200)
@given(st.binary(max_size=80))
def test_malformed_bytes_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="the histogram"):
        HdrCounts.decode(data)


@settings(max_examples=200)
@given(st.data())
def test_malformed_counts_never_crash(data: st.DataObject) -> None:
    payload = bytearray(zlib.decompress(recorded(*range(0, 50_000, 700)).encode()))
    for _ in range(data.draw(st.integers(1, 5))):
        payload[data.draw(st.integers(40, len(payload) - 1))] = data.draw(st.integers(0, 255))

    try:
        decoded = HdrCounts.decode(zlib.compress(bytes(payload)))
    except ValueError:
        return

    assert decoded.counts.min() >= 0
    assert decoded.count == decoded.counts.sum()


def test_other_buckets_are_refused() -> None:
    other = HdrHistogram(1, HIGHEST_US, 2, word_size=8, b64_wrap=False)
    other.record_value(5)

    with pytest.raises(ValueError, match="with 2 digits; send 1 to 3600000000 microseconds with 3 digits"):
        HdrCounts.decode(other.encode())


def test_base64_is_refused() -> None:
    wrapped = HdrHistogram(1, HIGHEST_US, 3, word_size=8).encode()

    with pytest.raises(ValueError, match="cannot be decompressed"):
        HdrCounts.decode(wrapped)


def test_a_huge_payload_is_not_inflated() -> None:
    with pytest.raises(ValueError, match="truncated or too many"):
        HdrCounts.decode(zlib.compress(bytes(50_000_000)))


def test_empty_histogram_comes_back() -> None:
    decoded = HdrCounts.decode(HdrCounts().encode())

    assert (decoded.count, decoded.sum_us, decoded.min_us, decoded.max_us) == (0, 0, 0, 0)


def test_negative_values_are_recorded_as_zero_and_counted() -> None:
    histogram = recorded(-5, -1, 10)

    assert histogram.counts[[0, 10]].tolist() == [2, 1]
    assert (histogram.negative, histogram.overflow) == (2, 0)
    assert (histogram.count, histogram.sum_us, histogram.min_us, histogram.max_us) == (3, 10, 0, 10)


def test_only_negative_values_leave_a_maximum_of_zero() -> None:
    histogram = recorded(-5)

    assert (histogram.count, histogram.min_us, histogram.max_us, histogram.sum_us) == (1, 0, 0, 0)


def test_values_above_an_hour_are_in_the_highest_bucket_and_counted() -> None:
    histogram = recorded(1, 3_600_000_001, 1_700_000_000_000_000)

    assert histogram.overflow == 2
    assert histogram.counts[: bucket_indices(np.array([1 << 31]))[0]].sum() == 1
    assert histogram.counts.sum() == 3
    assert (histogram.max_us, histogram.sum_us) == (1_700_000_000_000_000, 1_700_003_600_000_002)


def test_the_sum_of_missing_stamps_does_not_overflow() -> None:
    histogram = HdrCounts()

    histogram.record(np.full(10_000, 1_700_000_000_000_000, np.int64))

    assert histogram.sum_us == 17_000_000_000_000_000_000


def test_an_hour_is_not_overflow() -> None:
    assert recorded(3_600_000_000).overflow == 0


def test_recording_nothing_changes_nothing() -> None:
    assert recorded().count == 0


def test_recording_leaves_the_callers_values_alone() -> None:
    values = np.array([-1, 5, 4_000_000_000])

    HdrCounts().record(values)

    assert values.tolist() == [-1, 5, 4_000_000_000]


@pytest.mark.parametrize(
    ("value_us", "index", "lowest", "highest"),
    [
        (0, 0, 0, 0),
        (2047, 2047, 2047, 2047),
        (2048, 2048, 2048, 2049),
        (2049, 2048, 2048, 2049),
        (4095, 3071, 4094, 4095),
        (4096, 3072, 4096, 4099),
        (3_600_000_000, 23220, 3_598_712_832, 3_600_809_983),
    ],
)
def test_bucket_edges(value_us: int, index: int, lowest: int, highest: int) -> None:
    found = bucket_indices(np.array([value_us]))

    assert found.tolist() == [index]
    assert (lowest_values(found)[0], highest_values(found)[0]) == (lowest, highest)


def test_percentile_never_exceeds_the_exact_maximum() -> None:
    histogram = recorded(1_234_567)

    assert histogram.percentile(99.0) == 1_234_567
    assert recorded(1_234_567, 9_999_999).percentile(50.0) == 1_234_943


@pytest.mark.parametrize(
    ("percent", "enough"), [(50.0, 20), (95.0, 200), (99.0, 1_000), (99.9, 10_000), (99.99, 100_000)]
)
def test_percentile_needs_ten_values_above_it(percent: float, enough: int) -> None:
    histogram = recorded(*[1] * enough)
    too_few = recorded(*[1] * (enough - 1))

    assert histogram.supports(percent)
    assert not too_few.supports(percent)


def test_summary_is_in_nanoseconds_and_silent_where_values_are_few() -> None:
    assert latency_summary_ns(recorded(*range(1, 1001))) == {
        "p50": 500_000,
        "p95": 950_000,
        "p99": 990_000,
        "p99.9": None,
        "p99.99": None,
        "max": 1_000_000,
    }


def test_summary_of_nothing_is_nothing() -> None:
    assert set(latency_summary_ns(HdrCounts()).values()) == {None}


def test_copy_shares_nothing() -> None:
    histogram = recorded(1, 2)

    twin = histogram.copy()
    twin.record(np.array([3]))

    assert (histogram.count, twin.count) == (2, 3)
    assert histogram.counts[3] == 0


def test_merging_into_an_empty_one_keeps_the_minimum() -> None:
    merged = HdrCounts()
    merged.merge(recorded(500, 700))
    merged.merge(HdrCounts())

    assert (merged.min_us, merged.max_us, merged.count) == (500, 700, 2)


@pytest.mark.parametrize(
    ("exact", "message"),
    [
        ({"count": 3}, "count=3 is not the sum of the buckets, 2"),
        ({"min_us": 4}, "min=4 is not in the first bucket, 5 to 5"),
        ({"max_us": 5000}, "max=5000 is not in the last bucket, 4096 to 4099"),
        ({"max_us": 4000}, "max=4000 is not in the last bucket, 4096 to 4099"),
        ({"overflow": 2, "negative": 1}, "overflow=2 and negative=1 are more than count=2"),
    ],
)
def test_exact_values_that_the_counts_contradict_are_refused(exact: dict[str, int], message: str) -> None:
    buckets = Buckets.decode(recorded(5, 4097).encode())

    with pytest.raises(ValueError, match=message):
        check_exact(buckets, recorded(5, 4097).exact._replace(**exact))


@pytest.mark.parametrize("count", [3, 30], ids=["one by one", "in bulk"])
def test_negatives_and_overflow_are_kept_by_either_path(count: int) -> None:
    values = np.resize(np.array([-7, 5, HIGHEST_US + 11]), count)
    histogram = recorded(*values.tolist())

    third = count // 3
    assert (histogram.count, histogram.negative, histogram.overflow) == (count, third, third)
    assert histogram.sum_us == third * (5 + HIGHEST_US + 11)
    assert (histogram.min_us, histogram.max_us) == (0, HIGHEST_US + 11)
    used = histogram.counts[bucket_indices(np.array([0, 5, HIGHEST_US]))]
    assert used.tolist() == [third] * 3

    merged = recorded(1)
    merged.merge(histogram)
    merged.merge(histogram)
    assert (merged.count, merged.negative, merged.overflow) == (2 * count + 1, 2 * third, 2 * third)
    assert (merged.sum_us, merged.max_us) == (2 * histogram.sum_us + 1, HIGHEST_US + 11)
