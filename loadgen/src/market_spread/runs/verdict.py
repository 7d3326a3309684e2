"""The verdict of a run: passed, failed, or void because something else than the job spoiled it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from market_spread.common.histogram import HdrCounts, latency_summary_ns
from market_spread.runs.believing import LAG_GROWING, Backlog, Seen, backlog_of, late_frames, validity
from market_spread.runs.correctness import conservation, correctness, objectives
from market_spread.runs.evidence import Verdicts, sentences
from market_spread.runs.latencies import STAGES, latencies_of, reordered
from market_spread.runs.machine import this_machine
from market_spread.runs.plan import RunPlan
from market_spread.runs.result import LatencyNs, Result, Verdict
from market_spread.runs.run import Observed, batches_of

_NO_LATENCY: LatencyNs = latency_summary_ns(HdrCounts())


def judged_from_unix_ns(plan: RunPlan, observed: Observed) -> int:
    """From when on latencies count: where the measured load has settled; before its begin there is nothing to count."""
    return observed.starts_unix_ns.get("measured", 0) + round(plan.workload.settle_s * 1e9)


def result_of(
    plan: RunPlan,
    observed: Observed,
    run_id: str,
    *,
    seen: Seen | None = None,
    manifest_sha256: str | None = None,
    steps: Sequence[Mapping[str, object]] = (),
    resumed: int = 0,
) -> Result:
    """The result of a run, as far as it came. seen: what was captured of it, if it was."""
    workload = plan.workload
    settle_us = judged_from_unix_ns(plan, observed) // 1000
    batches = batches_of(observed.job, workload.batch_s)
    latencies = latencies_of(observed.alerts, batches, from_us=settle_us) if observed.alerts is not None else None
    achieved_per_s = _achieved_rate_per_s(observed)
    verdicts = Verdicts(
        correctness(observed),
        validity(plan, observed, latencies.growth if latencies else None, seen),
        objectives(plan, observed, latencies, achieved_per_s),
    )
    verdict, reasons = conclusion(verdicts)
    sent, judgement = observed.sent, observed.judgement
    processed = max(0, observed.job.messages_processed - observed.sent_before)
    frame_delay, send_lag = _decoded(sent.frame_delay_histogram), _decoded(sent.send_lag_histogram)
    durations_ns = [batch.duration_ns for batch in batches if batch.start_unix_ns // 1000 >= settle_us]
    gaps_ns = [boundary.gap_us * 1000 for boundary in latencies.boundaries] if latencies else []
    return Result(
        run_id=run_id,
        workload=workload.name,
        verdict=verdict,
        reasons=reasons,
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
        achieved_rate_per_s=achieved_per_s,
        latency_ns=latency_summary_ns(latencies.end_to_end) if latencies else _NO_LATENCY,
        latency_samples=latencies.end_to_end.count if latencies else 0,
        latency_between_boundaries_ns=latency_summary_ns(latencies.steady) if latencies else _NO_LATENCY,
        service_time_ns=latency_summary_ns(latencies.service) if latencies else _NO_LATENCY,
        stages_ns={name: latency_summary_ns(latencies.stages[name]) if latencies else _NO_LATENCY for name in STAGES},
        send_lag_ns=latency_summary_ns(send_lag),
        frame_delay_ns=latency_summary_ns(frame_delay),
        frames_sent=sent.frames_sent,
        frames_late=late_frames(plan, frame_delay),
        messages_failed=sent.messages_failed,
        boundaries=len(gaps_ns),
        boundary_gap_ns_median=int(np.median(gaps_ns)) if gaps_ns else None,
        boundary_gap_ns_max=max(gaps_ns, default=None),
        batch_duration_ns_median=int(np.median(durations_ns)) if durations_ns else None,
        batch_duration_ns_max=max(durations_ns, default=None),
        negative_latencies=latencies.end_to_end.negative if latencies else 0,
        job_restarts=observed.restarts,
        cpu_us_per_message=_cpu_us_per_message(observed),
        broker_cpu_us_per_message=_broker_cpu_us_per_message(observed),
        stolen_cpu_share=observed.stolen_share,
        time_to_first_order_s=observed.time_to_first_order_s,
        machine=asdict(this_machine()),
        settings=_settings(plan),
        verdicts=verdicts.to_mapping(),
        conservation=conservation(observed),
        backlog=asdict(backlog_of(seen, from_s=settle_us / 1e6) if seen else Backlog()),
        objectives=workload.slo.to_mapping(),
        manifest_sha256=manifest_sha256,
        steps=tuple(steps),
        resumed=resumed,
        alerts_reordered=reordered(observed.alerts) if observed.alerts is not None else 0,
    )


def conclusion(verdicts: Verdicts) -> tuple[Verdict, tuple[str, ...]]:
    """The run's verdict and the reasons why it is not passed.

    A lag that grows is the job's doing: such a run has failed, though its latencies are no more worth than those of a
    void one.
    """
    void = [each for each in verdicts.valid.failing if each.check != LAG_GROWING]
    lagging = [each for each in verdicts.valid.failing if each.check == LAG_GROWING]
    failed = [*verdicts.correct.failing, *lagging, *verdicts.objectives.failing]
    verdict = Verdict.VOID if void else Verdict.FAILED if failed else Verdict.PASSED
    return verdict, sentences([*void, *failed])


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
    if a process of the job was lost, and with it what it had used, or if its executors' cannot be told.
    """
    if observed.job_restarts or observed.executors_cpu_us is None:
        return None
    before, after = observed.job_before, observed.job_after
    messages = after.messages_processed - before.messages_processed
    used_us = after.cpu_us - before.cpu_us + observed.executors_cpu_us
    return used_us / messages if messages > 0.8 * observed.sent.messages_sent else None


def _broker_cpu_us_per_message(observed: Observed) -> float | None:
    if observed.broker_cpu_us is None or not observed.sent.messages_sent:
        return None
    return observed.broker_cpu_us / observed.sent.messages_sent


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
