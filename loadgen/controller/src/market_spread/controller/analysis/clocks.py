"""How far the clocks of a run's processes are apart, from round trips of status calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from market_spread.controller.clients.services import RoundTrip


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far another clock is ahead, and how wrong that can be at most, microseconds."""

    offset_us: float
    bound_us: float

    def minus(self, other: "ClockOffset") -> "ClockOffset":
        """How far this clock is ahead of another one, both measured from the same place."""
        return ClockOffset(self.offset_us - other.offset_us, self.bound_us + other.bound_us)


def clock_offset(round_trips: Iterable[RoundTrip]) -> ClockOffset | None:
    """The offset of a clock by its quickest round trip; None if there is none.

    Cristian, Probabilistic clock synchronization, Distributed Computing 3 (1989); NTP's formula of four times
    (RFC 5905, section 8). The bound holds for any asymmetry of the two ways. A clock that answers 0 does not tell.
    """
    told = [trip for trip in round_trips if trip.taken_unix_ns > 0 and trip.bound_ns >= 0]
    if not told:
        return None
    best = min(told, key=lambda trip: trip.bound_ns)
    return ClockOffset(best.offset_ns / 1000, best.bound_ns / 1000)


def clock_bounds(round_trips: Mapping[str, Mapping[str, RoundTrip]]) -> dict[str, ClockOffset]:
    """For each process how far its clock was ahead of the run controller's throughout the run.

    `round_trips` has the best of each process in each phase (before, during, after). The offset lies within the hull of
    what the phases allow, so a clock that drifted or was moved between two of them has a bound that says so.
    """
    found: dict[str, ClockOffset] = {}
    for process in sorted({process for of_phase in round_trips.values() for process in of_phase}):
        trips = [of_phase[process] for of_phase in round_trips.values() if process in of_phase]
        offsets = [offset for trip in trips if (offset := clock_offset([trip])) is not None]
        if offsets:
            found[process] = _hull(offsets)
    return found


def clocks_apart(bounds: Mapping[str, ClockOffset], one: str = "receiver", other: str = "sender") -> ClockOffset | None:
    """How far one kind of process is ahead of another, the hull over all pairs (several senders); None if not known."""
    pairs = [
        ours.minus(theirs)
        for name, ours in bounds.items()
        for their_name, theirs in bounds.items()
        if name.partition("-")[0] == one and their_name.partition("-")[0] == other
    ]
    return _hull(pairs) if pairs else None


def _hull(offsets: Sequence[ClockOffset]) -> ClockOffset:
    """What allows all that any of them allows."""
    low = min(each.offset_us - each.bound_us for each in offsets)
    high = max(each.offset_us + each.bound_us for each in offsets)
    return ClockOffset((low + high) / 2, (high - low) / 2)
