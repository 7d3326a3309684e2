"""Whether the rig agrees with itself: what sender and receiver count, and what the ledger of the same run has."""

from collections.abc import Iterator

import numpy as np

from market_spread.common.histogram import HdrCounts, bucket_indices
from market_spread.common.schedule import Constant
from market_spread.loadgen.columns import Alerts
from market_spread.runs.analysis.evidence import Criterion, Evidence
from market_spread.runs.analysis.latency import judged_alerts
from market_spread.runs.plan import RunPlan
from market_spread.runs.run import Observed

_SAMPLES_MIN = 200
# Of chance alone, and of partitions whose frames fill sooner than others', two shares of the same lags differ by less.
_SHARES_APART_MAX = 0.2


def rig_agrees(plan: RunPlan, observed: Observed) -> list[Evidence]:
    """One piece of evidence, with the first disagreement; none before all is drained."""
    if not observed.drained or observed.alerts is None:
        return []
    found = next(_disagreements(plan, observed, observed.alerts), "")
    return [Evidence(Criterion.RIG_DISAGREES, not found, found or "sender, receiver and ledger agree")]


def _disagreements(plan: RunPlan, observed: Observed, alerts: Alerts) -> Iterator[str]:
    yield from _of_receiver(observed, alerts)
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
    # A frame is planned at most a linger after its first message; values have three digits.
    if lags.max_us > 1.002 * (delays.max_us + plan.workload.linger_ms * 1000):
        yield f"the sender's longest lag is {lags.max_us} us, and no frame was later than {delays.max_us} us"
    if plan.origin.get("source") == "market" and isinstance(plan.workload.profile, Constant):
        yield from _lags_of_alerts(alerts, lags, sent.orders_sent / max(sent.messages_sent, 1))


def _of_receiver(observed: Observed, alerts: Alerts) -> Iterator[str]:
    """The receiver counts duplicates of the warm-up as well; alerts that came after its last status are no fault."""
    received, firsts = observed.received, judged_alerts(alerts, from_us=0)
    if received.alerts > len(firsts):
        yield f"the receiver counted {received.alerts} alerts, and the ledger has {len(firsts)}"
    elif received.alerts == len(firsts) and received.latency_histogram:
        own = HdrCounts()
        own.record(firsts.received_us - firsts.intended_us)
        if not np.array_equal(own.counts, HdrCounts.of_status(received.latency_histogram).counts):
            yield "the receiver's latencies are not those of the ledger"
    judgement = observed.judgement
    came_later = len(alerts) - len(firsts) > received.alerts_duplicated
    if judgement is not None and not came_later and judgement.disagreeing > received.alerts_disagreeing:
        yield (
            f"the receiver counted {received.alerts_disagreeing} alerts that disagree with an earlier one, and the "
            f"ledger has {judgement.disagreeing}"
        )


def _lags_of_alerts(alerts: Alerts, lags: HdrCounts, orders_share: float) -> Iterator[str]:
    """Orders are a known share of the messages, and alerts a sample of them: that bounds the lags of all messages.

    So it is where orders that are rejected come as evenly as all others: in a market of ours, at a constant rate.
    """
    firsts = judged_alerts(alerts, from_us=0)
    if len(firsts) < _SAMPLES_MIN or not lags.count:
        return
    of_alerts = HdrCounts()
    of_alerts.record(np.maximum(firsts.sent_us - firsts.intended_us, 0))
    told, all_of_them = (np.cumsum(each.counts) / each.count for each in (of_alerts, lags))
    low, high = orders_share * told, orders_share * told + 1 - orders_share
    apart = np.maximum(low - all_of_them, all_of_them - high)
    if apart.max() > _SHARES_APART_MAX:
        at_us = lags.percentile(50)
        place = int(bucket_indices(np.array([at_us]))[0])
        yield (
            f"half of the sender's lags are up to {at_us} us, and {told[place]:.0%} of those of the alerts' orders: "
            "lags, or stamps of sending, are false"
        )
