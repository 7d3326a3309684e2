"""The result of a run: what was observed, judged by everything that there is to judge it by."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts, latency_summary_ns
from market_spread.common.load.schedule import Constant
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.correctness import conservation, correctness, lost
from market_spread.controller.analysis.cpu import cpu_per_message
from market_spread.controller.analysis.evidence import Assessment, Criterion, Evidence, Verdicts, conclude
from market_spread.controller.analysis.keys import by_heat, parts_of
from market_spread.controller.analysis.latency import (
    STAGES,
    Growth,
    LatencyHistograms,
    find_boundaries,
    judged_alerts,
    latencies_of,
    meets,
    received_again_us,
    reordered,
    stages_us,
)
from market_spread.controller.analysis.objectives import Achieved, assess
from market_spread.controller.analysis.observed import Observed, batches_of, decisions_of, replays_of
from market_spread.controller.analysis.result import LatencyNs, Result
from market_spread.controller.analysis.stalls import RigTimes, Stall, find_stalls, longest_pause_us, outage_of
from market_spread.controller.analysis.stamps import stamps
from market_spread.controller.analysis.steadiness import Steadiness, Unsteady, medians_by_second, steadiness
from market_spread.controller.analysis.validity import Backlog, Seen, backlog_of, late_frames, validity
from market_spread.controller.clients.watch import Silence
from market_spread.controller.host.facts import this_machine
from market_spread.controller.plan.objectives import PERCENTILES
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.state_partitions import state_partition_of
from market_spread.controller.plan.workload import WORKLOAD, run_limits
from market_spread.controller.statistics.intervals import PercentileEstimate, percentiles_with_intervals
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.decisions import FAULTS as DECISION_FAULTS

# A standstill between two batches leaves messages of about a second, which are worked off later.
_BACKLOG_S_MAX = 1.0

_PERCENTILES = tuple(name for name in PERCENTILES if name != "max")
# What a result calls these keys of a workload.
_SETTINGS = {
    "market.rejected_orders": "rejected_share",
    "frames.messages": "frame_messages",
    "warm_up.batches": "warm_up_batches",
    "warm_up.duration_s": "warm_up_s",
}
# Counts of the sender, of the receiver and of the oracle's judgement that a result has.
_SENT = ("messages_sent", "quotes_sent", "orders_sent", "frames_sent", "messages_failed")
_RECEIVED = ("alerts_duplicated", "alerts_disagreeing", "invalid_records")
_JUDGED = ("expected", "missing", "unexpected", "wrong", "undecided")
_NO_LATENCY: LatencyNs = latency_summary_ns(HdrCounts())


def judged_from_unix_ns(plan: RunPlan, observed: Observed) -> int:
    """From when on latencies count: where the measured load has settled; before its begin there is nothing to count."""
    return observed.starts_unix_ns.get("measured", 0) + round(plan.workload.warm_up.settle_s * 1e9)


def result_of(
    plan: RunPlan,
    observed: Observed,
    run_id: str,
    *,
    seen: Seen | None = None,
    manifest_sha256: str | None = None,
    steps: Sequence[Mapping[str, object]] = (),
    resumed: int = 0,
    self_test: Mapping[str, object] | None = None,
) -> Result:
    """The result of a run, as far as it came. seen: what was captured of it; self_test: of its machine's rig."""
    workload = plan.workload
    settle_us = judged_from_unix_ns(plan, observed) // 1000
    batches = batches_of(observed.job, workload.job.batch_s)
    timed = observed.timed_alerts
    latencies = latencies_of(timed, batches, from_us=settle_us) if timed is not None else None
    judged = judged_alerts(timed, from_us=settle_us) if timed is not None else None
    steady = Steadiness(unknown="there are no alerts")
    if judged is not None and len(judged):
        steady = steadiness(*medians_by_second(judged.intended_us, judged.received_us - judged.intended_us))
    cpu = cpu_per_message(observed.looks)
    backlog = backlog_of(seen, from_s=settle_us / 1e6) if seen else Backlog()
    stalls = _stalls(plan, observed)
    samples = _samples(plan, judged, latencies) | _decision_samples(plan, observed)
    estimates = {path: percentiles_with_intervals(*each, _PERCENTILES) for path, each in samples.items()}
    clusters = {path: {name: each.clusters for name, each in of.items()} for path, of in estimates.items()}
    latency_ns = latency_summary_ns(latencies.end_to_end) if latencies else _NO_LATENCY
    rate_per_s, rests_on = _achieved_rate_per_s(observed), clusters.get("latency_ns", {})
    achieved = Achieved(latency_ns, plan.offered_rate_per_s, rate_per_s, lost(observed), rests_on)
    asked = assess(workload.objectives, achieved)
    outage = _outage(plan, observed)
    stamped: tuple[Evidence, ...] = ()
    paced: list[Evidence] = []
    if judged is not None and latencies is not None:
        stamped = stamps(observed, judged, workload.void.clock_ms, seen.hosts if seen else 0)
        # What stood still is behind afterwards: the cause comes first.
        paced = [_stalled(plan, observed, stalls), _lag_growing(plan, observed, latencies.growth, steady, backlog)]
    verdicts = Verdicts(
        correct=correctness(observed, outage).with_evidence(*stamped[:1]),
        valid=validity(plan, observed, judged, steady, stalls, outage, seen).with_evidence(*stamped[1:]),
        objectives=Assessment((*paced, *asked), known=all(each.holds is not None for each in asked)),
    )
    conclusion = conclude(verdicts)
    sent, judgement = observed.sent, observed.judgement
    judged_counts: dict[str, Any] = {f"alerts_{count}": getattr(judgement, count, None) for count in _JUDGED}
    found = judgement or observed.partly
    processed = max(0, observed.job.messages_processed - observed.sent_before)
    frame_delay = HdrCounts.of_status(sent.frame_delay_histogram)
    pause_us = None if judged is None or latencies is None else longest_pause_us(judged, latencies.boundaries)
    durations_ns = [batch.duration_ns for batch in batches if batch.start_unix_ns // 1000 >= settle_us]
    gaps_ns = [boundary.gap_us * 1000 for boundary in latencies.boundaries] if latencies else []
    decision_faults = observed.decisions.sentences if observed.decisions else {}
    return Result(
        run_id=run_id,
        workload=workload.name,
        **asdict(conclusion),
        faults={
            **(found.sentences if found else {}),
            **{f"decision {kind}": sentences for kind, sentences in decision_faults.items() if sentences},
        },
        started=observed.started.isoformat(timespec="seconds"),
        duration_s=plan.duration_s,
        mode=workload.job.mode,
        **{count: getattr(sent, count) for count in _SENT},
        messages_processed=processed,
        **judged_counts,
        alerts_received=observed.received.alerts,
        **{count: getattr(observed.received, count) for count in _RECEIVED},
        offered_rate_per_s=plan.offered_rate_per_s,
        achieved_rate_per_s=achieved.achieved_rate_per_s,
        latency_ns=latency_ns,
        latency_samples=latencies.end_to_end.count if latencies else 0,
        latency_between_boundaries_ns=latency_summary_ns(latencies.steady) if latencies else _NO_LATENCY,
        service_time_ns=latency_summary_ns(latencies.service) if latencies else _NO_LATENCY,
        stages_ns={name: latency_summary_ns(latencies.stages[name]) if latencies else _NO_LATENCY for name in STAGES},
        send_lag_ns=latency_summary_ns(HdrCounts.of_status(sent.send_lag_histogram)),
        frame_delay_ns=latency_summary_ns(frame_delay),
        frames_late=late_frames(plan, frame_delay),
        boundaries=len(gaps_ns),
        boundary_gap_ns_median=int(np.median(gaps_ns)) if gaps_ns else None,
        boundary_gap_ns_max=max(gaps_ns, default=None),
        batch_duration_ns_median=int(np.median(durations_ns)) if durations_ns else None,
        batch_duration_ns_max=max(durations_ns, default=None),
        negative_latencies=latencies.end_to_end.negative if latencies else 0,
        job_restarts=observed.restarts,
        cpu_us_per_message=cpu.whole_us,
        broker_cpu_us_per_message=cpu.broker_us,
        stolen_cpu_share=observed.stolen_share,
        time_to_first_order_s=observed.time_to_first_order_s,
        machine=this_machine(),
        settings=_settings(plan),
        verdicts=verdicts.to_mapping(),
        conservation=conservation(observed),
        backlog=asdict(backlog),
        objectives=workload.objectives.to_mapping(),
        messages_lost=achieved.lost,
        **_of_decisions(observed),
        stalls=len(stalls),
        cpu_us_per_message_second_half=cpu.second_half_us,
        latency_intervals={path: known for path, of in estimates.items() if (known := _intervals(of))},
        latency_clusters=clusters,
        acknowledge_ns=latency_summary_ns(HdrCounts.of_status(sent.acknowledge_histogram)),
        append_ns=latency_summary_ns(HdrCounts.of_status(observed.received.append_histogram)),
        fetch_ns=latency_summary_ns(HdrCounts.of_status(observed.received.fetch_histogram)),
        latency_by_key_ns=_summaries(samples, "latency_by_key_ns."),
        latency_by_state_partition_ns=_summaries(samples, "latency_by_state_partition_ns."),
        decision_latency_by_key_ns=_summaries(samples, "decision_latency_by_key_ns."),
        stall_ns_max=max((stall.duration_us * 1000 for stall in stalls), default=None),
        manifest_sha256=manifest_sha256,
        steps=tuple(steps),
        resumed=resumed,
        self_test=self_test,
        alerts_reordered=reordered(observed.alerts) if observed.alerts is not None else 0,
        alerts_belated=len(judgement.belated) if judgement else 0,
        pause_ns_max=None if pause_us is None else pause_us * 1000,
    )


def _stalls(plan: RunPlan, observed: Observed) -> tuple[Stall, ...]:
    """Those beyond the limit, from the begin of the measured load on: settling leaves out latencies alone."""
    if observed.timed_alerts is None:
        return ()
    alerts = judged_alerts(observed.timed_alerts, from_us=observed.starts_unix_ns.get("measured", 0) // 1000)
    replays = replays_of(plan, observed)
    return find_stalls(
        alerts,
        find_boundaries(alerts.emitted_us, batches_of(observed.job, plan.workload.job.batch_s)),
        parts=parts_of(plan, alerts, replays),
        again_us=received_again_us(observed.timed_alerts, replays if plan.workload.job.replicas == 1 else ()),
        longer_than_us=run_limits(plan.workload).stall_us,
        rig=RigTimes(
            observed.silences,
            HdrCounts.of_status(observed.sent.send_lag_histogram),
            HdrCounts.of_status(observed.received.fetch_histogram),
        ),
    )


def _outage(plan: RunPlan, observed: Observed) -> Silence | None:
    """What of the rig stood still when the job failed in the measured load or after it."""
    begin_ns = observed.starts_unix_ns.get("measured")
    if observed.error is None or begin_ns is None:
        return None
    return outage_of(
        observed.silences,
        begin_us=(observed.measured_until_unix_ns if observed.failed_step == "draining" else begin_ns) // 1000,
        failed_us=observed.failed_unix_ns // 1000,
        longer_than_us=run_limits(plan.workload).stall_us,
    )


def _samples(
    plan: RunPlan, judged: Alerts | None, latencies: LatencyHistograms | None
) -> dict[str, tuple[Int64s, Int64s]]:
    """Of each latency of the result, by its path there, when the orders were to be sent and how long it was."""
    if judged is None or latencies is None:
        return {}
    partitions = state_partition_of(judged.symbol, plan.workload)
    latency_us = judged.received_us - judged.intended_us
    which = {
        "latency_between_boundaries_ns": ~meets(judged, latencies.boundaries),
        **{f"latency_by_key_ns.{heat}": of_heat for heat, of_heat in by_heat(plan, judged.symbol).items()},
        **{f"latency_by_state_partition_ns.{number}": partitions == number for number in np.unique(partitions)},
    }
    values_us = {
        "latency_ns": latency_us,
        "service_time_ns": judged.received_us - judged.sent_us,
        **{f"stages_ns.{stage}": stage_us for stage, stage_us in stages_us(judged).items()},
    }
    return {
        **{path: (judged.intended_us, each_us) for path, each_us in values_us.items()},
        **{path: (judged.intended_us[of], latency_us[of]) for path, of in which.items()},
    }


def _decision_samples(plan: RunPlan, observed: Observed) -> dict[str, tuple[Int64s, Int64s]]:
    """The same of all decisions; as the receiver's histogram has them, from the begin of the load on."""
    if observed.decisions is None:
        return {}
    decisions = decisions_of(observed)
    firsts = decisions[np.unique(decisions.order_id, return_index=True)[1]]
    due_us, latency_us = firsts.intended_us, firsts.received_us - firsts.intended_us
    of_heat = by_heat(plan, firsts.symbol).items()
    return {
        "decision_latency_ns": (due_us, latency_us),
        **{f"decision_latency_by_key_ns.{heat}": (due_us[of], latency_us[of]) for heat, of in of_heat},
    }


def _summaries(samples: Mapping[str, tuple[Int64s, Int64s]], path: str) -> dict[str, LatencyNs]:
    """Of the samples whose paths begin so, by what stands after it."""
    return {
        each.removeprefix(path): latency_summary_ns(HdrCounts(latency_us))
        for each, (_, latency_us) in samples.items()
        if each.startswith(path)
    }


def _stalled(plan: RunPlan, observed: Observed, stalls: Sequence[Stall]) -> Evidence:
    """Whether the job had the output stand still; what the rig explains is the rig's."""
    limit_ms = run_limits(plan.workload).stall_us / 1000
    own = [stall for stall in stalls if stall.of_rig is None]
    longest = max(own, key=lambda stall: stall.duration_us, default=None)
    if longest is None:
        text = f"the job had the output stand still for no longer than {limit_ms:g} ms"
        return Evidence(Criterion.STALLED, True, text, None, limit_ms, "ms")
    at_s = longest.begin_us / 1e6 - observed.starts_unix_ns["measured"] / 1e9
    stage, share = max(longest.stage_shares.items(), key=lambda each: each[1])
    who = longest.part or "the job"
    text = (
        f"{who} stood still for {longest.duration_us / 1e6:.1f} s, from {at_s:.1f} s of the load on, "
        f"{'while the others went on, ' if longest.part else ''}"
        f"{'at a batch boundary' if longest.at_boundary else 'in the middle of a batch'}; {share:.0%} of the time "
        f"of the orders that waited went to {stage.replace('_', ' ')}; at most {limit_ms / 1000:g} s is allowed"
    )
    if len(own) > 1:
        text += f"; there were {len(own)} such times"
    return Evidence(Criterion.STALLED, False, text, longest.duration_us / 1000, limit_ms, "ms")


def _lag_growing(plan: RunPlan, observed: Observed, growth: Growth, steady: Steadiness, backlog: Backlog) -> Evidence:
    """Whether the job keeps up: neither the median latency nor the backlog grows over the load."""
    criterion, advice = Criterion.LAG_GROWING, "lower the rate"
    if (why := growth.not_evaluated) or not isinstance(plan.workload.load, Constant):
        return Evidence(criterion, None, f"not evaluated: {why or 'the load is not constant'}")
    if growth.is_queue:
        grown = f"the median latency grew by {growth.grown_us / 1000:,.0f} ms in {growth.duration_us / 1e6:.1f} s"
        text = f"the job does not keep up: {grown}; {advice}"
        return Evidence(criterion, False, text, growth.grown_us / 1000, unit="ms")
    slower = steady.of_kind(Unsteady.SLOWER_AT_END)
    if slower is not None and slower.share > plan.workload.limits.rise_share:
        from_s = slower.begin_s - observed.starts_unix_ns["measured"] / 1e9
        text = (
            f"the job does not keep up: from {from_s:.0f} s of the load on the median latency was "
            f"{slower.size / 1000:,.1f} ms higher, {slower.share:.0%} of the run's; {advice}"
        )
        return Evidence(criterion, False, text, slower.size / 1000, unit="ms")
    # Even by the low end of the slope's interval it grows by more than what a standstill between two batches leaves.
    # A process of the job that was started again counts from its checkpoint, so then the counts do not tell.
    low_per_s = None if observed.restarts else backlog.slope_per_s_low
    if low_per_s is not None and low_per_s * plan.duration_s > _BACKLOG_S_MAX * plan.offered_rate_per_s:
        text = f"the job does not keep up: the backlog grows by {backlog.slope_per_s:,.0f} messages a second; {advice}"
        return Evidence(criterion, False, text, backlog.slope_per_s, unit="messages/s")
    text = f"the trend of the median latency is {growth.grown_us / 1000:+,.0f} ms over the load"
    return Evidence(criterion, True, text, growth.grown_us / 1000, unit="ms")


def _of_decisions(observed: Observed) -> dict[str, Any]:
    """What became of the orders' decisions, where all of them were asked for."""
    found = observed.decisions
    if found is None:
        return {}
    return {
        "orders_decided": found.decided,
        "orders_accepted": found.accepted,
        **{f"decisions_{kind}": getattr(found, kind) for kind in DECISION_FAULTS},
        "decision_latency_ns": latency_summary_ns(HdrCounts.of_status(observed.received.decision_latency_histogram)),
    }


def _achieved_rate_per_s(observed: Observed) -> float | None:
    """Messages over the time from the first one's intended send to the receipt of the last alert."""
    alerts = observed.alerts
    if alerts is None or not len(alerts) or not observed.sent.messages_sent:
        return None
    seconds = (int(alerts.received_us.max()) - observed.starts_unix_ns["measured"] // 1000) / 1e6
    return observed.sent.messages_sent / seconds


def _intervals(estimates: Mapping[str, PercentileEstimate]) -> dict[str, dict[str, int]]:
    """By percentile the 95% intervals that there are."""
    found = [(name, each.low_ns, each.high_ns) for name, each in estimates.items()]
    return {name: {"low_ns": low, "high_ns": high} for name, low, high in found if low is not None and high is not None}


def _settings(plan: RunPlan) -> Mapping[str, object]:
    """Every key of the workload that says what is offered and to which job, without its part; four keep older names."""
    document, is_market = WORKLOAD.to_mapping(plan.workload), plan.origin.get("source") == "market"
    settings = {"load": document["load"], "decisions": document["decisions"]}
    for part in ("market", "frames", "job", "warm_up"):
        settings |= {_SETTINGS.get(f"{part}.{name}", name): value for name, value in document[part].items()}
    of_market = () if is_market else ("changing_symbols", "rejected_share", "order_share", "probes_per_s")
    return {**plan.origin, **{name: value for name, value in settings.items() if name not in ("mode", *of_market)}}
