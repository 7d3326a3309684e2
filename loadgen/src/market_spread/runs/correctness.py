"""Whether a run is correct, and whether it meets what its workload asks for."""

from market_spread.common.errors import RunVoidError
from market_spread.runs.evidence import Assessment, Evidence, at_most
from market_spread.runs.latencies import Latencies
from market_spread.runs.plan import RunPlan
from market_spread.runs.run import Observed

Conservation = dict[str, int]


def correctness(observed: Observed) -> Assessment:
    """Every alert as the oracle says, and no message lost or made up on the way."""
    evidence: list[Evidence] = []
    if observed.error is not None and not isinstance(observed.error, RunVoidError):
        step = f" (step: {observed.failed_step})" if observed.failed_step else ""
        evidence.append(Evidence("job_failed", False, f"{observed.error}{step}"))
    judgement = observed.judgement
    if judgement is not None:
        counts = {
            "alerts_missing": (judgement.missing, "alerts are missing"),
            "alerts_unexpected": (judgement.unexpected, "alerts are unexpected"),
            "alerts_wrong": (judgement.wrong, "alerts are wrong"),
            "alerts_duplicated": (
                0 if judgement.duplicates_allowed else judgement.duplicated,
                "alerts came twice without a restart",
            ),
        }
        evidence += [
            at_most(check, count, 0, unit="alerts", text=f"{count or 'no'} {what}")
            for check, (count, what) in counts.items()
        ]
    invalid = observed.received.invalid_records
    evidence.append(
        at_most("malformed", invalid, 0, unit="messages", text=f"{invalid or 'no'} messages were malformed")
    )
    evidence.append(_conserved(observed))
    return Assessment(tuple(evidence), known=judgement is not None)


def conservation(observed: Observed) -> Conservation:
    """Messages of all phases: sent = processed + invalid + in flight."""
    sent = observed.sent_before + observed.sent.messages_sent
    invalid = observed.received.invalid_records
    processed = max(0, observed.job.messages_committed - invalid)
    return {"sent": sent, "processed": processed, "invalid": invalid, "in_flight": sent - processed - invalid}


def _conserved(observed: Observed) -> Evidence:
    """A restart counts from its checkpoint, so then only the offsets tell, and the drain has awaited those."""
    sent = observed.sent_before + observed.sent.messages_sent
    committed = observed.job.messages_committed
    if not observed.drained or observed.restarts:
        return Evidence("conservation", None, "the job did not drain, or was started again")
    text = f"the job processed {committed} messages of the {sent} that were sent"
    return Evidence("conservation", committed == sent, text, sent - committed, 0, "messages")


def objectives(
    plan: RunPlan, observed: Observed, latencies: Latencies | None, achieved_per_s: float | None
) -> Assessment:
    """What `slo` and `limits.p99_ms` ask for. Without any, nothing is said."""
    slo = plan.workload.slo
    limits = dict(slo.latency_ms)
    if plan.workload.p99_ms_max is not None:
        limits["p99"] = min(limits.get("p99", plan.workload.p99_ms_max), plan.workload.p99_ms_max)
    evidence = [_percentile(name, limit, latencies) for name, limit in limits.items()]
    if slo.rate_share is not None:
        evidence.append(_rate(plan, slo.rate_share, achieved_per_s))
    if slo.loss is not None:
        evidence.append(_loss(observed, slo.loss))
    return Assessment(tuple(evidence))


def _percentile(name: str, limit_ms: float, latencies: Latencies | None) -> Evidence:
    check = f"latency_{name}"
    histogram = None if latencies is None else latencies.end_to_end
    percent = 100.0 if name == "max" else float(name[1:])
    if histogram is None or not histogram.count or (percent < 100 and not histogram.supports(percent)):
        text = f"there are too few alerts for {name}, the workload allows {limit_ms:g} ms"
        return Evidence(check, None, text, None, limit_ms, "ms")
    found_ms = (histogram.max_us if percent == 100 else histogram.percentile(percent)) / 1000
    text = f"{name} is {found_ms:.1f} ms, the workload allows {limit_ms:g} ms"
    return at_most(check, found_ms, limit_ms, unit="ms", text=text)


def _rate(plan: RunPlan, share: float, achieved_per_s: float | None) -> Evidence:
    offered = plan.offered_rate_per_s
    if achieved_per_s is None:
        return Evidence("rate", None, "no rate was achieved", None, share * offered, "messages/s")
    text = f"{achieved_per_s:,.0f} messages/s were achieved, the workload asks for {share:.1%} of {offered:,.0f}"
    return Evidence("rate", achieved_per_s >= share * offered, text, achieved_per_s, share * offered, "messages/s")


def _loss(observed: Observed, allowed: int) -> Evidence:
    if observed.judgement is None or not observed.drained:
        return Evidence("loss", None, "the run was not judged, so no loss is known", None, allowed, "messages")
    lost = observed.sent.messages_failed + observed.judgement.missing + max(0, conservation(observed)["in_flight"])
    text = f"{lost} messages and alerts were lost, the workload allows {allowed}"
    return at_most("loss", lost, allowed, unit="messages", text=text)
