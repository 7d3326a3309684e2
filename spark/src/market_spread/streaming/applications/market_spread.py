"""Market Spread: quotes update the state of their symbol; orders in a market with too wide a spread are rejected."""

from market_spread.common.layout import ALERT, NBBO, ORDER
from market_spread.streaming.computations import Row, Sink
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.rule import too_wide
from market_spread.streaming.states import Newest


def market_spread() -> Pipeline:
    """The pipeline: two topics in, an alert out for each rejected order."""
    quotes = Source("nbbo", NBBO, time="intended_us", sequence="sequence").key_by("symbol")
    orders = Source("orders", ORDER, time="intended_us").key_by("symbol")
    newest_quote = Newest(
        "newest quote",
        of="nbbo",
        added={"bid": "bid", "offer": "offer", "quote_sequence": "sequence"},
        emit=is_rejected,
    )
    alerts = Sink("alerts", ALERT, key="order_id")
    return quotes.merge(orders).to(newest_quote).to_sink(alerts, name="market_spread")


def is_rejected(order: Row) -> object:
    """An order whose symbol has had no quote stands beside 0 and 0, which is too wide."""
    return too_wide(order.bid, order.offer)
