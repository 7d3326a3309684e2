"""The newest row of a key as of each moment: an as-of join of two streams, on arrays.

Rows take effect in the order of their times; at the same time, updates come before those that look up. An update
counts only if its sequence is higher than those before it, so one that comes again, or late, changes nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from market_spread.streaming.modes.micro_batch.kernels.hash_index import places_of

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

NEVER = -1  # the sequence of a key that has had no row
_SEQUENCE_BITS = 41


@dataclass(frozen=True, slots=True)
class Updates:
    """Rows that may be the newest of their key: keys, times, sequences (n,), and values (columns, n)."""

    keys: UInt64s
    times: Int64s
    sequences: Int64s
    values: Int64s


@dataclass(frozen=True, slots=True)
class AsOfIndex:
    """The newest row of every key: keys (m,) ascending, sequences (m,), values (columns, m)."""

    keys: UInt64s
    sequences: Int64s
    values: Int64s

    @classmethod
    def empty(cls, columns: int) -> Self:
        """No key yet."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty((columns, 0), np.int64))

    @classmethod
    def from_bytes(cls, data: bytes, columns: int) -> Self:
        """What `to_bytes` has written."""
        table = np.frombuffer(data, np.int64).reshape(columns + 2, -1)
        return cls(table[0].view(np.uint64), table[1], table[2:])

    def to_bytes(self) -> bytes:
        """All of it, for the state store: native 64-bit words, a row of the table after the other."""
        return np.vstack((self.keys.view(np.int64), self.sequences, self.values)).tobytes()

    def with_keys(self, keys: UInt64s) -> "AsOfIndex":
        """The same, with room for these keys; a new one has the sequence NEVER and zeros."""
        missing = np.setdiff1d(keys, self.keys)
        if not len(missing):
            return self
        merged = np.concatenate((self.keys, missing))
        order = np.argsort(merged)
        sequences = np.concatenate((self.sequences, np.full(len(missing), NEVER, np.int64)))
        values = np.hstack((self.values, np.zeros((len(self.values), len(missing)), np.int64)))
        return AsOfIndex(merged[order], sequences[order], values[:, order])

    def places(self, keys: UInt64s) -> tuple["AsOfIndex", Int64s]:
        """Where each of the keys (n,) stands, and the state that has all of them."""
        state = self
        found = places_of(keys, state.keys)
        strange = found < 0
        if strange.any():
            state = state.with_keys(np.unique(keys[strange]))
            found = places_of(keys, state.keys)
        return state, found


@dataclass(frozen=True, slots=True)
class AsOfMatches:
    """What was the newest for each row that looked: sequences (n,), NEVER where there was none, and values."""

    sequences: Int64s
    values: Int64s


def look_up(state: AsOfIndex, updates: Updates, keys: UInt64s, times: Int64s) -> tuple[AsOfIndex, AsOfMatches]:
    """The state after all updates, and what was the newest for each of the rows (keys, times) at its time."""
    count = len(updates.keys)
    state, places = state.places(np.concatenate((updates.keys, keys)))
    order = _in_effect(places, np.concatenate((updates.times, times)), len(state.keys))
    placed = places[order]

    # The key on top, so that the running maximum begins anew with each; 0 below it is a row that looks.
    ranks = placed << _SEQUENCE_BITS
    is_update = order < count
    ranks[is_update] += updates.sequences[order[is_update]] + 1
    highest = np.maximum.accumulate(ranks)
    newest_row = np.maximum.accumulate(np.where(is_update & (ranks == highest), np.arange(len(order)), 0))

    # Where the batch has nothing newer, the state's own row is meant: it stands behind the updates.
    sequences = (highest & (2**_SEQUENCE_BITS - 1)) - 1
    from_batch = sequences > state.sequences[placed]
    source = np.where(from_batch, order[newest_row], count + placed)
    all_sequences = np.concatenate((updates.sequences, state.sequences))
    all_values = np.hstack((updates.values, state.values))

    looking = ~is_update
    source_of = np.empty(len(keys), np.int64)
    source_of[order[looking] - count] = source[looking]
    found = AsOfMatches(all_sequences[source_of], all_values[:, source_of])

    ends = np.flatnonzero(np.diff(placed, append=-1))
    after = np.arange(count, count + len(state.keys))
    after[placed[ends]] = source[ends]
    return AsOfIndex(state.keys, all_sequences[after], all_values[:, after]), found


def _in_effect(places: Int64s, times: Int64s, keys: int) -> Int64s:
    """The order by key, within a key by time, and within a time as they stand: indexes (n,)."""
    by_time = np.argsort(times, kind="stable")
    # Stable sorts of 16-bit integers are radix sorts in numpy: many times faster than those of wide ones.
    order = by_time[np.argsort((places[by_time] & 0xFFFF).astype(np.uint16), kind="stable")]
    if keys > 2**16:
        order = order[np.argsort((places[order] >> 16).astype(np.uint16), kind="stable")]
    return order
