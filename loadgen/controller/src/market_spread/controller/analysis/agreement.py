"""Whether the rig agrees with itself: what sender and receiver count, and what the ledger of the same run has."""

from collections.abc import Iterator

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.load.schedule import Constant
from market_spread.common.wire.layout import ALERT
from market_spread.common.wire.ledger import RECEIPT
from market_spread.controller.analysis.evidence import Criterion, Evidence
from market_spread.controller.analysis.latency import judged_alerts
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.plan.plan import RunPlan
from market_spread.loadgen.columns import Alerts

_SAMPLES_MIN = 200
# With fewer messages to a frame, how long they wait depends on their phase.
_FRAME_MIN = 8
_LINE_BYTES = ALERT.width + RECEIPT.width


def rig_agrees(plan: RunPlan, observed: Observed) -> list[Evidence]:
    """One piece of evidence, with the first disagreement; none before all is drained."""
    if not observed.drained or observed.alerts is None:
        return []
    found = next(_disagreements(plan, observed, observed.alerts), "")
    return [Evidence(Criterion.RIG_DISAGREES, not found, found or "sender, receiver and ledger agree")]


def _disagreements(plan: RunPlan, observed: Observed, alerts: Alerts) -> Iterator[str]:
    received, firsts = observed.received, judged_alerts(alerts, from_us=0)
    # What the ledger has beyond the receiver's last status came later, and is no fault.
    if received.alerts > len(firsts):
        yield f"the receiver counted {received.alerts} alerts, and the ledger has {len(firsts)}"
    elif received.alerts == len(firsts) and received.latency_histogram:
        own = HdrCounts(firsts.received_us - firsts.intended_us)
        if not np.array_equal(own.counts, HdrCounts.of_status(received.latency_histogram).counts):
            yield "the receiver's latencies are not those of the ledger"
    if (found := observed.decisions) is not None and received.decisions > (told := found.decided + found.unknown):
        yield f"the receiver counted {received.decisions} decisions, and the ledger has {told}"
    # Both count the warm-up as well, which the alerts here are without.
    counted = received.alerts + received.warm_up_alerts + received.alerts_duplicated
    came_later = max(len(observed.ledger) // _LINE_BYTES, len(alerts)) > counted
    disagreeing = observed.judgement.disagreeing if observed.judgement else 0
    if disagreeing > received.alerts_disagreeing and not came_later:
        yield (
            f"the receiver counted {received.alerts_disagreeing} alerts that disagree with an earlier one, and the "
            f"ledger has {disagreeing}"
        )
    sent = observed.sent
    delays, lags = HdrCounts.of_status(sent.frame_delay_histogram), HdrCounts.of_status(sent.send_lag_histogram)
    acknowledged = sum(part.frames_acknowledged for part in sent.partitions)
    if sent.partitions and acknowledged + sent.frames_failed != sent.frames_sent:
        yield f"of {sent.frames_sent} frames the broker acknowledged {acknowledged} and lost {sent.frames_failed}"
    for part in sent.partitions:
        if part.next_offset < part.frames_acknowledged:
            yield (
                f"{part.frames_acknowledged} frames of {part.topic}/{part.partition} were acknowledged, and its "
                f"offsets end at {part.next_offset}"
            )
    if (delays.count, lags.count) != (sent.frames_sent, sent.messages_sent):
        yield (
            f"the sender sent {sent.messages_sent} messages in {sent.frames_sent} frames, and has the lags of "
            f"{lags.count} and the delays of {delays.count}"
        )
    linger_us = plan.workload.frames.linger_ms * 1e3
    # A frame is planned at most a linger after its first message; values have three digits.
    if lags.max_us > 1.002 * (delays.max_us + linger_us):
        yield f"the sender's longest lag is {lags.max_us} us, and no frame was later than {delays.max_us} us"
    # Half of the messages wait for half of the time that a frame stays open, at a constant rate with many messages to a
    # frame; half of that is asked for. Of few, evenly apart, all may come just before it closes.
    load, of_frame = plan.workload.load, plan.workload.frames.messages
    rate = load.rate_per_s if isinstance(load, Constant) else 0
    if min(of_frame, rate * linger_us / 1e6) < _FRAME_MIN or lags.count < _SAMPLES_MIN:
        return
    # A partition gets its share of the rate at most, so its frames are not full sooner than one of all messages.
    least_us = min(linger_us, (of_frame - 1) / rate * 1e6) / 4
    if (half_us := lags.percentile(50)) < least_us:
        yield (
            f"half of the sender's lags are below {half_us} us, and half of the messages wait {least_us:.0f} us and "
            "longer for their frames: the lags are false"
        )
