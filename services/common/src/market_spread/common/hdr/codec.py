"""HdrHistogram's V2 encoding of counts, for our one configuration, without a histogram object around it.

The payload is ZigZag LEB128 varints from bucket 0 on, where a negative number -n stands for n empty buckets. It is
preceded by a header of 40 bytes and compressed by zlib. The varints are read and written by the C functions of the
`hdrhistogram` package, right from and into numpy arrays: its objects would cost ten times as much.
"""

import struct
import threading
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hdrh.codec import decode as _decode_varints
from hdrh.codec import encode as _encode_varints

Int64s = npt.NDArray[np.int64]

LOWEST_US, HIGHEST_US = 1, 3_600_000_000
DIGITS = 3
SLOTS = 23_552

_HEADER = struct.Struct(">IIIIQQd")
_COOKIE = 0x1C849313
_WORD_BYTES, _VARINT_BYTES_MAX = 8, 9
_PAYLOAD_BYTES_MAX = _HEADER.size + _VARINT_BYTES_MAX * SLOTS
# So that the sum over all buckets fits 64 bits.
_COUNT_MAX = 2**48
# Counts have hardly any repetitions but runs: to look for others makes an interval larger by 5% and slower to read.
_ZLIB_LEVEL, _ZLIB_STRATEGY = 1, zlib.Z_RLE


@dataclass(frozen=True, slots=True)
class Buckets:
    """The counts of a histogram up to its last used bucket.

    counts: int64 (n,), of the buckets 0 to n - 1, the last one above 0; not to be changed. first: the first used
    bucket, 0 if there is none. count: values in all.
    """

    counts: Int64s
    first: int
    count: int

    @property
    def last(self) -> int:
        """The last used bucket; -1 if there is none."""
        return len(self.counts) - 1

    @staticmethod
    def of(counts: Int64s) -> "Buckets":
        """Those of an array with one count a bucket, which they share."""
        used = counts.astype(bool).tobytes()  # searched a tenth as long as by numpy's functions
        first, last = used.find(1), used.rfind(1)
        if first < 0:
            return Buckets(counts[:0], 0, 0)
        return Buckets(counts[: last + 1], first, int(counts[first : last + 1].sum()))

    @staticmethod
    def decode(encoded: bytes) -> "Buckets":
        """Those that were encoded. ValueError if the bytes are no histogram, or one of other buckets than ours."""
        inflated = _inflated(encoded)
        if len(inflated) == _HEADER.size:
            return Buckets(np.empty(0, np.int64), 0, 0)
        counts = _scratch.counts
        try:
            if inflated[-1] >= 0x80:
                raise ValueError("the last one is cut short")
            found = _decode_varints(inflated, _HEADER.size, _scratch.address, SLOTS, _WORD_BYTES)
        except (ValueError, LookupError, OverflowError, TypeError) as error:
            counts[:] = 0
            raise ValueError(f"the histogram's counts cannot be decoded: {error}") from error
        first, last = found["min_nonzero_index"], found["max_nonzero_index"]
        if first < 0:
            return Buckets(np.empty(0, np.int64), 0, 0)
        taken = counts[: last + 1].copy()
        used = counts[first : last + 1]
        largest = int(np.maximum.reduce(used))  # half the time of its method
        used.fill(0)
        if largest > _COUNT_MAX:
            raise ValueError(f"the histogram's counts cannot be decoded: one is above {_COUNT_MAX}")
        return Buckets(taken, first, found["total"])

    def encode(self) -> bytes:
        """HdrHistogram V2, compressed, without base64."""
        return encoded_of(self.pack())

    def pack(self) -> bytes:
        """The varints alone."""
        if not self.count:
            return b""
        counts = np.ascontiguousarray(self.counts)
        out = np.empty(_VARINT_BYTES_MAX * len(counts), np.uint8)
        length: int = _encode_varints(counts.ctypes.data, len(counts), _WORD_BYTES, out.ctypes.data, len(out))
        return out[:length].tobytes()


def encoded_of(payload: bytes) -> bytes:
    """HdrHistogram V2, compressed, of these varints."""
    header = _HEADER.pack(_COOKIE, len(payload), 0, DIGITS, LOWEST_US, HIGHEST_US, 1.0)
    deflater = zlib.compressobj(_ZLIB_LEVEL, strategy=_ZLIB_STRATEGY)
    return deflater.compress(header + payload) + deflater.flush()


def payload_of(encoded: bytes) -> bytes:
    """The varints of an encoded histogram. ValueError unless it has our buckets and bounds."""
    return _inflated(encoded)[_HEADER.size :]


def _inflated(encoded: bytes) -> bytes:
    """Header and varints, the header checked."""
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(encoded, _PAYLOAD_BYTES_MAX + 1)
    except zlib.error as error:
        raise ValueError(f"the histogram cannot be decompressed: {error}") from error
    if not inflater.eof or inflater.unused_data or len(payload) < _HEADER.size:
        raise ValueError(f"the histogram's {len(encoded)} bytes are truncated or too many")
    cookie, counts_bytes, offset, digits, lowest, highest, _ = _HEADER.unpack_from(payload)
    if cookie != _COOKIE:
        raise ValueError(f"the histogram has the cookie {cookie:#x}; send HdrHistogram V2")
    if (offset, digits, lowest, highest) != (0, DIGITS, LOWEST_US, HIGHEST_US):
        raise ValueError(
            f"the histogram covers {lowest} to {highest} with {digits} digits; send {LOWEST_US} to {HIGHEST_US} "
            f"microseconds with {DIGITS} digits"
        )
    if counts_bytes != (size := len(payload) - _HEADER.size):
        raise ValueError(f"the histogram has {size} bytes of counts and announces {counts_bytes}")
    return payload


class _Scratch(threading.local):
    """Where varints are decoded to, all zeros between two uses: clearing what was used is cheaper than new memory."""

    def __init__(self) -> None:
        self.counts: Int64s = np.zeros(SLOTS, np.int64)
        self.address: int = self.counts.ctypes.data


_scratch = _Scratch()
