"""Quotes, orders, alerts and decisions as numpy columns: what the oracle reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, Decoded, Int64s, decode
from market_spread.common.wire.columns import Columns
from market_spread.common.wire.layout import ALERT, DECISION, NBBO, ORDER, SYMBOL_WIDTH, Layout

Texts = npt.NDArray[np.bytes_]
Letters = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

_CHUNK = 250_000


@dataclass(frozen=True, slots=True)
class MessageColumns(Columns):
    """Columns of messages of one layout."""

    layout: ClassVar[Layout]

    @classmethod
    def from_decoded(cls, decoded: Decoded, **others: npt.NDArray[Any]) -> Self:
        """Columns of decoded messages, and those that the messages do not have."""
        columns = {**decoded.columns, **others}
        return cls(*(columns[field.name] for field in fields(cls)))

    @classmethod
    def from_rows(cls, rows: Bytes2D, received_us: Int64s | None = None) -> Self:
        """Columns of encoded messages (n, layout.width). UsageError if one cannot be read.

        received_us: of what was received, the time of receipt.
        """
        parts = []
        for begin in range(0, max(1, len(rows)), _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            decoded = decode(cls.layout, np.ascontiguousarray(rows[chunk]).reshape(-1).data)
            if not decoded.readable.all():
                place = begin + int(np.argmin(decoded.readable))
                name = cls.layout.name
                raise UsageError(f"message {place} of {len(rows)} is no {name} message: {rows[place].tobytes()!r}")
            others = {} if received_us is None else {"received_us": received_us[chunk]}
            parts.append(cls.from_decoded(decoded, **others))
        return cls.concatenate(parts)


@dataclass(frozen=True, slots=True)
class Quotes(MessageColumns):
    """Quotes, each symbol's in the order of sending. symbol is `S6`, the others int64; prices in 1/10,000 dollar."""

    layout: ClassVar[Layout] = NBBO

    symbol: Texts
    bid: Int64s
    offer: Int64s
    sequence: Int64s
    intended_us: Int64s


@dataclass(frozen=True, slots=True)
class Orders(MessageColumns):
    """Orders, in any order. symbol is `S6`, side uint8 (`B` or `S`), the others int64."""

    layout: ClassVar[Layout] = ORDER

    order_id: Int64s
    symbol: Texts
    side: Letters
    account: Int64s
    quantity: Int64s
    price: Int64s
    intended_us: Int64s


@dataclass(frozen=True, slots=True)
class JudgedOrders(Orders):
    """Orders with the quotes on which they were judged, int64 as well."""

    bid: Int64s
    offer: Int64s
    quote_sequence: Int64s


@dataclass(frozen=True, slots=True)
class Alerts(JudgedOrders):
    """Alerts in order of receipt, with the time of receipt."""

    layout: ClassVar[Layout] = ALERT

    sent_us: Int64s
    read_us: Int64s
    emitted_us: Int64s
    received_us: Int64s


@dataclass(frozen=True, slots=True)
class Decisions(JudgedOrders):
    """Decisions in the order of the topic, with the time of receipt. verdict is uint8 (`R`, `A`). 80 bytes each."""

    layout: ClassVar[Layout] = DECISION

    received_us: Int64s
    verdict: Letters


def symbol_codes(symbols: Texts) -> Int64s:
    """A number for each `S6` symbol, the same for the same name whether it is padded with blanks or with zeros."""
    cells = np.ascontiguousarray(symbols, f"S{SYMBOL_WIDTH}").view(np.uint8).reshape(len(symbols), SYMBOL_WIDTH)
    codes = np.zeros((len(symbols), 8), np.uint8)
    codes[:, :SYMBOL_WIDTH] = cells
    codes[:, :SYMBOL_WIDTH][cells == 0] = ord(" ")
    return codes.view(np.int64).reshape(-1)


def find_in(ascending: Int64s, wanted: Int64s) -> Int64s:
    """The place of each wanted value, -1 where it is not."""
    if not len(ascending):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[places] == wanted, places, -1)


@dataclass(frozen=True, slots=True)
class Check:
    """Which messages (n,) failed a check, and how to say it of one of them by its position."""

    failed: Bools
    sentence: Callable[[int], str]


def failed_any(checks: Sequence[Check]) -> Bools:
    """Which messages failed one of the checks (at least one check)."""
    failed: Bools = np.logical_or.reduce([check.failed for check in checks])
    return failed


def sentence_of(checks: Sequence[Check], position: int) -> str:
    """All that is wrong with the message at the position; empty if nothing is."""
    return "; ".join(check.sentence(position) for check in checks if check.failed[position])
