import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import RECEIPT, Bytes2D, Int64s, decode_ledger, encode_ledger
from market_spread.common.wire.layout import ALERT

LEDGER_LINE_WIDTH = ALERT.width + RECEIPT.width

ALERT_BYTES = (
    b"A0000000017INSM  B000057+000000640000196505000019650500001971360000000000021472831272000000"
    b"147283127200010014728312720002001472831272000300"
)


def alert_rows(count: int) -> Bytes2D:
    return np.frombuffer(ALERT_BYTES * count, np.uint8).reshape(count, ALERT.width)


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def test_line_is_alert_partition_offset_and_receipt() -> None:
    rows = alert_rows(1)

    line = encode_ledger(rows, 3, ints(41), ints(1472831272000400))

    assert line == rows.tobytes() + b" 0003 000000000041 1472831272000400\n"
    assert len(line) == LEDGER_LINE_WIDTH == 175


def test_no_alerts_make_no_bytes() -> None:
    data = encode_ledger(alert_rows(0), 0, ints(), ints())

    assert data == b""
    assert len(decode_ledger(data)) == 0


@given(
    partition=st.integers(0, 9_999),
    receipts=st.lists(st.tuples(st.integers(0, 10**12 - 1), st.integers(0, 10**16 - 1)), max_size=20),
    cut=st.integers(0, 174),
)
def test_lines_read_back_and_a_cut_line_is_left_out(partition: int, receipts: list[tuple[int, int]], cut: int) -> None:
    offsets = ints(*[offset for offset, _ in receipts])
    received_us = ints(*[received for _, received in receipts])
    rows = alert_rows(len(receipts))
    cut_line = encode_ledger(alert_rows(1), 0, ints(1), ints(1))[:cut]

    columns = decode_ledger(encode_ledger(rows, partition, offsets, received_us) + cut_line)

    assert columns.rows.tobytes() == rows.tobytes()
    assert columns.partitions.tolist() == [partition] * len(receipts)
    assert columns.offsets.tolist() == offsets.tolist()
    assert columns.received_us.tolist() == received_us.tolist()


@pytest.mark.parametrize("position", [139, 140, 144, 145, 157, 158, 174])
def test_damaged_line_is_named_by_its_byte(position: int) -> None:
    data = bytearray(encode_ledger(alert_rows(3), 0, ints(1, 2, 3), ints(7, 8, 9)))
    data[2 * LEDGER_LINE_WIDTH + position] = ord("x")

    with pytest.raises(UsageError, match="line at byte 350 is damaged"):
        decode_ledger(bytes(data))


def test_number_too_large_for_its_field_is_refused() -> None:
    with pytest.raises(ValueError, match="partition has values outside 0 to 9999"):
        encode_ledger(alert_rows(1), 10_000, ints(1), ints(1))
