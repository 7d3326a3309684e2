"""Records of the reference's binary format, cut out of a file by their length prefixes.

Every record is big-endian, with a u32 in front that counts the bytes after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.columns import Columns
from market_spread.loadgen.files.native import map_bytes

Records = npt.NDArray[Any]

NBBO_TYPE = 2
NBBO_RECORD = np.dtype(
    [("length", ">u4"), ("type", "u1"), ("symbol", "u1", 4), ("time", "u1", 21), ("bid", ">f8"), ("offer", ">f8")]
)

ORDER_TYPE = 1
ORDER_RECORD = np.dtype([
    ("length", ">u4"), ("type", "u1"), ("side", "u1"), ("account", ">u4"), ("order_id", "u1", 6), ("symbol", "u1", 4),
    ("quantity", ">f8"), ("price", ">f8"), ("time", "u1", 21),
])  # fmt: skip

_PREFIX_BYTES = 4
_KNOWN_LENGTHS = {42: "an NBBO record", 53: "an order record", 55: "an alert record"}

_BLOCK_RECORDS = 250_000
_STRETCH_RECORDS_MIN = 16


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that was left out, and why."""

    path: Path
    byte_offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, byte {self.byte_offset}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FixishBlock(Columns):
    """Records of the right length in the order of the file.

    ordinals: which record of the file each is, from 1; byte_offsets: where its length prefix stands. Both int64 (n,).
    """

    ordinals: Int64s
    byte_offsets: Int64s
    records: Records


def read_records(path: Path, record: np.dtype[Any], problems: list[Problem]) -> Iterator[FixishBlock]:
    """All records of the type's length; what else is in the file is added to the problems.

    A record of another known length is passed over, and has its ordinal. Where a prefix is no known length, or the file
    ends within a record, reading ends, as nothing says where the next record would begin. UsageError if the file cannot
    be read.
    """
    stretches: list[FixishBlock] = []
    count = 0
    for stretch in _stretches(path, record, problems):
        stretches.append(stretch)
        count += len(stretch)
        if count >= _BLOCK_RECORDS:
            yield FixishBlock.concatenate(stretches)
            stretches, count = [], 0
    if stretches:
        yield FixishBlock.concatenate(stretches)


def _stretches(path: Path, record: np.dtype[Any], problems: list[Problem]) -> Iterator[FixishBlock]:
    data = map_bytes(path, "a fixish file")
    ordinal, begin, limit = 1, 0, _STRETCH_RECORDS_MIN
    while begin < len(data):
        fitting = min(limit, (len(data) - begin) // record.itemsize)
        records = data[begin : begin + fitting * record.itemsize].view(record)
        is_regular = records["length"] == record.itemsize - _PREFIX_BYTES
        regular = fitting if is_regular.all() else int(np.argmin(is_regular))
        if regular:
            nth = np.arange(regular)
            yield FixishBlock(ordinal + nth, begin + nth * record.itemsize, records[:regular])
            ordinal += regular
            begin += regular * record.itemsize
        if regular == fitting > 0:
            limit = min(4 * limit, _BLOCK_RECORDS)
            continue
        passed = _irregular(path, data, begin, problems)
        if passed == 0:
            return
        ordinal += 1
        begin += passed
        limit = _STRETCH_RECORDS_MIN


def _irregular(path: Path, data: npt.NDArray[np.uint8], begin: int, problems: list[Problem]) -> int:
    """Report what stands at the byte, and return how many bytes to pass over; 0 if the rest is lost."""
    left = len(data) - begin
    length = int.from_bytes(data[begin : begin + _PREFIX_BYTES].tobytes(), "big")
    if left < _PREFIX_BYTES:
        reason = f"the file ends within a length prefix; its last {left} bytes are left out"
    elif length not in _KNOWN_LENGTHS:
        reason = f"the length prefix says {length}, which no record has; the {left} bytes from here on are left out"
    elif left < _PREFIX_BYTES + length:
        reason = f"the file ends within {_KNOWN_LENGTHS[length]}, after {left} of its {_PREFIX_BYTES + length} bytes"
    else:
        problems.append(Problem(path, begin, f"{_KNOWN_LENGTHS[length]} does not belong into this file"))
        return _PREFIX_BYTES + length
    problems.append(Problem(path, begin, reason))
    return 0
