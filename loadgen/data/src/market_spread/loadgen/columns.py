"""Quotes, orders, alerts and decisions as numpy columns, and native files of them.

A native file has messages of one layout, one after the other, nothing between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.codec import Bytes2D, Int64s, decode, decode_ledger
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
    def from_rows(cls, rows: Bytes2D, received_us: Int64s | None = None) -> Self:
        """Columns of encoded messages (n, layout.width). UsageError if one cannot be read.

        received_us: of what was received, the time of receipt.
        """
        none = f"of {len(rows)} is no {cls.layout.name} message"
        begins = range(0, max(1, len(rows)), _CHUNK)
        parts = (cls._part(rows, begin, lambda i: f"message {i} {none}", received_us) for begin in begins)
        return cls.concatenate(parts)

    @classmethod
    def from_file(cls, path: Path) -> Iterator[Self]:
        """Columns of a native file's messages in order, some 100,000 at a time.

        UsageError if the file cannot be read or ends within a message, or, on the way, for the first that is malformed.
        """
        rows, name = map_native(path, cls.layout), cls.layout.name
        for begin in range(0, len(rows), _CHUNK):
            yield cls._part(rows, begin, lambda i: f"{path} has no {name} message at byte {i * cls.layout.width}")

    @classmethod
    def _part(cls, rows: Bytes2D, begin: int, wrong: Callable[[int], str], received_us: Int64s | None = None) -> Self:
        """Columns of the messages from that one on. wrong: what is said of one that cannot be read, by its position."""
        chunk = slice(begin, begin + _CHUNK)
        decoded = decode(cls.layout, np.ascontiguousarray(rows[chunk]).reshape(-1).data)
        if not decoded.readable.all():
            place = begin + int(np.argmin(decoded.readable))
            raise UsageError(f"{wrong(place)}: {rows[place].tobytes()!r}; take it out, or write them again")
        columns = decoded.columns if received_us is None else {**decoded.columns, "received_us": received_us[chunk]}
        return cls(*(columns[field.name] for field in fields(cls)))


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

    @staticmethod
    def from_ledger(path: Path) -> "Alerts":
        """The alerts of a ledger, without a last line that was cut short. UsageError if it is damaged or unreadable."""
        content = map_bytes(path, "a ledger of alerts").data
        with usage_errors(str(path), kinds=(UsageError,)):
            lines = decode_ledger(content)
            return Alerts.from_rows(lines.rows, lines.received_us)


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


def write_native(path: Path, parts: Iterable[Bytes2D]) -> int:
    """Write encoded messages, each part (n, width), to a new file, and return how many. UsageError if that fails."""
    count = 0
    try:
        with path.open("wb") as file:
            for rows in parts:
                file.write(np.ascontiguousarray(rows).data)
                count += len(rows)
    except OSError as error:
        raise UsageError(f"{path} cannot be written after {count} messages: {error.strerror}; name another") from error
    return count


def map_native(path: Path, layout: Layout) -> Bytes2D:
    """The file's messages, uint8 (n, layout.width), read only when used, and not looked into.

    UsageError if the file cannot be read, or ends within a message.
    """
    data = map_bytes(path, f"a native {layout.name} file")
    if left := len(data) % layout.width:
        raise UsageError(
            f"{path} is cut short: the message at byte {len(data) - left} has {left} of the {layout.width} bytes "
            f"of an {layout.name} message; cut the file there, or write it again"
        )
    return data.reshape(-1, layout.width)


def map_bytes(path: Path, wanted: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A file's bytes, read only when used. UsageError that asks for what is wanted if it cannot be read."""
    with usage_errors(f"{path} cannot be read", f"name {wanted}"):
        return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
