"""The clock that a step of the host's does not move."""

import pytest

from market_spread.common.clock import AnchoredClock
from tests.support.clock import ManualClock

MS = 1_000_000


class BusyClock(ManualClock):
    """A clock whose reader loses its core for a while after some of the readings."""

    def __init__(self, *lost_ns: int) -> None:
        super().__init__()
        self.lost_ns = list(lost_ns)

    def unix_ns(self) -> int:
        return self._then_away(super().unix_ns())

    def monotonic_ns(self) -> int:
        return self._then_away(super().monotonic_ns())

    def _then_away(self, reading_ns: int) -> int:
        if self.lost_ns:
            self.advance_ns(self.lost_ns.pop(0))
        return reading_ns


@pytest.mark.parametrize("lost", [(17 * MS,), (0, 17 * MS), (17 * MS, 9 * MS, 30 * MS, 0, 8 * MS, 25 * MS)])
def test_a_reader_that_loses_its_core_sees_no_step(lost: tuple[int, ...]) -> None:
    clock = BusyClock()
    subject = AnchoredClock(clock)
    clock.lost_ns = list(lost)
    assert abs(subject.deviation_ns()) < MS
    assert abs(AnchoredClock(BusyClock(*lost)).deviation_ns()) < MS


def test_a_step_is_seen_whole_and_does_not_move_the_time() -> None:
    clock = ManualClock()
    subject = AnchoredClock(clock)
    before_ns = subject.unix_ns()
    clock.step_ns(-25 * MS)
    clock.advance_ns(3 * MS)
    assert subject.deviation_ns() == -25 * MS
    assert subject.unix_ns() == before_ns + 3 * MS
