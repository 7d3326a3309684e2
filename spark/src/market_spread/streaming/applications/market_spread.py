"""Market Spread: quotes update the state of their symbol; orders in a market with too wide a spread are rejected."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.common.wire.layout import ACCEPTED, ALERT, DECISION, NBBO, ORDER, REJECTED
from market_spread.streaming import AsOfJoin, Map, Pipeline, Row, Sink, Source, Stream
from market_spread.streaming.rule import too_wide


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


def verdict(order: Row) -> Column:
    """The verdict, as a decision has it."""
    return F.when(is_rejected(order), REJECTED).otherwise(ACCEPTED)  # type: ignore[arg-type]
