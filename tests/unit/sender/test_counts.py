"""What counts of a load must not get wrong, whatever the order of acknowledgements and the layout of frames."""

import numpy as np

from market_spread.common.telemetry.recorder import Recorder
from market_spread.sender.counts import SendCounts
from market_spread.sender.framing import Frame
from tests.support.clock import ManualClock

START = 1_700_000_000_000_000_000
MS = 1_000_000


def counts() -> SendCounts:
    return SendCounts(Recorder(source="sender-0", clock=ManualClock(START)))


def frame(*intended_ms: int, planned_ms: int) -> Frame:
    return Frame(
        topic="nbbo",
        partition=0,
        planned_ns=START + planned_ms * MS,
        payload=b"x" * 10,
        intended_ns=np.array(intended_ms, np.int64) * MS + START,
    )


def test_the_lag_of_each_message_is_from_its_own_intended_time() -> None:
    """Three messages of one frame, sent 20 ms after its plan: from the plan they would be 20 ms late all three."""
    subject = counts()

    subject.sent(frame(0, 3, 5, planned_ms=5), START + 25 * MS)
    subject.flush(3, now_ns=START + 25 * MS, clock_deviation_ns=0)

    lag = subject.send_lag
    assert (lag.min_us, lag.max_us, lag.sum_us) == (20_000, 25_000, 67_000)
    assert (subject.frame_delay.count, subject.frame_delay.max_us) == (1, 20_000)


def test_the_next_offset_does_not_go_back() -> None:
    subject = counts()
    for number in range(3):
        subject.sent(frame(number, planned_ms=number), START + number * MS)

    for offset in (2, 0, 1):
        subject.acknowledged(("nbbo", 0), 10, offset, START + offset * MS, START + 9 * MS)

    assert subject.status().partitions[0].next_offset == 3


def test_acknowledgements_are_a_histogram_of_the_whole_load() -> None:
    subject = counts()
    for number in range(3):
        subject.sent(frame(number, planned_ms=number), START + number * MS)
        subject.acknowledged(("nbbo", 0), 10, number, START + number * MS, START + (2 * number + 1) * MS)
        subject.flush(number, now_ns=START + (2 * number + 1) * MS, clock_deviation_ns=0)

    acknowledge = subject.acknowledge
    assert (acknowledge.count, acknowledge.min_us, acknowledge.max_us) == (3, 1_000, 3_000)
    assert subject.status().unacknowledged_age_us_max == 3_000


def test_the_oldest_frame_without_an_acknowledgement_has_an_age() -> None:
    """59 s of load wait in the client while the broker answers the newest frames only."""
    subject = counts()
    subject.sent(frame(0, planned_ms=0), START)
    subject.sent(frame(0, planned_ms=0), START)
    subject.acknowledged(("nbbo", 0), 10, 0, START, START + MS)
    subject.sent(frame(58_999, planned_ms=58_999), START + 58_999 * MS)
    subject.acknowledged(("nbbo", 0), 10, 1, START + 58_999 * MS, START + 59_000 * MS)

    subject.flush(3, now_ns=START + 59_000 * MS, clock_deviation_ns=0)

    assert subject.status().unacknowledged_age_us_max == 59_000_000
    assert subject.acknowledge.max_us == 1_000

    subject.failed(1, 10, "gone", START, START + 60_000 * MS)
    subject.flush(3, now_ns=START + 90_000 * MS, clock_deviation_ns=0)
    assert subject.status().unacknowledged_age_us_max == 60_000_000, "a lost frame has waited, too, but waits no more"


def test_the_largest_deviation_of_the_clock_keeps_its_sign() -> None:
    subject = counts()
    for deviation_ms in (3, -200, 100):
        subject.flush(0, now_ns=START, clock_deviation_ns=deviation_ms * MS)

    assert subject.status().clock_deviation_us_max == -200_000
