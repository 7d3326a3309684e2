"""Market Spread on arrays: the quotes and orders of a bucket in one batch, and the alerts and reports that leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from market_spread.common.clock import Clock
from market_spread.common.codec import decode, encode
from market_spread.common.layout import ALERT, ORDER
from market_spread.streaming.rule import too_wide
from market_spread.streaming.vectors.frames import Messages
from market_spread.streaming.vectors.newest import Found, Newest, Updates, look_up

Int64s = npt.NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)

_QUOTE_COLUMNS = ("bid", "offer")


@dataclass(frozen=True, slots=True)
class Batch:
    """What leaves: alerts as (order id, alert), and reports of what could not be read."""

    alerts: list[tuple[bytes, bytes]]
    invalid: list[bytes]


def judge(state: bytes | None, quotes: Messages, orders: Messages, clock: Clock) -> tuple[bytes, Batch]:
    """The state after the batch, and what leaves. Within the batch the intended times say what came first.

    state: as an earlier call returned it, None in the beginning.
    """
    before = Newest.empty(len(_QUOTE_COLUMNS)) if state is None else Newest.from_bytes(state, len(_QUOTE_COLUMNS))
    chosen = orders.readable()
    keys, times = _of(chosen, orders.fields.word("symbol")), _of(chosen, orders.fields.number("intended_us"))
    after, found = look_up(before, _updates(quotes), keys, times)
    rejected = np.flatnonzero(too_wide(found.values[0], found.values[1]))
    rows = rejected if chosen is None else chosen[rejected]
    alerts = _alerts(orders, rows, Found(found.sequences[rejected], found.values[:, rejected]), clock)
    return after.to_bytes(), Batch(list(alerts), [*quotes.reports(), *orders.reports()])


def _updates(quotes: Messages) -> Updates:
    chosen, fields = quotes.readable(), quotes.fields
    return Updates(
        keys=_of(chosen, fields.word("symbol")),
        times=_of(chosen, fields.number("intended_us")),
        sequences=_of(chosen, fields.number("sequence")),
        values=np.vstack([_of(chosen, fields.number(name)) for name in _QUOTE_COLUMNS]),
    )


def _alerts(orders: Messages, rows: Int64s, quote: Found, clock: Clock) -> Iterator[tuple[bytes, bytes]]:
    order = decode(ORDER, orders.fields.rows[rows].tobytes())
    frames, _ = orders.origins(rows)
    intended = order.ints("intended_us")
    sent = np.array([frame.sent_us for frame in frames], np.int64)
    columns = {name: order.columns[name] for name in ("order_id", "symbol", "side", "account", "quantity", "price")}
    alerts = encode(
        ALERT,
        {
            **columns,
            "bid": quote.values[0],
            "offer": quote.values[1],
            "quote_sequence": np.maximum(quote.sequences, 0),
            "intended_us": intended,
            "sent_us": np.where(sent == 0, intended, sent),  # not told: taken as sent when intended
            "read_us": np.array([frame.read_us for frame in frames], np.int64),
            "emitted_us": np.full(len(rows), clock.unix_ns() // 1000, np.int64),
        },
    )
    start, width = ALERT.offset("order_id"), ALERT.field("order_id").width
    for alert in alerts:
        value = alert.tobytes()
        yield value[start : start + width], value


def _of(chosen: Int64s | None, column: npt.NDArray[Number]) -> npt.NDArray[Number]:
    return column if chosen is None else column[chosen]
