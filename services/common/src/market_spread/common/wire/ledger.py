"""The ledgers of alerts and of decisions: a line for each, as it came, with where it stood in Kafka and its receipt."""

from dataclasses import dataclass

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, Int64s, decode, encode
from market_spread.common.wire.columns import Columns
from market_spread.common.wire.layout import ALERT, Field, Kind, Layout

# What follows the message on its line.
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
