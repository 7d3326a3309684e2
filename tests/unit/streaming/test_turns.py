"""When replicas begin their batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.streaming.driver.replica_schedule import Turns

S = 1_000_000_000
TIMES = st.integers(0, 2**62)


@given(TIMES)
def test_only_replica_never_misses_a_turn(unix_ns: int) -> None:
    assert not Turns(30.0).missed(unix_ns)
    assert Turns(30.0).next_batch_s(unix_ns) == 30.0


@given(TIMES, st.integers(2, 4), st.sampled_from((20.0, 30.0, 300.0)))
def test_never_two_replicas_are_near_their_turns(unix_ns: int, replicas: int, batch_s: float) -> None:
    near = [k for k in range(replicas) if not Turns(batch_s, k, replicas).missed(unix_ns)]

    assert len(near) <= 1


@given(TIMES, st.integers(0, 1), st.sampled_from((20.0, 30.0, 300.0)))
def test_batch_of_a_replica_that_has_missed_its_turn_leads_to_it(unix_ns: int, replica: int, batch_s: float) -> None:
    turns = Turns(batch_s, replica, replicas=2)

    next_s = turns.next_batch_s(unix_ns)

    assert 1 <= next_s <= batch_s + 1
    if turns.missed(unix_ns):
        # With what it takes to end the query and start it again.
        assert not turns.missed(unix_ns + round(next_s * S) + 3 * S)
    else:
        assert next_s == batch_s


@pytest.mark.parametrize(
    ("after_s", "missed"), [(0, False), (5.2, False), (5.3, True), (15, True), (24.7, True), (24.8, False)]
)
def test_turn_is_missed_a_third_of_the_way_to_the_next_one(after_s: float, missed: bool) -> None:
    turns = Turns(30.0, replica=1, replicas=2)

    assert turns.missed(30 * S + 15 * S + round(after_s * S)) is missed
