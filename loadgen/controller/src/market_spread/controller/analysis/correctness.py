"""Whether a run is correct: every alert as the oracle says, and no message lost or made up on the way."""

from market_spread.common.errors import RunVoidError
from market_spread.controller.analysis.evidence import Assessment, Criterion, Evidence, at_most
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.clients.watch import Silence
from market_spread.loadgen.oracle.decisions import DecisionJudgement


def correctness(observed: Observed, outage: Silence | None = None) -> Assessment:
    """Every alert as the oracle says, and no message lost or made up. outage: what may have ended the job."""
    evidence: list[Evidence] = []
    if observed.error is not None and not isinstance(observed.error, RunVoidError):
        meanwhile = f"; the {outage.component} stood still meanwhile" if outage else ""
        holds = None if outage else False
        evidence.append(Evidence(Criterion.JOB_FAILED, holds, f"{observed.error}{_when(observed)}{meanwhile}"))
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
    if observed.decisions is not None:
        evidence += _decisions(observed.decisions)
    received = observed.received
    invalid = received.invalid_records
    evidence += [
        _unreadable(received.alerts_unreadable, received.decisions_unreadable),
        at_most(Criterion.MALFORMED, invalid, 0, unit="messages", text=f"{invalid or 'no'} messages were malformed"),
        _conserved(observed),
    ]
    return Assessment(tuple(evidence), known=observed.judgement is not None)


def _when(observed: Observed) -> str:
    """At which step, and during the load when, so that it can be found in the log and on the page."""
    if not observed.failed_step:
        return ""
    into_s = (observed.measured_until_unix_ns - observed.starts_unix_ns.get("measured", 0)) / 1e9
    when = f", {into_s:.1f} s into the load" if observed.failed_step == "measuring" else ""
    return f" (step: {observed.failed_step}{when})"


def conservation(observed: Observed) -> dict[str, int]:
    """Messages of all phases: sent = processed + invalid + in flight."""
    sent = observed.sent_before + observed.sent.messages_sent
    invalid = observed.received.invalid_records
    processed = max(0, observed.job.messages_committed - invalid)
    return {"sent": sent, "processed": processed, "invalid": invalid, "in_flight": sent - processed - invalid}


def _unreadable(alerts: int, decisions: int) -> Evidence:
    """Whether the job wrote nothing else than alerts and decisions to their topics."""
    found = {"alert": alerts, "decision": decisions}
    said = " and ".join(f"{count:,} records were no {what}" for what, count in found.items() if count)
    text = said or "every record of the job was an alert or a decision"
    return at_most(Criterion.ALERTS_UNREADABLE, alerts + decisions, 0, unit="records", text=text)


def _decisions(found: DecisionJudgement) -> list[Evidence]:
    """Whether every order has a decision, and each is right: apart, as the rig may have lost the missing ones."""
    duplicated = 0 if found.duplicates_allowed else found.duplicated
    counts = {"unknown": found.unknown, "duplicated": duplicated, "wrong": found.wrong, "stale": found.stale}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    text = f"of the decisions on {found.orders:,} orders {said or 'all that came are right'}"
    missing = f"{found.missing or 'no'} of {found.orders:,} orders have no decision"
    return [
        at_most(Criterion.DECISIONS_MISSING, found.missing, 0, unit="decisions", text=missing),
        at_most(Criterion.DECISIONS, sum(counts.values()), 0, unit="decisions", text=text),
    ]


def _conserved(observed: Observed) -> Evidence:
    """A restart counts from its checkpoint, so then only the offsets tell, and the drain has awaited those."""
    sent = observed.sent_before + observed.sent.messages_sent
    committed = observed.job.messages_committed
    if not observed.drained or observed.restarts:
        return Evidence(Criterion.CONSERVATION, None, "the job did not drain, or was started again")
    text = f"the job processed {committed} messages of the {sent} that were sent"
    return Evidence(Criterion.CONSERVATION, committed == sent, text, sent - committed, 0, "messages")


def lost(observed: Observed) -> int | None:
    """Messages not taken by the broker or not processed by the job, and missing alerts; None if that is not known."""
    if observed.judgement is None or not observed.drained:
        return None
    in_flight = 0 if observed.restarts else max(0, conservation(observed)["in_flight"])
    return observed.sent.messages_failed + observed.judgement.missing + in_flight
