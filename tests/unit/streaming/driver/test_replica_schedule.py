"""When replicas begin their batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.streaming.driver.replica_schedule import ReplicaSchedule

S = 1_000_000_000
TIMES = st.integers(0, 2**62)


@given(TIMES)
def test_a_single_replica_never_drifts(unix_ns: int) -> None:
    assert not ReplicaSchedule(30.0).has_drifted(unix_ns)
    assert ReplicaSchedule(30.0).next_batch_s(unix_ns) == 30.0


@given(TIMES, st.integers(2, 4), st.sampled_from((20.0, 30.0, 300.0)))
def test_never_two_replicas_are_near_the_start_of_a_batch(unix_ns: int, replicas: int, batch_s: float) -> None:
    near = [k for k in range(replicas) if not ReplicaSchedule(batch_s, k, replicas).has_drifted(unix_ns)]

    assert len(near) <= 1


@given(TIMES, st.integers(0, 1), st.sampled_from((20.0, 30.0, 300.0)))
def test_batch_of_a_replica_that_has_drifted_realigns_it(unix_ns: int, replica: int, batch_s: float) -> None:
    schedule = ReplicaSchedule(batch_s, replica, replicas=2)

    next_s = schedule.next_batch_s(unix_ns)

    assert 1 <= next_s <= batch_s + 1
    if schedule.has_drifted(unix_ns):
        # With what it takes to end the query and start it again.
        assert not schedule.has_drifted(unix_ns + round(next_s * S) + 3 * S)
    else:
        assert next_s == batch_s


@pytest.mark.parametrize(
    ("after_s", "has_drifted"), [(0, False), (5.2, False), (5.3, True), (15, True), (24.7, True), (24.8, False)]
)
def test_a_replica_has_drifted_a_third_of_the_way_to_the_next_start(after_s: float, has_drifted: bool) -> None:
    schedule = ReplicaSchedule(30.0, replica=1, replicas=2)

    assert schedule.has_drifted(30 * S + 15 * S + round(after_s * S)) is has_drifted
