"""What planned faults did to the output: when it was late, silent and as before, and whether that is survival."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.evidence import Criterion, Evidence, Words, at_most
from market_spread.controller.analysis.latency import Spans, judged_alerts, meets
from market_spread.controller.clients.probe import Silence
from market_spread.controller.plan.faults import FaultEvent, FaultKeys
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import Judgement

# By how many times the p99 before an order may be later and still be in time, and as before.
_IN_TIME, _NORMAL = 2.0, 1.5
_WINDOW_US, _STEP_US, _ORDERS_MIN = 10_000_000, 500_000, 20
_NEVER_US = 2**62


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """A planned fault, and what became of the output. Seconds; None is what was not seen to happen.

    at_s: as planned; began_s, ended_s: as it was, of the load. p99_before_s: of the orders before it that no other
    fault disturbed; None, and so the next three, if these are too few. detected_s: from its begin until an order is
    later than that. recovered_s: from its end to the first answer, within twice that, to an order that was due after
    it. normal_s: from its end to the begin of ten seconds whose p99 is within 1.5 times that, before the next fault.
    silence_s: the longest time without an answer until it has recovered. Of the orders that it met until all was
    normal: how many there were, were later than twice the p99 before, had no answer. doubled: second answers that came
    before the next fault. resets: of connections. slower_s: by how much the p50 of what was due while it lasted is
    above the one before.
    """

    text: str
    at_s: float
    began_s: float
    ended_s: float
    p99_before_s: float | None
    detected_s: float | None
    recovered_s: float | None
    normal_s: float | None
    silence_s: float
    orders: int
    late: int
    lost: int
    doubled: int
    resets: int = 0
    slower_s: float | None = None


@dataclass(frozen=True, slots=True)
class Survival:
    """The planned faults of a run, by their begin, and when each disturbed it: Unix microseconds, from begin to end."""

    figures: tuple[FaultFigures, ...] = ()
    until_recovered_us: Spans = ()
    until_normal_us: Spans = ()

    def excuses(self, still: Silence) -> bool:
        """Whether half of a standstill, or more, lies between a fault and the recovery from it."""
        shared_us = [min(still.end_us, end) - max(still.begin_us, begin) for begin, end in self.until_recovered_us]
        return 2 * max(shared_us, default=0) >= max(still.duration_us, 1)

    def evidence(self, asked: FaultKeys, judged: Judgement | None, words: Words) -> tuple[Evidence, ...]:
        """Whether the objectives of the faults are met. judged: None if the run was not."""
        missing = judged.missing if judged else None
        lost = "it was not judged" if judged is None else f"{missing or 'no'} {words.answers} are missing"
        lost += f"; the objective is {asked.loses:,}"
        recovered, limit_s, holds = None, asked.recovers_within_s, None
        worst = max(self.figures, key=lambda it: (it.recovered_s is None, it.recovered_s or 0), default=None)
        if worst is None or any(each.p99_before_s is None for each in self.figures):
            text = f"not evaluated: too few {words.asked}s came before a fault to tell what is in time"
        else:
            recovered, which = worst.recovered_s, f"the {worst.text} at {worst.began_s:.1f} s of the load"
            holds = recovered is not None and recovered <= limit_s
            text = f"after {which} no {words.asked} was answered in time again"
            text = text if recovered is None else f"the longest recovery took {recovered:.1f} s, from {which}"
        text += f"; the objective is {limit_s:g} s"
        return (
            Evidence(Criterion.RECOVERED, holds, text, recovered, limit_s, "s"),
            at_most(Criterion.LOSES, missing, asked.loses, unit=words.answers, text=lost),
        )


def survival(
    events: Sequence[FaultEvent], alerts: Alerts, *, begin_us: int, from_us: int, end_us: int, lost_us: Int64s
) -> Survival:
    """What the faults of a run did to its output.

    alerts: all on measured orders, in order of receipt. begin_us: of the load; from_us: from when on latencies count;
    end_us: when all was sent; lost_us: when the orders were due that have no answer. Unix microseconds.
    """
    firsts = judged_alerts(alerts, from_us=0)
    due_us, received_us = firsts.intended_us, firsts.received_us
    latency_us, came_us = received_us - due_us, np.sort(alerts.received_us)
    again = np.ones(len(alerts), np.bool_)
    again[np.unique(alerts.order_id, return_index=True)[1]] = False
    again_us = alerts.received_us[again]
    figures: list[FaultFigures] = []
    recovering: list[tuple[int, int]] = []
    disturbed: list[tuple[int, int]] = []
    ordered = sorted(events, key=lambda event: event.began_unix_ns)
    for event, after in zip(ordered, [*ordered[1:], None], strict=True):
        began_us, ended_us = event.began_unix_ns // 1000, event.ended_unix_ns // 1000
        next_us = max(after.began_unix_ns // 1000 if after else end_us, ended_us)
        before = (due_us >= from_us) & (received_us <= began_us) & ~meets(firsts, disturbed)
        is_known = before.sum() >= _ORDERS_MIN
        p99_us = float(np.percentile(latency_us[before], 99)) if is_known else np.inf
        in_time = latency_us <= _IN_TIME * p99_us
        recovered_us = int(received_us[in_time & (due_us >= ended_us)].min(initial=_NEVER_US))
        normal_us = _NEVER_US
        for at_us in range(ended_us, next_us - _WINDOW_US + 1, _STEP_US):
            within, lacks = ((of >= at_us) & (of < at_us + _WINDOW_US) for of in (due_us, lost_us))
            found = is_known and within.any() and not lacks.any()
            if found and np.percentile(latency_us[within], 99) <= _NORMAL * p99_us:
                normal_us = at_us
                break
        until_us, since_us = min(normal_us, next_us), disturbed[-1][1] if disturbed else 0
        met = meets(firsts, [(began_us, until_us)])
        known_us = (due_us + p99_us)[met & (latency_us > p99_us)].min(initial=_NEVER_US) if is_known else _NEVER_US
        # From the last answer before the fault to the first one in time, or to the end of the load.
        first, last = np.searchsorted(came_us, began_us), np.searchsorted(came_us, recovered_us, side="right")
        still = [] if recovered_us < _NEVER_US else [max(end_us, int(came_us.max(initial=0)))]
        silence_us = np.diff([*came_us[max(first - 1, 0) : last].tolist(), *still]).max(initial=0)
        # Of what is lost with a process some was due before: all since the last fault.
        lost = int(((lost_us >= since_us) & (lost_us < until_us)).sum())

        def seconds(us: float, since_us: int) -> float | None:
            return max(0.0, us - since_us) / 1e6 if us < _NEVER_US else None

        of = event.fault.text, event.fault.at_s, (began_us - begin_us) / 1e6, (ended_us - begin_us) / 1e6
        known = p99_us / 1e6 if is_known else None, seconds(known_us, began_us)
        back = seconds(recovered_us if is_known else _NEVER_US, ended_us), seconds(normal_us, ended_us)
        doubled = int(((again_us >= began_us) & (again_us < (next_us if after else _NEVER_US))).sum())
        counts = int(met.sum()) + lost, int((met & ~in_time).sum()), lost, doubled, event.resets
        lasting_us = latency_us[(due_us >= began_us) & (due_us < ended_us)]
        slower_us = np.median(lasting_us) - np.median(latency_us[before]) if len(lasting_us) and is_known else np.inf
        figures.append(FaultFigures(*of, *known, *back, float(silence_us) / 1e6, *counts, seconds(slower_us, 0)))
        recovering, disturbed = [*recovering, (began_us, recovered_us)], [*disturbed, (began_us, until_us)]
    return Survival(tuple(figures), tuple(recovering), tuple(disturbed))
