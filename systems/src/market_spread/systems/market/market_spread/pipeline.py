"""The system under test, a pipeline of the API; put yours in its place. It alerts on orders in too wide a market."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.streaming import Map, Pipeline, Row, Sink, Source, StatefulMap, Stream, Text

LIMIT = 500  # 1/10,000 dollar


def market_spread() -> Pipeline:
    """Its sources and its sink have the names of the workload's topics."""
    state, takes = {"bid": "bigint", "offer": "bigint"}, ("id", "bid", "offer")
    judged = StatefulMap("judge", takes=takes, state=state, gives={"rejected": "bigint"}, update=judge)
    alerts = messages("quotes").merge(messages("orders")).to(judged).to(Map("write", {"alert": alert}))
    return alerts.to_sink(Sink("alerts", Text("{alert}"), key="symbol"), name="market_spread")


def messages(topic: str) -> Stream:
    """The messages of a topic, by symbol. An order has no bid and no offer."""
    cut = {name: field(name, "bigint") for name in ("id", "bid", "offer")} | {"symbol": field("symbol", "string")}
    return Source(topic, Text()).to(Map(f"cut {topic}", cut)).key_by("symbol")


def field(name: str, kind: str) -> Callable[[Row], Column]:
    """A field of JSON; 0 if it is not there."""
    return lambda row: F.coalesce(F.get_json_object(row.text, f"$.{name}"), F.lit("0")).cast(kind)


def judge(_symbol: str, rows: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The orders of a symbol that are rejected, and its newest quote."""
    bid, offer = (before["bid"], before["offer"]) if before else (0, 0)
    rejected = []
    for number, *quote in sorted(zip(rows.id.tolist(), rows.bid.tolist(), rows.offer.tolist(), strict=True)):
        if any(quote):
            bid, offer = quote
        elif offer - bid >= LIMIT or 40 * (offer - bid) >= bid + offer:
            rejected.append(number)
    return {"rejected": rejected}, {"bid": bid, "offer": offer}


def alert(row: Row) -> Column:
    """The output, JSON like what comes in."""
    return F.to_json(F.struct(row.rejected.alias("id"), row.symbol.alias("symbol")))
