"""Several senders, seen as one."""

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.clients.together import merged_senders
from market_spread.v1.control_pb2 import PartitionSent, Phase, SenderStatusResponse


def status(phase: "Phase.ValueType", *, messages: int = 0, lag_us: int = 1, end: int = 0) -> SenderStatusResponse:
    lag = HdrCounts()
    lag.record(np.array([lag_us]))
    return SenderStatusResponse(
        phase=phase,
        detail="the topic is gone" if phase == Phase.PHASE_FAILED else "",
        messages_sent=messages,
        frame_delay_ns_max=lag_us * 1000,
        send_lag_histogram=lag.encode(),
        partitions=[PartitionSent(topic="nbbo", partition=0, messages=messages, next_offset=end)],
    )


def test_one_sender_is_itself() -> None:
    only = status(Phase.PHASE_RUNNING, messages=3)

    assert merged_senders([only]) is only


def test_counts_add_up_and_ends_are_the_highest() -> None:
    merged = merged_senders(
        [
            status(Phase.PHASE_FINISHED, messages=3, lag_us=100, end=9),
            status(Phase.PHASE_FINISHED, messages=4, lag_us=300, end=7),
        ]
    )

    assert (merged.phase, merged.messages_sent, merged.frame_delay_ns_max) == (Phase.PHASE_FINISHED, 7, 300_000)
    assert [(sent.messages, sent.next_offset) for sent in merged.partitions] == [(7, 9)]
    assert HdrCounts.decode(merged.send_lag_histogram).count == 2


def test_finished_is_only_what_all_have_finished() -> None:
    assert merged_senders([status(Phase.PHASE_FINISHED), status(Phase.PHASE_RUNNING)]).phase == Phase.PHASE_RUNNING


def test_one_that_failed_is_told() -> None:
    merged = merged_senders([status(Phase.PHASE_RUNNING), status(Phase.PHASE_FAILED)])

    assert (merged.phase, merged.detail) == (Phase.PHASE_FAILED, "the topic is gone")


def test_what_waits_is_that_of_the_worst_and_acknowledgements_add_up() -> None:
    one, other = status(Phase.PHASE_FINISHED), status(Phase.PHASE_FINISHED)
    for each, took_us, age_us, deviation_us in ((one, 900, 1_000, 300), (other, 50_000, 60_000, -400)):
        acknowledge = HdrCounts()
        acknowledge.record(np.array([took_us]))
        each.acknowledge_histogram = acknowledge.encode()
        each.unacknowledged_age_us_max, each.clock_deviation_us_max = age_us, deviation_us

    merged = merged_senders([one, other])

    assert HdrCounts.decode(merged.acknowledge_histogram).count == 2
    assert (merged.unacknowledged_age_us_max, merged.clock_deviation_us_max) == (60_000, -400)
