"""Which messages share a frame, and when a frame is due."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.load.source import MessageStream
from market_spread.sender.framing import Frame, Framer, in_order_of_plan

WIDTH = 4


def stream(*messages: tuple[int, int]) -> MessageStream:
    """Messages as (intended_ns, bucket), numbered from 0 in their bytes."""
    rows = np.frombuffer(b"".join(b"%04d" % number for number in range(len(messages))), np.uint8)
    intended_ns, buckets = np.array(messages, np.int64).reshape(-1, 2).T
    return MessageStream(intended_ns, buckets, rows.reshape(-1, WIDTH))


def framer(*, linger_ns: int, frame_messages: int) -> Framer:
    return Framer(topic="nbbo", width=WIDTH, linger_ns=linger_ns, frame_messages=frame_messages)


def summary(frames: list[Frame]) -> list[tuple[int, bytes, int]]:
    return [(frame.partition, frame.payload, frame.planned_ns) for frame in frames]


def test_full_frame_is_due_with_its_last_message() -> None:
    subject = framer(linger_ns=1000, frame_messages=2)

    frames = subject.frames(stream((10, 0), (20, 0), (30, 0), (40, 0)), end_ns=50)

    assert summary(frames) == [(0, b"00000001", 20), (0, b"00020003", 40)]


def test_lingering_frame_is_due_at_the_next_multiple_of_the_linger() -> None:
    subject = framer(linger_ns=15, frame_messages=100)

    frames = subject.frames(stream((16, 0), (20, 0), (30, 0), (46, 0)), end_ns=100)

    assert summary(frames) == [(0, b"00000001", 30), (0, b"0002", 45), (0, b"0003", 60)]


def test_frame_of_one_message_is_due_at_its_intended_time() -> None:
    subject = framer(linger_ns=2_000_000, frame_messages=1)

    frames = subject.frames(stream((10, 0), (20, 1)), end_ns=30)

    assert summary(frames) == [(0, b"0000", 10), (1, b"0001", 20)]


def test_without_linger_only_messages_of_one_moment_share_a_frame() -> None:
    subject = framer(linger_ns=0, frame_messages=10)

    frames = subject.frames(stream((10, 0), (10, 0), (11, 0)), end_ns=20)

    assert [frame.payload for frame in frames] == [b"00000001", b"0002"]


def test_partitions_have_frames_of_their_own_that_are_due_together() -> None:
    subject = framer(linger_ns=5, frame_messages=10)

    frames = subject.frames(stream((10, 1), (11, 0), (12, 1)), end_ns=100)

    assert summary(frames) == [(0, b"0001", 15), (1, b"00000002", 15)]


def test_open_frame_is_carried_into_the_next_block() -> None:
    subject = framer(linger_ns=100, frame_messages=3)

    first = subject.frames(stream((10, 0), (20, 0)), end_ns=30)
    second = subject.frames(stream((40, 0), (45, 0)), end_ns=50)
    rest = subject.rest()

    assert first == []
    assert summary(second) == [(0, b"000000010000", 40)]
    assert summary(rest) == [(0, b"0001", 100)]


def test_frames_of_both_topics_are_sent_in_order_of_plan() -> None:
    frames = [Frame("nbbo", 0, b"", np.empty(0, np.int64), planned) for planned in (30, 10, 20)]

    ordered = in_order_of_plan(frames)

    assert [frame.planned_ns for frame in ordered] == [10, 20, 30]


@pytest.mark.parametrize("cut", [1, 3, 50])
@given(
    gaps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=1, max_size=60),
    linger_ns=st.integers(0, 60),
    frame_messages=st.integers(1, 7),
)
def test_every_message_is_framed_once_in_order_whatever_the_blocks(
    cut: int, gaps: list[tuple[int, int]], linger_ns: int, frame_messages: int
) -> None:
    times = np.cumsum([gap for gap, _ in gaps])
    whole = stream(*[(int(time), bucket) for time, (_, bucket) in zip(times, gaps, strict=True)])
    subject = framer(linger_ns=linger_ns, frame_messages=frame_messages)

    frames = []
    for begin in range(0, len(whole), cut):
        part = slice(begin, begin + cut)
        end_ns = int(whole.intended_ns[begin + cut]) if begin + cut < len(whole) else int(times[-1]) + 1
        frames += subject.frames(MessageStream(whole.intended_ns[part], whole.buckets[part], whole.rows[part]), end_ns)
    frames += subject.rest()

    for bucket in range(3):
        of_bucket = [frame for frame in frames if frame.partition == bucket]
        assert b"".join(frame.payload for frame in of_bucket) == whole.rows[whole.buckets == bucket].tobytes()
        planned = [frame.planned_ns for frame in of_bucket]
        assert planned == sorted(planned)
    for frame in frames:
        assert 1 <= frame.messages <= frame_messages
        assert frame.intended_ns[-1] <= frame.planned_ns <= frame.intended_ns[0] + max(linger_ns, 1)
