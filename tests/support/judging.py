"""The oracle's judgement of a whole input at once."""

from collections.abc import Sequence

from market_spread.loadgen.columns import Alerts, Orders, Quotes
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
