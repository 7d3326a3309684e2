"""What each driver has earned so far: Python with state, which calls a function of a file beside this one."""

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from tariff import cents  # type: ignore[import-not-found]  # beside it, wherever that is

from market_spread.streaming import Map, Pipeline, Row, Sink, Source, StatefulMap, Text


def fares() -> Pipeline:
    trips = Source("trips", Text()).to(Map("cut", {"driver": driver, "km": km})).key_by("driver")
    totals = {"total": "bigint"}
    earned = trips.to(StatefulMap("earned", takes=("km",), state=totals, gives=totals, update=earn))
    return earned.to_sink(Sink("totals", Text("{driver} has earned {total}"), key="driver"), name="fares")


def driver(row: Row) -> Column:
    return F.split(row.text, " ")[0]


def km(row: Row) -> Column:
    return F.split(row.text, " ")[1].try_cast("bigint")


def earn(_driver: str, rows: Any, before: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    total = before["total"] if before else 0
    totals = [total := total + cents(distance) for distance in rows.km.tolist()]
    return {"total": totals}, {"total": total}
