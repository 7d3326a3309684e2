"""How long messages can have taken to the state around each moment of a run, by when alerts were received.

Only the input's intended times and the receiver's clock tell, never what the job stamps: it is what is judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.common.wire.codec import Int64s

_SHARE_MAX, _FEW = 0.01, 5
# Orders are few beside quotes: of as many messages, the slowest is somewhat slower than the slowest alert near by.
_MARGIN_US = 50_000
_MORE_BY = 4
_NEAR_US = 1_000_000
_APART_US = 2_000_000  # further than _NEAR_US, as spans begin a second early for the clocks' sake
_SPACING_US_MAX, _AT_WORST_US = 1_000_000, 1_000_000
_BIN_US = 100_000
_NEVER_US = np.int64(2**62)
_MANY, _FAR_US = 1_000, 100_000


@dataclass(frozen=True, slots=True)
class Delays:
    """A bound of the delays from intended send to the state, constant from each of the moments to the next.

    longest_us: the longest delay that was seen, or the one that was given.
    """

    moments_us: Int64s
    bounds_us: Int64s
    longest_us: int

    def at(self, intended_us: Int64s) -> Int64s:
        """The bound for orders of these intended times, and for the quotes that they can have overtaken."""
        return self.bounds_us[np.searchsorted(self.moments_us, intended_us, "right") - 1]

    def at_worst(self) -> "Delays":
        """The largest of the bounds and a second more, at any time."""
        return constant_delay(int(self.bounds_us.max()) + _AT_WORST_US, longest_us=self.longest_us)


def constant_delay(bound_us: int, *, longest_us: int | None = None) -> Delays:
    """The same bound at any time."""
    return Delays(np.array([-_NEVER_US]), np.array([bound_us]), bound_us if longest_us is None else longest_us)


def are_few(count: int, judged: int) -> bool:
    """Whether so many of what is judged may be stale by the bound of their time: a partition may stand still once."""
    return count <= max(_FEW, _SHARE_MAX * judged)


def behind_us(intended_us: Int64s, received_us: Int64s) -> int:
    """How far the receiver's clock is at least behind the sender's: no answer is received before its order is sent."""
    early_us = intended_us - received_us
    # It is so for all answers alike, so a few of many that are earlier than all others by far say nothing of it.
    if len(early_us) >= _MANY:
        early_us = early_us[early_us <= np.partition(early_us, -_FEW - 1)[-_FEW - 1] + _FAR_US]
    return int(early_us.max(initial=0))


def observed_delays(intended_us: Int64s, received_us: Int64s, replayed: Sequence[tuple[int, int]] = ()) -> Delays:
    """What alerts tell, arrays (n,): an order had met the state when its alert was received.

    What was sent since the alerted order before can have waited since then, so an alert stands for its delay and that
    time (up to 1 s), and for a quarter and 50 ms more: of what has piled up at a standstill or before a restart, quotes
    may be worked off later than orders. For that, its bound holds not only 1 s before and after it, but for twice as
    long as it is itself. Between alerts that are further apart than that, the nearest two hold.

    replayed: see `Oracle`. Where a span begins 2 s or more before the first alerted order, as in the warm-up, no alert
    tells how old its first state was: the span then counts as an order due at its begin and received at its end.
    """
    first_us = intended_us.min(initial=_NEVER_US)
    before = [span for span in replayed if -_NEVER_US < span[0] < first_us - _APART_US and first_us < span[1]]
    from_us, to_us = np.array(before, np.int64).reshape(-1, 2).T
    intended_us, received_us = np.append(intended_us, from_us), np.append(received_us, to_us)
    if not len(intended_us):
        return constant_delay(_MARGIN_US + _SPACING_US_MAX, longest_us=0)
    ascending = np.argsort(intended_us, kind="stable")
    sent_us = intended_us[ascending]
    delay_us = np.maximum(received_us[ascending] - sent_us, 0)
    waited_us = delay_us + np.minimum(np.diff(sent_us, prepend=sent_us[0]), _SPACING_US_MAX)
    bound_us = waited_us + waited_us // _MORE_BY + _MARGIN_US

    first = np.flatnonzero(np.diff(sent_us // _BIN_US, prepend=sent_us[0] // _BIN_US - 1))
    bound_us = np.maximum.reduceat(bound_us, first)
    begin_us, end_us = sent_us[first], sent_us[np.append(first[1:], len(sent_us)) - 1]
    from_us = np.minimum(begin_us - _NEAR_US, np.append(-_NEVER_US, end_us[:-1]))
    to_us = np.maximum(end_us + _NEAR_US + 2 * bound_us, np.append(begin_us[1:], _NEVER_US))

    moments_us = np.unique(np.concatenate([from_us, to_us]))
    bounds_us = np.zeros(len(moments_us), np.int64)
    begins, ends = np.searchsorted(moments_us, from_us), np.searchsorted(moments_us, to_us)
    for place in np.argsort(bound_us):
        bounds_us[begins[place] : ends[place]] = bound_us[place]
    return Delays(moments_us, bounds_us, int(delay_us.max()))
