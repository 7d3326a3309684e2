"""Our codec of HdrHistogram's encoding, held against the package."""

import struct
import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.codec import SLOTS, Buckets, encoded_of, payload_of

HEADER = struct.Struct(">IIIIQQd")

SPARSE = st.dictionaries(st.integers(0, SLOTS - 1), st.integers(1, 2**48), max_size=60)


def buckets_of(sparse: dict[int, int]) -> Buckets:
    counts = np.zeros(SLOTS, np.int64)
    for index, number in sparse.items():
        counts[index] = number
    return Buckets.of(counts)


def pairs(buckets: Buckets) -> dict[int, int]:
    return {int(index): int(buckets.counts[index]) for index in np.flatnonzero(buckets.counts)}


def ends(buckets: Buckets) -> tuple[int, int]:
    used = np.flatnonzero(buckets.counts)
    return (int(used[0]), int(used[-1])) if len(used) else (0, -1)


def encoded_with(payload: bytes) -> bytes:
    return zlib.compress(HEADER.pack(0x1C849313, len(payload), 0, 3, 1, 3_600_000_000, 1.0) + payload)


@given(SPARSE)
def test_what_is_encoded_is_decoded(sparse: dict[int, int]) -> None:
    assert pairs(Buckets.decode(buckets_of(sparse).encode())) == sparse


@given(SPARSE.filter(bool))
@settings(max_examples=50)
def test_package_reads_what_we_write(sparse: dict[int, int]) -> None:
    read = HdrHistogram.decode(buckets_of(sparse).encode(), b64_wrap=False)

    counts = np.frombuffer(read.counts, np.int64)
    assert {int(index): int(counts[index]) for index in np.flatnonzero(counts)} == sparse


@given(st.lists(st.integers(0, 3_600_000_000), max_size=200))
@settings(max_examples=50)
def test_we_read_what_the_package_writes(values: list[int]) -> None:
    histogram = HdrHistogram(1, 3_600_000_000, 3, word_size=8, b64_wrap=False)
    for value in values:
        histogram.record_value(value)

    buckets = Buckets.decode(histogram.encode())

    counts = np.frombuffer(histogram.counts, np.int64)
    assert pairs(buckets) == {int(index): int(counts[index]) for index in np.flatnonzero(counts)}


def test_payload_is_zigzag_varints_with_runs_of_empty_buckets() -> None:
    assert buckets_of({0: 1, 2: 3, 7: 64}).pack() == bytes([2, 1, 6, 7, 0x80, 1])
    assert pairs(Buckets.decode(encoded_of(bytes([2, 0, 6, 7, 0x80, 1])))) == {0: 1, 2: 3, 7: 64}
    assert buckets_of({}).pack() == b""


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (bytes([0x80]), "the last one is cut short"),
        (bytes([2, 0x80]), "the last one is cut short"),
        (bytes([0xFF] * 8 + [0x7F]), "negative overflow"),
        (bytes([2] * (SLOTS + 1)), "Destination array overrun"),
        (buckets_of({SLOTS - 1: 1}).pack() + bytes([2]), "Destination array overrun"),
        (bytes([0x80] * 7 + [0x04]), "one is above"),
    ],
)
def test_malformed_counts_are_refused(payload: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Buckets.decode(encoded_with(payload))


@given(st.binary(max_size=200))
def test_whatever_the_bytes_there_is_no_other_error(noise: bytes) -> None:
    for encoded in (noise, encoded_with(noise)):
        try:
            buckets = Buckets.decode(encoded)
        except ValueError:
            continue
        assert buckets.count == int(buckets.counts.sum()) >= 0
        assert (buckets.first, buckets.last) == ends(buckets)
        assert pairs(Buckets.decode(buckets.encode())) == pairs(buckets)


def test_payload_is_what_stands_behind_the_header() -> None:
    assert payload_of(encoded_with(bytes([2, 4]))) == bytes([2, 4])
