"""The result of a run: what was observed, judged by everything that there is to judge it by."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from market_spread.common.errors import RunVoidError
from market_spread.common.hdr.histogram import HdrCounts, latency_summary_ns
from market_spread.common.load.schedule import Constant
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis import latency
from market_spread.controller.analysis.causes import causes_of_run
from market_spread.controller.analysis.evidence import Achieved, Assessment, Criterion, Evidence, Verdicts, at_most
from market_spread.controller.analysis.latency import STAGES, Latencies, latencies_of, reordered, stages_us
from market_spread.controller.analysis.observed import Observed, cpu_per_message, decisions_of
from market_spread.controller.analysis.result import LatencyNs, Result
from market_spread.controller.analysis.stalls import longest_pause_us, outage_of, rig_stalled, stalled, stalls_of
from market_spread.controller.analysis.stamps import stamps
from market_spread.controller.analysis.steadiness import Unsteady
from market_spread.controller.analysis.survival import Survival, survival
from market_spread.controller.analysis.validity import Backlog, Seen, backlog_of, late_frames, validity
from market_spread.controller.clients.probe import Silence
from market_spread.controller.host.facts import this_machine
from market_spread.controller.plan.objectives import PERCENTILES
from market_spread.controller.plan.plan import RunPlan, state_partition_of, universe_of
from market_spread.controller.statistics.intervals import intervals_and_clusters
from market_spread.loadgen.columns import Bools, Texts
from market_spread.loadgen.oracle.decisions import FAULTS as DECISION_FAULTS

# A standstill between two batches leaves messages of about a second, which are worked off later.
_BACKLOG_S_MAX = 1.0

_PERCENTILES = tuple(name for name in PERCENTILES if name != "max")
# What a result calls these keys of a workload.
_SETTINGS = {
    "market.rejected_orders": "rejected_share", "frames.messages": "frame_messages",
    "warm_up.batches": "warm_up_batches", "warm_up.duration_s": "warm_up_s",
}  # fmt: skip
# Counts of the sender, of the receiver and of the oracle's judgement that a result has.
_SENT = ("messages_sent", "quotes_sent", "orders_sent", "frames_sent", "messages_failed")
_RECEIVED = ("alerts_duplicated", "alerts_disagreeing", "invalid_records")
_JUDGED = ("expected", "missing", "unexpected", "wrong", "undecided")
# Of alerts, or a system's outputs, what the judgement counts that may not be, and what is said of it.
_FAULTS = {
    "missing": "are missing", "unexpected": "are unexpected", "wrong": "are wrong",
    "duplicated": "came twice without a restart",
}  # fmt: skip
# Latencies that it has of the parts of its orders, too.
_BY_PART = ("latency_by_key_ns", "latency_by_state_partition_ns", "decision_latency_by_key_ns")
# Of latencies, by their paths there, when the orders were to be sent and how long it was.
_Samples = dict[str, tuple[Int64s, Int64s]]
_NO_LATENCY: LatencyNs = latency_summary_ns(HdrCounts())


def judged_from_unix_ns(plan: RunPlan, observed: Observed) -> int:
    """From when on latencies count: where the measured load has settled; before its begin there is nothing to count."""
    return observed.starts_unix_ns.get("measured", 0) + round(plan.workload.warm_up.settle_s * 1e9)


def result_of(
    plan: RunPlan, observed: Observed, run_id: str, *, seen: Seen | None = None, manifest_sha256: str | None = None,
    steps: Sequence[Mapping[str, object]] = (), resumed: int = 0, self_test: Mapping[str, object] | None = None,
) -> Result:  # fmt: skip
    """The result of a run, as far as it came. seen: what was captured of it; self_test: of its machine's rig."""
    workload, sent, judgement = plan.workload, observed.sent, observed.judgement
    settle_us = judged_from_unix_ns(plan, observed) // 1000
    batches, batch_s, latencies = observed.job.batches, workload.job.batch_s, None
    survived = survival_of(observed, settle_us)
    if (timed := observed.timed_alerts) is not None:
        spans = survived.until_normal_us
        latencies = latencies_of(timed, batches, batch_s=batch_s, from_us=settle_us, faults_us=spans)
    cpu_us, half_us, broker_cpu_us = cpu_per_message(observed.looks)
    backlog = backlog_of(seen, from_s=settle_us / 1e6) if seen else Backlog()
    stalls = tuple(stall for stall in stalls_of(plan, observed) if not survived.excuses(stall))
    outage = outage_of(plan, observed)
    samples = _samples(plan, observed, latencies)
    estimates = {path: intervals_and_clusters(*each, _PERCENTILES) for path, each in samples.items()}
    clusters = {path: of for path, (_, of) in estimates.items()}
    summaries_ns = {path: latency_summary_ns(HdrCounts(latency_us)) for path, (_, latency_us) in samples.items()}
    latency_ns = summaries_ns.get("latency_ns", _NO_LATENCY)
    rate_per_s = None
    if observed.alerts is not None and len(observed.alerts) and sent.messages_sent:
        # From the first message's intended send to the receipt of the last alert.
        begin_us, end_us = observed.starts_unix_ns["measured"] // 1000, int(observed.alerts.received_us.max())
        rate_per_s = sent.messages_sent / ((end_us - begin_us) / 1e6)
    path = "latency_without_faults_ns" if observed.faults else "latency_ns"  # faults have objectives of their own
    calm_ns, rests_on = summaries_ns.get(path, _NO_LATENCY), clusters.get(path, {})
    of_all: LatencyNs = {}
    if observed.decisions is not None and not observed.faults:
        due_us, latency_us = samples["decision_latency_ns"]
        of_all = latency_summary_ns(HdrCounts(latency_us[due_us >= settle_us]))
    achieved = Achieved(calm_ns, plan.offered_rate_per_s, rate_per_s, lost(observed), rests_on, of_all)
    asked = achieved.assess(workload.objectives)
    correct = correctness(observed, outage, loses=workload.faults.loses if workload.faults else 0)
    valid = validity(plan, observed, latencies, rig_stalled(plan, observed, stalls, outage), seen)
    paced: list[Evidence] = []
    if latencies is not None:
        of_job, of_others = stamps(observed, latencies.alerts, workload.void.clock_ms, seen.hosts if seen else 0)
        correct, valid = [*correct, of_job], [*valid, of_others]
        # What stood still is behind afterwards: the cause comes first.
        paced = [stalled(plan, observed, stalls), _lag_growing(plan, observed, latencies, samples, backlog)]
    verdicts = Verdicts(
        correct=Assessment(tuple(correct), known=judgement is not None),
        valid=Assessment(tuple(valid)),
        objectives=Assessment((*paced, *asked), known=all(each.holds is not None for each in asked)),
        survives=Assessment(survived.evidence(workload.faults, judgement, observed.words)) if workload.faults else None,
    )
    counts: dict[str, Any] = {f"alerts_{count}": getattr(judgement, count, None) for count in _JUDGED}
    counts |= {f"orders_{count}": getattr(observed.decisions, count, None) for count in ("decided", "accepted")}
    counts |= {f"decisions_{kind}": getattr(observed.decisions, kind, None) for kind in DECISION_FAULTS}
    by_part: dict[str, Any] = {
        field: {path.removeprefix(f"{field}."): of for path, of in summaries_ns.items() if path.startswith(f"{field}.")}
        for field in _BY_PART
    }
    found = judgement or observed.partly
    frame_delay = HdrCounts.of_status(sent.frame_delay_histogram)
    decision_delays = HdrCounts.of_status(observed.received.decision_latency_histogram)
    pause_us = longest_pause_us(latencies.alerts, latencies.boundaries) if latencies else None
    durations_ns = [batch.duration_ns for batch in batches if batch.start_unix_ns // 1000 >= settle_us]
    gaps_ns = [boundary.gap_us * 1000 for boundary in latencies.boundaries] if latencies else []
    causes = causes_of_run(plan, observed, latencies, seen, survived) if latencies else None
    decision_faults = observed.decisions.sentences if observed.decisions else {}
    return Result(
        run_id=run_id, workload=workload.name, mode=workload.subject, settings=_settings(plan), machine=this_machine(),
        started=observed.started.isoformat(timespec="seconds"), duration_s=plan.duration_s,
        manifest_sha256=manifest_sha256, steps=tuple(steps), resumed=resumed, self_test=self_test,
        **asdict(verdicts.conclude()),
        verdicts=verdicts.to_mapping(),
        faults={
            **(found.sentences if found else {}),
            **{f"decision {kind}": sentences for kind, sentences in decision_faults.items() if sentences},
        },
        objectives=workload.objectives.to_mapping(),
        conservation=conservation(observed), backlog=asdict(backlog), messages_lost=achieved.lost,
        **{count: getattr(sent, count) for count in _SENT},
        messages_processed=max(0, observed.job.messages_processed - observed.sent_before),
        **{count: getattr(observed.received, count) for count in _RECEIVED},
        **counts,
        alerts_received=observed.received.alerts,
        alerts_belated=len(judgement.belated) if judgement else 0,
        alerts_reordered=reordered(observed.alerts) if observed.alerts is not None else 0,
        offered_rate_per_s=plan.offered_rate_per_s, achieved_rate_per_s=achieved.achieved_rate_per_s,
        latency_ns=latency_ns, latency_sparkline_ns=latencies.sparkline_ns if latencies else (),
        latency_samples=len(latencies.alerts) if latencies else 0,
        negative_latencies=int((latencies.alerts.received_us < latencies.alerts.intended_us).sum()) if latencies else 0,
        latency_without_faults_ns=calm_ns if observed.faults else {}, planned_faults=survived.figures,
        latency_between_boundaries_ns=summaries_ns.get("latency_between_boundaries_ns", _NO_LATENCY),
        service_time_ns=summaries_ns.get("service_time_ns", _NO_LATENCY),
        stages_ns={stage: summaries_ns.get(f"stages_ns.{stage}", _NO_LATENCY) for stage in STAGES},
        **by_part,
        decision_latency_ns=latency_summary_ns(decision_delays) if observed.decisions else {},
        latency_intervals={path: of for path, (of, _) in estimates.items() if of}, latency_clusters=clusters,
        send_lag_ns=latency_summary_ns(HdrCounts.of_status(sent.send_lag_histogram)),
        frame_delay_ns=latency_summary_ns(frame_delay), frames_late=late_frames(plan, frame_delay),
        acknowledge_ns=latency_summary_ns(HdrCounts.of_status(sent.acknowledge_histogram)),
        append_ns=latency_summary_ns(HdrCounts.of_status(observed.received.append_histogram)),
        fetch_ns=latency_summary_ns(HdrCounts.of_status(observed.received.fetch_histogram)),
        boundaries=len(gaps_ns), boundary_gap_ns_max=max(gaps_ns, default=None),
        boundary_gap_ns_median=int(np.median(gaps_ns)) if gaps_ns else None,
        batch_duration_ns_max=max(durations_ns, default=None),
        batch_duration_ns_median=int(np.median(durations_ns)) if durations_ns else None,
        stalls=len(stalls), stall_ns_max=max((stall.duration_us * 1000 for stall in stalls), default=None),
        pause_ns_max=None if pause_us is None else pause_us * 1000,
        cpu_us_per_message=cpu_us, cpu_us_per_message_second_half=half_us,
        broker_cpu_us_per_message=broker_cpu_us, stolen_cpu_share=observed.stolen_share,
        job_restarts=observed.restarts, time_to_first_order_s=observed.time_to_first_order_s, causes=causes,
    )  # fmt: skip


def _samples(plan: RunPlan, observed: Observed, latencies: Latencies | None) -> _Samples:
    samples: _Samples = {}
    if latencies is not None:
        judged, due_us = latencies.alerts, latencies.alerts.intended_us
        latency_us, partitions = judged.received_us - due_us, state_partition_of(judged.symbol, plan.workload)
        samples |= {
            "latency_ns": (due_us, latency_us),
            "service_time_ns": (due_us, judged.received_us - judged.sent_us),
            **{f"stages_ns.{stage}": (due_us, stage_us) for stage, stage_us in stages_us(judged).items()},
        }
        which = {
            "latency_between_boundaries_ns": ~latencies.met,
            **({"latency_without_faults_ns": ~latencies.disturbed} if observed.faults else {}),
            **{f"latency_by_key_ns.{heat}": of_heat for heat, of_heat in _by_heat(plan, judged.symbol).items()},
            **{f"latency_by_state_partition_ns.{number}": partitions == number for number in np.unique(partitions)},
        }
        samples |= {path: (due_us[of], latency_us[of]) for path, of in which.items()}
    if observed.decisions is not None:
        # As the receiver's histogram has them, from the begin of the load on.
        decisions = decisions_of(observed)
        firsts = decisions[np.unique(decisions.order_id, return_index=True)[1]]
        due_us, latency_us = firsts.intended_us, firsts.received_us - firsts.intended_us
        samples["decision_latency_ns"] = due_us, latency_us
        for heat, of_heat in _by_heat(plan, firsts.symbol).items():
            samples[f"decision_latency_by_key_ns.{heat}"] = due_us[of_heat], latency_us[of_heat]
    return samples


def _by_heat(plan: RunPlan, symbols: Texts) -> dict[str, Bools]:
    """Which symbols are `hot` and which `cold`; a group without any is left out, of a replay both are."""
    if plan.origin.get("source") != "market":
        return {}
    is_hot = universe_of(plan.workload).is_hot(symbols)
    return {name: which for name, which in (("hot", is_hot), ("cold", ~is_hot)) if which.any()}


def _lag_growing(
    plan: RunPlan, observed: Observed, latencies: Latencies, samples: _Samples, backlog: Backlog
) -> Evidence:
    """Whether the job keeps up: neither the median latency, that of all decisions either, nor the backlog grows."""
    criterion, growths = Criterion.LAG_GROWING, {"": latencies.growth}
    if (of_all := samples.get("decision_latency_ns")) and not observed.faults:
        growths[" of all decisions"] = latency.latency_growth(*of_all, latencies.boundaries)
    whose, growth = max(growths.items(), key=lambda each: (not each[1].not_evaluated, each[1].is_queue))
    if (why := growth.not_evaluated) or not isinstance(plan.workload.load, Constant):
        return Evidence(criterion, None, f"not evaluated: {why or 'the load is not constant'}")
    slower = latencies.level.of_kind(Unsteady.SLOWER_AT_END)
    # Even by the low end of the slope's interval it grows by more than what a standstill between two batches leaves.
    # A process of the job that was started again counts from its checkpoint, so then the counts do not tell.
    low_per_s = None if observed.restarts else backlog.slope_per_s_low
    found, unit = growth.grown_us / 1000, "ms"
    if growth.is_queue:
        text = f"the median latency{whose} grew by {found:,.0f} ms in {growth.duration_us / 1e6:.1f} s"
    elif slower is not None and slower.share > plan.workload.limits.rise_share:
        found, from_s = slower.size / 1000, slower.begin_s - observed.starts_unix_ns["measured"] / 1e9
        text = (
            f"from {from_s:.0f} s of the load on the median latency was {found:,.1f} ms higher, {slower.share:.0%} of "
            "the run's"
        )
    elif low_per_s is not None and low_per_s * plan.duration_s > _BACKLOG_S_MAX * plan.offered_rate_per_s:
        found, unit = backlog.slope_per_s or 0.0, "messages/s"
        text = f"the backlog grows by {found:,.0f} messages a second"
    else:
        text = f"the trend of the median latency{whose} is {found:+,.0f} ms over the load"
        return Evidence(criterion, True, text, found, unit=unit)
    return Evidence(criterion, False, f"the job does not keep up: {text}; lower the rate", found, unit=unit)


def _settings(plan: RunPlan) -> Mapping[str, object]:
    """Every key of the workload that says what is offered and to which job, without its part; four keep older names."""
    document, is_market = plan.workload.to_mapping(), plan.origin.get("source") == "market"
    whole = ("load", "decisions", "input", "output", "check", "faults")
    settings = {name: document[name] for name in whole if name in document}
    for part in ("market", "frames", "job", "warm_up"):
        settings |= {_SETTINGS.get(f"{part}.{name}", name): value for name, value in document.get(part, {}).items()}
    of_market = () if is_market else ("changing_symbols", "rejected_share", "order_share", "probes_per_s")
    return {**plan.origin, **{name: value for name, value in settings.items() if name not in ("mode", *of_market)}}


def survival_of(observed: Observed, from_us: int) -> Survival:
    """What became of the planned faults. from_us: from when on latencies count, Unix microseconds."""
    if (timed := observed.timed_alerts) is None or not observed.faults:
        return Survival()
    lost_us = np.array(observed.judgement.missing_us if observed.judgement else (), np.int64)
    begin_us, end_us = observed.starts_unix_ns["measured"] // 1000, observed.measured_until_unix_ns // 1000
    return survival(observed.faults, timed, begin_us=begin_us, from_us=from_us, end_us=end_us, lost_us=lost_us)


def correctness(observed: Observed, outage: Silence | None, *, loses: int = 0) -> list[Evidence]:
    """Every alert as the oracle says. outage: what may have ended the job; loses: how many planned faults may lose."""
    evidence: list[Evidence] = []
    answers = observed.words.answers
    if observed.error is not None and not isinstance(observed.error, RunVoidError):
        text = str(observed.error)
        if step := observed.failed_step:
            # During the load when, so that it can be found in the log and on the page.
            into_s = (observed.measured_until_unix_ns - observed.starts_unix_ns.get("measured", 0)) / 1e9
            text += f" (step: {step}, {into_s:.1f} s into the load)" if step == "measuring" else f" (step: {step})"
        if outage:
            text += f"; the {outage.component} stood still meanwhile"
        evidence.append(Evidence(Criterion.JOB_FAILED, None if outage else False, text))
    judgement = observed.judgement or observed.partly
    if judgement is not None:
        for kind, said in _FAULTS.items():
            if kind != "missing" or observed.judgement is not None:
                count, criterion = getattr(judgement, kind), Criterion(f"alerts_{kind}")
                limit, text = loses if kind == "missing" else 0, f"{count or 'no'} {answers} {said}"
                evidence.append(at_most(criterion, count, limit, unit=answers, text=text))
    if (found := observed.decisions) is not None:
        duplicated = 0 if found.duplicates_allowed else found.duplicated
        faults = {"unknown": found.unknown, "duplicated": duplicated, "wrong": found.wrong, "stale": found.stale}
        said = ", ".join(f"{count} {name}" for name, count in faults.items() if count) or "all that came are right"
        text = f"of the decisions on {found.orders:,} orders {said}"
        missing = f"{found.missing or 'no'} of {found.orders:,} orders have no decision"
        evidence += [
            # Apart, as the rig may have lost the missing ones.
            at_most(Criterion.DECISIONS_MISSING, found.missing, 0, unit="decisions", text=missing),
            at_most(Criterion.DECISIONS, sum(faults.values()), 0, unit="decisions", text=text),
        ]
    invalid = observed.received.invalid_records
    unreadable = {"alert": observed.received.alerts_unreadable, "decision": observed.received.decisions_unreadable}
    others = " and ".join(f"{count:,} records were no {what}" for what, count in unreadable.items() if count)
    others = others or "every record of the job was an alert or a decision"
    if not observed.words.are_of_market:
        count = observed.received.alerts_unreadable
        others = f"{count:,} {answers} name no message" if count else f"all {answers} name a message"
        others += f"; the first that cannot be read: {why}" if (why := observed.unreadable_because) else ""
    # A restart counts from its checkpoint, so then only the offsets tell, and the drain has awaited those.
    conserved = Evidence(Criterion.CONSERVATION, None, "the job did not drain, or was started again, or is away")
    if observed.drained and observed.is_all_counted:
        sent, committed = conservation(observed)["sent"], observed.job.messages_committed
        text = f"the job processed {committed} messages of the {sent} that were sent"
        conserved = Evidence(Criterion.CONSERVATION, committed == sent, text, sent - committed, 0, "messages")
    return [
        *evidence,
        at_most(Criterion.ALERTS_UNREADABLE, sum(unreadable.values()), 0, unit="records", text=others),
        at_most(Criterion.MALFORMED, invalid, 0, unit="messages", text=f"{invalid or 'no'} messages were malformed"),
        conserved,
    ]


def conservation(observed: Observed) -> dict[str, int]:
    """Messages of all phases: sent = processed + invalid + in flight."""
    sent = observed.sent_before + observed.sent.messages_sent
    invalid = observed.received.invalid_records
    processed = max(0, observed.job.messages_committed - invalid)
    return {"sent": sent, "processed": processed, "invalid": invalid, "in_flight": sent - processed - invalid}


def lost(observed: Observed) -> int | None:
    """Messages not taken by the broker or not processed by the job, and missing alerts; None if that is not known."""
    if observed.judgement is None or not observed.drained:
        return None
    in_flight = max(0, conservation(observed)["in_flight"]) if observed.is_all_counted else 0
    return observed.sent.messages_failed + observed.judgement.missing + in_flight
