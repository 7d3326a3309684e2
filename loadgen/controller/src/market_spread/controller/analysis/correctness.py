"""Whether a run is correct: every alert as the oracle says, and no message lost or made up on the way."""

from market_spread.common.errors import RunVoidError
from market_spread.controller.analysis.evidence import Criterion, Evidence, at_most
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.clients.watch import Silence


def correctness(observed: Observed, outage: Silence | None) -> list[Evidence]:
    """Every alert as the oracle says, and no message lost or made up. outage: what may have ended the job."""
    evidence: list[Evidence] = []
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
        counts = {
            Criterion.ALERTS_MISSING: (judgement.missing, "alerts are missing"),
            Criterion.ALERTS_UNEXPECTED: (judgement.unexpected, "alerts are unexpected"),
            Criterion.ALERTS_WRONG: (judgement.wrong, "alerts are wrong"),
            Criterion.ALERTS_DUPLICATED: (judgement.duplicated, "alerts came twice without a restart"),
        }
        evidence += [
            at_most(criterion, count, 0, unit="alerts", text=f"{count or 'no'} {what}")
            for criterion, (count, what) in counts.items()
            if criterion is not Criterion.ALERTS_MISSING or observed.judgement is not None
        ]
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
    # A restart counts from its checkpoint, so then only the offsets tell, and the drain has awaited those.
    conserved = Evidence(Criterion.CONSERVATION, None, "the job did not drain, or was started again")
    if observed.drained and not observed.restarts:
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
    in_flight = 0 if observed.restarts else max(0, conservation(observed)["in_flight"])
    return observed.sent.messages_failed + observed.judgement.missing + in_flight
