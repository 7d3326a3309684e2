"""The oracle's judgement of a whole input at once, and whether a judgement found nothing."""

from collections.abc import Sequence

from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.loadgen.oracle.decisions import DecisionJudgement
from market_spread.loadgen.oracle.oracle import Judgement, Oracle


def judge(
    quotes: Quotes,
    orders: Orders,
    alerts: Alerts,
    *,
    delay_us: int | None = None,
    replayed: Sequence[tuple[int, int]] = (),
) -> Judgement:
    """Judge the alerts of a run by its whole input; see `Oracle`."""
    oracle = Oracle(alerts, delay_us=delay_us, replayed=replayed)
    oracle.add_quotes(quotes)
    oracle.add_orders(orders)
    return oracle.judgement()


def is_right(found: Judgement | DecisionJudgement) -> bool:
    """Whether the output can be judged and has no fault."""
    if isinstance(found, Judgement):
        return found.void_reason is None and not found.faulty
    duplicates = 0 if found.duplicates_allowed else found.duplicated
    return not (found.missing or found.unknown or found.wrong or found.stale or duplicates)
