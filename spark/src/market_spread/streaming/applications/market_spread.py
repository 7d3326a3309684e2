"""Market Spread: quotes update the state of their symbol; orders in a market with too wide a spread are rejected.

The reference's rule (`d >= 0.05 or d / mid >= 0.05` dollars) without the division, exact for integers, numpy arrays and
Spark columns alike. The two agree wherever the mid is above zero; docs/architecture.md says what becomes of others.
Prices are in 1/10,000 dollar.
"""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.common.wire.layout import ACCEPTED, ALERT, DECISION, NBBO, ORDER, REJECTED
from market_spread.streaming import AsOfJoin, Map, Pipeline, Row, Sink, Source, Stream

SPREAD_MAX = 500  # 1/10,000 dollar: 5 cents


def market_spread() -> Pipeline:
    """The pipeline: two topics in, an alert out for each rejected order."""
    return _orders_with_quotes(is_rejected).to_sink(Sink("alerts", ALERT, key="order_id"), name="market_spread")


def market_spread_all_decisions() -> Pipeline:
    """The same, and every decision, rejecting ones too, to a topic of its own: one record per order, for tests and for
    the latency of all orders.
    """
    decided = _orders_with_quotes(None).to(Map("verdict", {"verdict": verdict}))
    alerts = Sink("alerts", ALERT, key="order_id", keep=lambda order: order.verdict == REJECTED)
    return decided.to_sink(alerts, Sink("decisions", DECISION, key="order_id"), name="market_spread_all_decisions")


def _orders_with_quotes(emit: Callable[[Row], Any] | None) -> Stream:
    """The emitted orders, each with the newest quote of its symbol."""
    quotes = Source("nbbo", NBBO, time="intended_us", sequence="sequence").key_by("symbol")
    orders = Source("orders", ORDER, time="intended_us").key_by("symbol")
    newest_quote = AsOfJoin(
        "newest quote", of="nbbo", added={"bid": "bid", "offer": "offer", "quote_sequence": "sequence"}, emit=emit
    )
    return quotes.merge(orders).to(newest_quote)


def is_rejected(order: Row) -> object:
    """Whether an order is rejected. Without a quote, bid and offer are 0, which is too wide."""
    return too_wide(order.bid, order.offer)


def too_wide(bid: Any, offer: Any) -> Any:
    """Whether orders are rejected on this quote: a spread of at least 5 cents, or of at least 5% of the mid.

    So a quote of 0 and 0 is no market and rejects, as does any that is not crossed with a mid below zero; a crossed
    one (offer below bid) with a mid above zero does not.
    """
    spread = offer - bid
    return (spread >= SPREAD_MAX) | (40 * spread >= bid + offer)


def verdict(order: Row) -> Column:
    """The verdict, as a decision has it."""
    return F.when(is_rejected(order), REJECTED).otherwise(ACCEPTED)  # type: ignore[arg-type]
