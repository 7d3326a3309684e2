"""The as-of join of two streams on arrays: for each probe row, the latest build row of its key at its time.

Rows take effect in the order of their times; at the same time, build rows come first. A build row counts only if its
sequence is higher than the earlier ones, so a repeated or late one changes nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from market_spread.common.wire.columns import Int64s, UInt64s
from market_spread.streaming.modes.micro_batch.kernels.hash_index import find_keys

NEVER = -1  # the sequence of a key that has had no row
_SEQUENCE_BITS = 41


@dataclass(frozen=True, slots=True)
class BuildRows:
    """Rows of the build side: keys, times, sequences (n,), and values (columns, n)."""

    keys: UInt64s
    times: Int64s
    sequences: Int64s
    values: Int64s


@dataclass(frozen=True, slots=True)
class AsOfIndex:
    """The latest build row of every key: keys (m,) ascending, sequences (m,), values (columns, m)."""

    keys: UInt64s
    sequences: Int64s
    values: Int64s

    @classmethod
    def empty(cls, columns: int) -> Self:
        """No key yet."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty((columns, 0), np.int64))

    @classmethod
    def from_bytes(cls, data: bytes, columns: int) -> Self:
        """The inverse of `to_bytes`."""
        table = np.frombuffer(data, np.int64).reshape(columns + 2, -1)
        return cls(table[0].view(np.uint64), table[1], table[2:])

    def to_bytes(self) -> bytes:
        """The index for the state store: native 64-bit words, one row of the table after the other."""
        return np.vstack((self.keys.view(np.int64), self.sequences, self.values)).tobytes()

    def find(self, keys: UInt64s) -> tuple["AsOfIndex", Int64s]:
        """The index with all of the keys (n,), and where each is in it; a new key has the sequence NEVER and zeros."""
        found = find_keys(keys, self.keys)
        added = np.unique(keys[found < 0])
        if not len(added):
            return self, found
        merged = np.concatenate((self.keys, added))
        order = np.argsort(merged)
        sequences = np.concatenate((self.sequences, np.full(len(added), NEVER, np.int64)))
        values = np.hstack((self.values, np.zeros((len(self.values), len(added)), np.int64)))
        state = AsOfIndex(merged[order], sequences[order], values[:, order])
        return state, find_keys(keys, state.keys)


@dataclass(frozen=True, slots=True)
class AsOfMatches:
    """The latest build row for each probe row: sequences (n,), NEVER where there was none, and values (columns, n)."""

    sequences: Int64s
    values: Int64s


def join_as_of(state: AsOfIndex, build: BuildRows, keys: UInt64s, times: Int64s) -> tuple[AsOfIndex, AsOfMatches]:
    """The state after all build rows, and the match of each probe row (keys, times) at its time."""
    count = len(build.keys)
    state, key_indexes = state.find(np.concatenate((build.keys, keys)))
    order = _in_effect(key_indexes, np.concatenate((build.times, times)), len(state.keys))
    key_of = key_indexes[order]

    # The key in the high bits, so the running maximum starts anew with each key; below it, 0 marks a probe row.
    ranks = key_of << _SEQUENCE_BITS
    is_build = order < count
    ranks[is_build] += build.sequences[order[is_build]] + 1
    highest = np.maximum.accumulate(ranks)
    latest_row = np.maximum.accumulate(np.where(is_build & (ranks == highest), np.arange(len(order)), 0))

    # Where the batch has nothing later, the state's row is taken: those rows follow the build rows.
    sequences = (highest & (2**_SEQUENCE_BITS - 1)) - 1
    from_batch = sequences > state.sequences[key_of]
    source = np.where(from_batch, order[latest_row], count + key_of)
    all_sequences = np.concatenate((build.sequences, state.sequences))
    all_values = np.hstack((build.values, state.values))

    is_probe = ~is_build
    source_of = np.empty(len(keys), np.int64)
    source_of[order[is_probe] - count] = source[is_probe]
    matches = AsOfMatches(all_sequences[source_of], all_values[:, source_of])

    ends = np.flatnonzero(np.diff(key_of, append=-1))
    after = np.arange(count, count + len(state.keys))
    after[key_of[ends]] = source[ends]
    return AsOfIndex(state.keys, all_sequences[after], all_values[:, after]), matches


def _in_effect(key_indexes: Int64s, times: Int64s, keys: int) -> Int64s:
    """The order by key, then by time, then as given: indexes (n,)."""
    by_time = np.argsort(times, kind="stable")
    # numpy sorts 16-bit integers by radix, many times faster than wider ones.
    order = by_time[np.argsort((key_indexes[by_time] & 0xFFFF).astype(np.uint16), kind="stable")]
    if keys > 2**16:
        order = order[np.argsort((key_indexes[order] >> 16).astype(np.uint16), kind="stable")]
    return order
