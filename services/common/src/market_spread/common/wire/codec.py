"""Messages to and from numpy columns, by their layout, thousands at a time; and ledgers: as received, a line each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from market_spread.common.errors import UsageError
from market_spread.common.wire.columns import Columns, Fields
from market_spread.common.wire.layout import ALERT, Field, Kind, Layout

Int64s = npt.NDArray[np.int64]
Bytes2D = npt.NDArray[np.uint8]
ByField = Mapping[str, npt.NDArray[np.generic]]

# Four digits at a time, as one 32-bit word: one table look-up replaces four divisions.
_FOUR_DIGITS = np.frombuffer(b"".join(b"%04d" % i for i in range(10_000)), np.uint32)
# What follows a message on its line of a ledger: where it stood in Kafka, and its receipt.
RECEIPT = Layout(
    "receipt",
    (
        Field("blank_before_partition", 1, Kind.LETTER, " "),
        Field("partition", 4, Kind.DIGITS),
        Field("blank_before_offset", 1, Kind.LETTER, " "),
        Field("offset", 12, Kind.DIGITS),
        Field("blank_before_received", 1, Kind.LETTER, " "),
        Field("received_us", 16, Kind.DIGITS),
        Field("end_of_line", 1, Kind.LETTER, "\n"),
    ),
)


def encode(layout: Layout, columns: ByField) -> Bytes2D:
    """The messages of the columns, one a row of `layout.width` bytes.

    Columns: numbers are integers (n,); TEXT is bytes `S<width>` padded with blanks, or uint8 (n, width); LETTER is
    uint8 (n,) or absent where only one letter is legal. A number that does not fit its field is a ValueError.
    """
    n = len(next(iter(columns.values())))
    rows = np.empty((n, layout.width), np.uint8)
    offset = 0
    for field in layout.fields:
        _put(rows[:, offset : offset + field.width], field, columns.get(field.name))
        offset += field.width
    return rows


def _put(cells: Bytes2D, field: Field, column: npt.NDArray[np.generic] | None) -> None:
    if column is None:
        if field.kind is not Kind.LETTER or len(field.letters) != 1:
            raise ValueError(f"no column for the field {field.name}")
        cells[:, 0] = ord(field.letters)
        return
    match field.kind:
        case Kind.LETTER:
            cells[:, 0] = column
        case Kind.TEXT:
            text = column if column.dtype == np.uint8 else np.ascontiguousarray(column).view(np.uint8)
            cells[:] = text.reshape(len(cells), field.width)
        case Kind.DIGITS:
            put_digits(cells, column.astype(np.int64), field.name)
        case Kind.INTEGER:
            values = column.astype(np.int64)
            if (lowest := values.min(initial=0)) < field.lowest:
                raise ValueError(f"{field.name} has values outside {field.lowest} to {field.highest}")
            put_digits(cells, np.abs(values), field.name)
            if lowest < 0:
                cells[values < 0, 0] = ord("-")
        case Kind.SIGNED:
            values = column.astype(np.int64)
            cells[:, 0] = np.where(values < 0, ord("-"), ord("+"))
            put_digits(cells[:, 1:], np.abs(values), field.name)


def put_digits(cells: Bytes2D, values: Int64s, name: str) -> None:
    """Write the values in decimal, padded with zeros, into cells (n, width). ValueError if one does not fit."""
    width = cells.shape[1]
    if len(values) and (values.min() < 0 or (width < 19 and values.max() >= 10**width)):
        raise ValueError(f"{name} has values outside 0 to {10**width - 1}")
    groups = -(-width // 4)
    words = np.empty((len(values), groups), np.uint32)
    rest = values
    for group in range(groups - 1, 0, -1):
        higher = rest // 10_000  # numpy vectorises this, and not divmod
        words[:, group] = _FOUR_DIGITS[rest - higher * 10_000]
        rest = higher
    words[:, 0] = _FOUR_DIGITS[rest]
    cells[:] = words.view(np.uint8)[:, 4 * groups - width :]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of messages, and which of them could be read; the numbers of one that could not are 0."""

    columns: dict[str, npt.NDArray[np.generic]]
    readable: npt.NDArray[np.bool_]

    def ints(self, name: str) -> Int64s:
        return self.columns[name].astype(np.int64, copy=False)


def decode(layout: Layout, data: bytes | memoryview) -> Decoded:
    """Columns of the messages in data: int64, `S<width>`, letters uint8. ValueError if that is no whole number."""
    fields = Fields(layout, [data])
    unreadable = fields.unreadable()
    columns = {field.name: _get(fields, field) for field in layout.fields}
    if unreadable is None:
        return Decoded(columns, np.ones(fields.count, np.bool_))
    for field in layout.fields:
        if field.is_number:
            columns[field.name][unreadable] = 0
    return Decoded(columns, ~unreadable)


def _get(fields: Fields, field: Field) -> npt.NDArray[np.generic]:
    if field.is_number:
        return fields.number(field.name)
    offset = fields.layout.offset(field.name)
    cells = np.ascontiguousarray(fields.rows[:, offset : offset + field.width])
    return cells.reshape(-1) if field.kind is Kind.LETTER else cells.view(f"S{field.width}").reshape(-1)


@dataclass(frozen=True, slots=True)
class LedgerColumns(Columns):
    """Lines of a ledger, in order of receipt.

    rows: uint8 (n, width of the layout), as received, not decoded; the others int64 (n,).
    """

    rows: Bytes2D
    partitions: Int64s
    offsets: Int64s
    received_us: Int64s


def encode_ledger(rows: Bytes2D, partition: int | Int64s, offsets: Int64s, received_us: Int64s) -> bytes:
    """The lines for messages (n, width), of one partition or of one each (n,). ValueError if a number does not fit."""
    receipts = encode(
        RECEIPT,
        {"offset": offsets, "partition": np.full(len(offsets), partition, np.int64), "received_us": received_us},
    )
    return np.concatenate([rows, receipts], axis=1).tobytes()


def decode_ledger(data: bytes | memoryview, layout: Layout = ALERT) -> LedgerColumns:
    """The whole lines of a ledger of such messages; a last line that was cut short is left out.

    Raises UsageError naming the byte at which the first damaged line begins. The messages are not looked into.
    """
    width = layout.width + RECEIPT.width
    lines = len(data) // width
    rows = np.frombuffer(memoryview(data)[: lines * width], np.uint8).reshape(lines, width)
    receipts = decode(RECEIPT, np.ascontiguousarray(rows[:, layout.width :]).reshape(-1).data)
    if not receipts.readable.all():
        damaged = int(np.argmin(receipts.readable)) * width
        raise UsageError(f"the ledger's line at byte {damaged} is damaged; use the lines before it, or repeat the run")
    return LedgerColumns(
        rows=rows[:, : layout.width],
        partitions=receipts.ints("partition"),
        offsets=receipts.ints("offset"),
        received_us=receipts.ints("received_us"),
    )
