"""The verdict of a run: passed, failed, or void because something else than the job spoiled it."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from market_spread.common.errors import RunVoidError
from market_spread.common.histogram import HdrCounts, bucket_indices, latency_summary_ns
from market_spread.common.schedule import Constant
from market_spread.runs.latencies import STAGES, Latencies, latencies_of
from market_spread.runs.machine import this_machine
from market_spread.runs.plan import RunPlan
from market_spread.runs.result import LatencyNs, Result, Verdict
from market_spread.runs.run import Observed, batches_of

STOLEN_SHARE_MAX = 0.1

_NO_LATENCY: LatencyNs = latency_summary_ns(HdrCounts())


def judged_from_unix_ns(plan: RunPlan, observed: Observed) -> int:
    """From when on latencies count: where the measured load has settled; before its begin there is nothing to count."""
    return observed.starts_unix_ns.get("measured", 0) + round(plan.workload.settle_s * 1e9)


def result_of(plan: RunPlan, observed: Observed, run_id: str) -> Result:
    """The result of a run, as far as it came."""
    workload = plan.workload
    settle_us = judged_from_unix_ns(plan, observed) // 1000
    batches = batches_of(observed.job, workload.batch_s)
    latencies = latencies_of(observed.alerts, batches, from_us=settle_us) if observed.alerts is not None else None
    void, failed = void_reasons(plan, observed), fail_reasons(plan, observed, latencies)
    verdict = Verdict.VOID if void else Verdict.FAILED if failed else Verdict.PASSED
    sent, judgement = observed.sent, observed.judgement
    processed = max(0, observed.job.messages_processed - observed.sent_before)
    frame_delay, send_lag = _decoded(sent.frame_delay_histogram), _decoded(sent.send_lag_histogram)
    durations_ns = [batch.duration_ns for batch in batches if batch.start_unix_ns // 1000 >= settle_us]
    gaps_ns = [boundary.gap_us * 1000 for boundary in latencies.boundaries] if latencies else []
    return Result(
        run_id=run_id,
        workload=workload.name,
        verdict=verdict,
        reasons=(*void, *failed),
        faults=judgement.sentences if judgement else {},
        started=observed.started.isoformat(timespec="seconds"),
        duration_s=plan.duration_s,
        mode=workload.mode,
        messages_sent=sent.messages_sent,
        quotes_sent=sent.quotes_sent,
        orders_sent=sent.orders_sent,
        messages_processed=processed,
        alerts_expected=judgement.expected if judgement else 0,
        alerts_received=observed.received.alerts,
        alerts_missing=judgement.missing if judgement else 0,
        alerts_unexpected=judgement.unexpected if judgement else 0,
        alerts_duplicated=observed.received.alerts_duplicated,
        alerts_wrong=judgement.wrong if judgement else 0,
        alerts_undecided=judgement.undecided if judgement else 0,
        alerts_disagreeing=observed.received.alerts_disagreeing,
        invalid_records=observed.received.invalid_records,
        offered_rate_per_s=plan.offered_rate_per_s,
        achieved_rate_per_s=_achieved_rate_per_s(observed),
        latency_ns=latency_summary_ns(latencies.end_to_end) if latencies else _NO_LATENCY,
        latency_samples=latencies.end_to_end.count if latencies else 0,
        latency_between_boundaries_ns=latency_summary_ns(latencies.steady) if latencies else _NO_LATENCY,
        service_time_ns=latency_summary_ns(latencies.service) if latencies else _NO_LATENCY,
        stages_ns={name: latency_summary_ns(latencies.stages[name]) if latencies else _NO_LATENCY for name in STAGES},
        send_lag_ns=latency_summary_ns(send_lag),
        frame_delay_ns=latency_summary_ns(frame_delay),
        frames_sent=sent.frames_sent,
        frames_late=_late_frames(plan, frame_delay),
        messages_failed=sent.messages_failed,
        boundaries=len(gaps_ns),
        boundary_gap_ns_median=int(np.median(gaps_ns)) if gaps_ns else None,
        boundary_gap_ns_max=max(gaps_ns, default=None),
        batch_duration_ns_median=int(np.median(durations_ns)) if durations_ns else None,
        batch_duration_ns_max=max(durations_ns, default=None),
        negative_latencies=latencies.end_to_end.negative if latencies else 0,
        job_restarts=observed.job.restarts + observed.job_restarts,
        cpu_us_per_message=_cpu_us_per_message(observed),
        broker_cpu_us_per_message=observed.broker_cpu_us / sent.messages_sent if sent.messages_sent else None,
        stolen_cpu_share=observed.stolen_share,
        time_to_first_order_s=observed.time_to_first_order_s,
        machine=asdict(this_machine()),
        settings=_settings(plan),
    )


def void_reasons(plan: RunPlan, observed: Observed) -> tuple[str, ...]:
    """Why the run cannot be judged, each a sentence; empty if it can."""
    sent, workload = observed.sent, plan.workload
    reasons = []
    if isinstance(observed.error, RunVoidError):
        reasons.append(str(observed.error))
    if observed.interrupted:
        reasons.append("the run was interrupted")
    late = _late_frames(plan, _decoded(sent.frame_delay_histogram))
    if sent.frames_sent and late > workload.late_share_max * sent.frames_sent:
        reasons.append(
            f"the generator was late: {late} of {sent.frames_sent} frames ({late / sent.frames_sent:.2%}) went out "
            f"more than {workload.late_ms:g} ms after their plan, at most {workload.late_share_max:.2%} may; "
            "lower the rate or give the sender a core of its own"
        )
    if sent.messages_failed:
        reasons.append(f"the broker did not take {sent.messages_failed} messages")
    if observed.stolen_share > STOLEN_SHARE_MAX:
        reasons.append(f"{observed.stolen_share:.0%} of the CPU time was taken by the machine's neighbours")
    if observed.judgement is not None and observed.judgement.void_reason is not None:
        reasons.append(observed.judgement.void_reason)
    return tuple(reasons)


def fail_reasons(plan: RunPlan, observed: Observed, latencies: Latencies | None) -> tuple[str, ...]:
    """What the system under test did wrong, each a sentence; empty if nothing."""
    reasons = []
    if observed.error is not None and not isinstance(observed.error, RunVoidError):
        reasons.append(str(observed.error))
    judgement = observed.judgement
    if judgement is not None:
        counts = {
            "alerts are missing": judgement.missing,
            "alerts are unexpected": judgement.unexpected,
            "alerts are wrong": judgement.wrong,
            "alerts came twice without a restart": 0 if judgement.duplicates_allowed else judgement.duplicated,
        }
        reasons += [f"{count} {what}" for what, count in counts.items() if count]
    if observed.received.invalid_records:
        reasons.append(f"{observed.received.invalid_records} messages were malformed")
    reasons += _conservation_reasons(observed)
    if latencies is not None:
        reasons += _latency_reasons(plan, latencies)
    return tuple(reasons)


def _conservation_reasons(observed: Observed) -> list[str]:
    """A restart counts from its checkpoint, so then only the offsets tell, and the drain has awaited those."""
    sent = observed.sent_before + observed.sent.messages_sent
    restarts = observed.job.restarts + observed.job_restarts
    if not observed.drained or restarts or observed.job.messages_committed == sent:
        return []
    return [f"the job processed {observed.job.messages_committed} messages of the {sent} that were sent"]


def _latency_reasons(plan: RunPlan, latencies: Latencies) -> list[str]:
    reasons = []
    growth = latencies.growth
    if isinstance(plan.workload.profile, Constant) and growth.is_queue:
        reasons.append(
            f"the job does not keep up: the median latency grew by {growth.grown_us / 1000:,.0f} ms "
            f"in {growth.duration_us / 1e6:.1f} s; lower the rate"
        )
    p99_ms_max = plan.workload.p99_ms_max
    if p99_ms_max is not None and latencies.end_to_end.supports(99):
        p99_ms = latencies.end_to_end.percentile(99) / 1000
        if p99_ms > p99_ms_max:
            reasons.append(f"p99 is {p99_ms:.1f} ms, the workload allows {p99_ms_max:g} ms")
    return reasons


def _achieved_rate_per_s(observed: Observed) -> float | None:
    """Messages over the time from the first one's intended send to the receipt of the last alert."""
    alerts = observed.alerts
    if alerts is None or not len(alerts) or not observed.sent.messages_sent:
        return None
    seconds = (int(alerts.received_us.max()) - observed.starts_unix_ns["measured"] // 1000) / 1e6
    return observed.sent.messages_sent / seconds


def _cpu_us_per_message(observed: Observed) -> float | None:
    """CPU time of the job over its messages, both while the measured load was sent.

    The live counts are up to a second old: None if they saw too little of the load for that not to matter. None, too,
    if a replica's process was lost, and with it what it had used.
    """
    if observed.job_restarts:
        return None
    before, after = observed.job_before, observed.job_after
    messages = after.messages_processed - before.messages_processed
    return (after.cpu_us - before.cpu_us) / messages if messages > 0.8 * observed.sent.messages_sent else None


def _late_frames(plan: RunPlan, frame_delay: HdrCounts) -> int:
    bucket = int(bucket_indices(np.array([round(plan.workload.late_ms * 1000)]))[0])
    return int(frame_delay.counts[bucket + 1 :].sum())


def _decoded(encoded: bytes) -> HdrCounts:
    return HdrCounts.decode(encoded) if encoded else HdrCounts()


def _settings(plan: RunPlan) -> Mapping[str, object]:
    workload = plan.workload
    of_market = {
        "changing_symbols": workload.changing_symbols,
        "rejected_share": workload.rejected_share,
        "probes_per_s": workload.probes_per_s,
    }
    return {
        **plan.origin,
        "load": workload.profile.to_mapping(),
        "symbols": workload.symbols,
        **(of_market if plan.origin.get("source") == "market" else {}),
        "partitions": workload.partitions,
        "frame_messages": workload.frame_messages,
        "linger_ms": workload.linger_ms,
        "batch_s": workload.batch_s,
        "replicas": workload.replicas,
        "shuffle_partitions": workload.shuffle_partitions,
        "warm_up_batches": workload.warm_up_batches,
        "warm_up_s": workload.warm_up_s,
        "settle_s": workload.settle_s,
    }
