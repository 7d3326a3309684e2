"""The as-of join of two streams on arrays: for each probe row, the latest build row of its key at its time.

Rows take effect in the order of their times; at the same time, build rows come first. A build row counts only if its
sequence is higher than the earlier ones, so a repeated or late one changes nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from market_spread.common.wire.columns import Int64s, UInt64s

NEVER = -1  # the sequence of a key that has had no row
_SEQUENCE_BITS = 41
MISSING = -1  # where a key is that is not known
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_SPARSENESS = 8  # entries of the table for each key, at least


@dataclass(frozen=True, slots=True)
class BuildRows:
    """Rows of the build side: keys and times (n,), and columns (columns, n), of which the first is the sequence."""

    keys: UInt64s
    times: Int64s
    columns: Int64s


@dataclass(frozen=True, slots=True)
class AsOfIndex:
    """The latest build row of every key: keys (m,) ascending, and columns (columns, m), as of BuildRows."""

    keys: UInt64s
    columns: Int64s

    @classmethod
    def from_bytes(cls, data: bytes, columns: int) -> Self:
        """The index of that many columns; without bytes one of no keys."""
        table = np.frombuffer(data, np.int64).reshape(columns + 1, -1)
        return cls(table[0].view(np.uint64), table[1:])

    def to_bytes(self) -> bytes:
        """The index for the state store: native 64-bit words, one row of the table after the other."""
        return np.vstack((self.keys.view(np.int64), self.columns)).tobytes()

    def find(self, keys: UInt64s) -> tuple["AsOfIndex", Int64s]:
        """The index with all of the keys (n,), and where each is in it; a new key has the sequence NEVER and zeros."""
        found = find_keys(keys, self.keys)
        added = np.unique(keys[found < 0])
        if not len(added):
            return self, found
        merged = np.concatenate((self.keys, added))
        order = np.argsort(merged)
        columns = np.hstack((self.columns, np.zeros((len(self.columns), len(added)), np.int64)))
        columns[0, len(self.keys) :] = NEVER
        state = AsOfIndex(merged[order], columns[:, order])
        return state, find_keys(keys, state.keys)


def join_as_of(state: AsOfIndex, build: BuildRows, keys: UInt64s, times: Int64s) -> tuple[AsOfIndex, Int64s]:
    """The state after all build rows, and the columns (columns, n) that each probe row (keys, times) has met.

    A probe row that has met none has the sequence NEVER and zeros.
    """
    count = len(build.keys)
    state, key_indexes = state.find(np.concatenate((build.keys, keys)))
    order = _in_effect(key_indexes, np.concatenate((build.times, times)), len(state.keys))
    key_of = key_indexes[order]

    # The key in the high bits, so the running maximum starts anew with each key; below it, 0 marks a probe row.
    ranks = key_of << _SEQUENCE_BITS
    is_build = order < count
    ranks[is_build] += build.columns[0, order[is_build]] + 1
    highest = np.maximum.accumulate(ranks)
    latest_row = np.maximum.accumulate(np.where(is_build & (ranks == highest), np.arange(len(order)), 0))

    # Where the batch has nothing later, the state's row is taken: those rows follow the build rows.
    sequences = (highest & (2**_SEQUENCE_BITS - 1)) - 1
    from_batch = sequences > state.columns[0, key_of]
    source = np.where(from_batch, order[latest_row], count + key_of)
    columns = np.hstack((build.columns, state.columns))

    is_probe = ~is_build
    source_of = np.empty(len(keys), np.int64)
    source_of[order[is_probe] - count] = source[is_probe]

    ends = np.flatnonzero(np.diff(key_of, append=-1))
    after = np.arange(count, count + len(state.keys))
    after[key_of[ends]] = source[ends]
    return AsOfIndex(state.keys, columns.take(after, axis=1)), columns.take(source_of, axis=1)


def _in_effect(key_indexes: Int64s, times: Int64s, keys: int) -> Int64s:
    """The order by key, then by time, then as given: indexes (n,)."""
    by_time = np.argsort(times, kind="stable")
    # numpy sorts 16-bit integers by radix, many times faster than wider ones.
    order = by_time[np.argsort((key_indexes[by_time] & 0xFFFF).astype(np.uint16), kind="stable")]
    if keys > 2**16:
        order = order[np.argsort((key_indexes[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def find_keys(keys: UInt64s, known: UInt64s) -> Int64s:
    """The index of each of `keys` (n,) in `known` (m,), which is ascending; MISSING if it is not there.

    By a hash table, many times faster than a binary search for each: multiplicative hashing (Knuth, The Art of Computer
    Programming, volume 3, section 6.4). The table has one entry per hash value, for the last key that has it; the few
    others are searched for.
    """
    if not len(known):
        return np.full(len(keys), MISSING, np.int64)
    bits = max(1, (len(known) * _SPARSENESS - 1).bit_length())
    table = np.zeros(1 << bits, np.int32)
    table[_hashes(known, bits)] = np.arange(len(known))
    found = table[_hashes(keys, bits)].astype(np.int64)
    others = np.flatnonzero(known[found] != keys)
    if len(others):
        searched = np.minimum(np.searchsorted(known, keys[others]), len(known) - 1)
        found[others] = np.where(known[searched] == keys[others], searched, MISSING)
    return found


def _hashes(keys: UInt64s, bits: int) -> Int64s:
    return ((keys * _MULTIPLIER) >> np.uint64(64 - bits)).view(np.int64)
