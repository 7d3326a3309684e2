"""The ledgers of alerts and of decisions: a line for each, as it came, with where it stood in Kafka and its receipt."""

from dataclasses import dataclass

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, Int64s, decode, encode
from market_spread.common.wire.layout import ALERT, Field, Kind, Layout

PARTITION_WIDTH = 4
OFFSET_WIDTH = 12
RECEIVED_WIDTH = 16


def _letter(name: str, letter: str) -> Field:
    return Field(name, 1, Kind.LETTER, letter)


# What follows the message on its line.
RECEIPT = Layout(
    "receipt",
    (
        _letter("blank_before_partition", " "),
        Field("partition", PARTITION_WIDTH, Kind.DIGITS),
        _letter("blank_before_offset", " "),
        Field("offset", OFFSET_WIDTH, Kind.DIGITS),
        _letter("blank_before_received", " "),
        Field("received_us", RECEIVED_WIDTH, Kind.DIGITS),
        _letter("end_of_line", "\n"),
    ),
)


@dataclass(frozen=True, slots=True)
class LedgerColumns:
    """Lines of a ledger, in order of receipt.

    rows: uint8 (n, width of the layout), as received, not decoded; the others int64 (n,).
    """

    rows: Bytes2D
    partitions: Int64s
    offsets: Int64s
    received_us: Int64s

    def __len__(self) -> int:
        return len(self.offsets)


def encode_ledger(rows: Bytes2D, partition: int, offsets: Int64s, received_us: Int64s) -> bytes:
    """The ledger's lines for messages (n, width) of one partition. A number that does not fit is a ValueError."""
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
