"""How far two clocks are apart is found within the bound that is told with it."""

from typing import Any

import numpy as np
import pytest
from google.protobuf.empty_pb2 import Empty

from market_spread.controller.analysis.stamps import ClockOffset, clock_bounds, clocks_apart
from market_spread.controller.clients.services import JobClient, RoundTrip
from tests.support.clock import ManualClock

START = 1_700_000_000_000_000_000
MS = 1_000_000


def trip(offset_ns: int, out_ns: int, back_ns: int, *, at_ns: int = START) -> RoundTrip:
    return RoundTrip(at_ns, at_ns + out_ns + offset_ns, at_ns + out_ns + back_ns)


def random_trips(rng: np.random.Generator, offset_ns: int, count: int, *, back_ns: int = 0) -> list[RoundTrip]:
    ways = rng.exponential(2 * MS, (count, 2)).astype(int) + 100_000
    return [trip(offset_ns, int(out), int(back) + back_ns) for out, back in ways]


def offset_by(trip: RoundTrip) -> ClockOffset | None:
    return clock_bounds({"during": {"job": trip}}).get("job")


def test_a_planted_offset_lies_within_the_bound_of_every_round_trip() -> None:
    for each in random_trips(np.random.default_rng(1), 20 * MS, 200):
        found = offset_by(each)

        assert found is not None
        assert abs(found.offset_us - 20_000) <= found.bound_us


def test_the_same_ways_give_the_offset_exactly() -> None:
    assert offset_by(trip(20 * MS, MS, MS)) == ClockOffset(20_000.0, 1_000.0)
    assert offset_by(RoundTrip(START, 0, START + MS)) is None, "a process that tells no time"


@pytest.mark.parametrize(("out_ms", "back_ms"), [(0, 8), (8, 0), (1, 30), (30, 1)])
@pytest.mark.parametrize("offset_ms", [-20, 0, 20])
def test_ways_that_differ_stay_within_the_bound(out_ms: int, back_ms: int, offset_ms: int) -> None:
    found = offset_by(trip(offset_ms * MS, out_ms * MS, back_ms * MS))

    assert found is not None
    assert abs(found.offset_us - offset_ms * 1000) <= found.bound_us


def test_a_clock_that_is_set_during_the_run_has_a_bound_that_holds_before_and_after() -> None:
    bounds = clock_bounds(
        {
            "before": {"sender": trip(0, MS, MS), "receiver": trip(20 * MS, MS, MS)},
            "during": {"sender": trip(0, MS, MS), "receiver": trip(20 * MS, MS, MS)},
            "after": {"receiver": trip(25 * MS, MS, MS)},
        }
    )

    assert bounds["sender"] == ClockOffset(0.0, 1_000.0)
    assert bounds["receiver"] == ClockOffset(22_500.0, 3_500.0)
    assert clocks_apart(bounds) == ClockOffset(22_500.0, 4_500.0)


def test_of_several_senders_the_receiver_is_compared_with_each() -> None:
    bounds = {
        "sender": ClockOffset(0, 100), "sender-1": ClockOffset(-5_000, 100), "receiver": ClockOffset(1_000, 200)
    }  # fmt: skip

    apart = clocks_apart(bounds)

    assert apart == ClockOffset(3_500, 2_800)
    assert clocks_apart({"sender": ClockOffset(0, 1)}) is None


class FarStatus:
    """A process 20 ms ahead, that answers in the given times."""

    def __init__(self, clock: ManualClock, *took_ms: int) -> None:
        self._clock, self._took_ms = clock, list(took_ms)
        self.unix_ns = 0

    def __call__(self, request: object, timeout: float) -> "FarStatus":
        took_ns = self._took_ms.pop(0) * MS
        self._clock.advance_ns(took_ns // 4)
        self.unix_ns = self._clock.unix_ns() + 20 * MS
        self._clock.advance_ns(took_ns - took_ns // 4)
        return self


def test_status_calls_are_round_trips_and_the_quickest_is_kept() -> None:
    clock = ManualClock()
    client = JobClient(clock=clock)
    method: Any = FarStatus(clock, 40, 4, 12)
    for _ in range(3):
        client._status("receiver", method, Empty())

    taken = client.take_round_trips()

    found = offset_by(taken["receiver"])
    assert found is not None
    assert found.bound_us == 2_000
    assert abs(found.offset_us - 20_000) <= found.bound_us
    assert client.take_round_trips() == {}
