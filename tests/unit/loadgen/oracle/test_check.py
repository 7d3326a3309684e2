from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, Int64s, encode, encode_ledger
from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import check_files
from tests.support.judging import is_right

START_US = 1_700_000_000_000_000
WARM_UP_ID = 9_000_000_000


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def quote_rows() -> Bytes2D:
    """WIDE always rejects, TIGHT never."""
    return encode(
        NBBO,
        {
            "symbol": np.array([b"WIDE  ", b"TIGHT ", b"WIDE  "], "S6"),
            "bid": ints(1_000_000, 1_000_000, 2_000_000),
            "offer": ints(1_000_500, 1_000_499, 2_000_600),
            "sequence": ints(1, 2, 3),
            "intended_us": START_US + ints(0, 1, 2),
        },
    )


def order_rows(*, ids: Int64s, symbols: list[bytes]) -> Bytes2D:
    return encode(
        ORDER,
        {
            "symbol": np.array(symbols, "S6"),
            "side": np.full(len(ids), ord("B"), np.uint8),
            "account": np.full(len(ids), 57),
            "order_id": ids,
            "quantity": np.full(len(ids), -640),
            "price": np.full(len(ids), 1_000_000),
            "intended_us": np.full(len(ids), START_US + 1_000),
        },
    )


def ledger(*, ids: Int64s) -> bytes:
    """Alerts of orders of WIDE."""
    count = len(ids)
    rows = encode(
        ALERT,
        {
            "order_id": ids,
            "symbol": np.array([b"WIDE  "] * count, "S6"),
            "side": np.full(count, ord("B"), np.uint8),
            "account": np.full(count, 57),
            "quantity": np.full(count, -640),
            "price": np.full(count, 1_000_000),
            "bid": np.full(count, 2_000_000),
            "offer": np.full(count, 2_000_600),
            "quote_sequence": np.full(count, 3),
            "intended_us": np.full(count, START_US + 1_000),
            "sent_us": np.full(count, START_US + 1_100),
            "read_us": np.full(count, START_US + 1_200),
            "emitted_us": np.full(count, START_US + 1_300),
        },
    )
    return encode_ledger(rows, 0, np.arange(count), np.full(count, START_US + 1_400))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    nbbo, orders, alerts = tmp_path / "nbbo.messages", tmp_path / "orders.messages", tmp_path / "alerts.ledger"
    nbbo.write_bytes(quote_rows().tobytes())
    orders.write_bytes(order_rows(ids=ints(1, 2, 3), symbols=[b"WIDE  ", b"TIGHT ", b"WIDE  "]).tobytes())
    alerts.write_bytes(ledger(ids=ints(3, 1)))
    return nbbo, orders, alerts


def test_true_files_are_ok(files: tuple[Path, Path, Path]) -> None:
    judgement = check_files(*files)

    assert is_right(judgement)
    assert (judgement.orders, judgement.expected, judgement.received, judgement.delay_us) == (3, 2, 2, 400)


def test_alert_cut_short_is_missing(files: tuple[Path, Path, Path]) -> None:
    files[2].write_bytes(ledger(ids=ints(3, 1))[:-1])

    judgement = check_files(*files)

    assert not is_right(judgement)
    assert judgement.sentences["missing"] == ("order 1 (WIDE): it is rejected, but has no alert",)


def test_duplicates_are_allowed_on_demand(files: tuple[Path, Path, Path]) -> None:
    files[2].write_bytes(ledger(ids=ints(3, 1, 3)))

    assert not is_right(check_files(*files))
    assert is_right(check_files(*files, duplicates_allowed=True))


def test_warm_up_is_left_out_on_demand(files: tuple[Path, Path, Path]) -> None:
    files[2].write_bytes(ledger(ids=ints(WARM_UP_ID, 3, 1)))

    assert check_files(*files).unexpected == 1
    assert is_right(check_files(*files, warm_up_judged=False))

    ids, symbols = ints(1, 2, 3, WARM_UP_ID, WARM_UP_ID + 1), [b"WIDE  ", b"TIGHT ", b"WIDE  ", b"WIDE  ", b"WIDE  "]
    files[1].write_bytes(order_rows(ids=ids, symbols=symbols).tobytes())

    assert check_files(*files).missing == 1
    assert is_right(check_files(*files, warm_up_judged=False))


def test_no_alerts_are_judged_too(files: tuple[Path, Path, Path]) -> None:
    files[2].write_bytes(b"")

    judgement = check_files(*files)

    assert (judgement.missing, judgement.received, is_right(judgement)) == (2, 0, False)


@pytest.mark.parametrize(
    ("place", "data", "message"),
    [
        (0, b"Q" * 55, r"nbbo\.messages has no nbbo message at byte 0"),
        (1, b"O" * 58, r"orders\.messages is cut short: the message at byte 0 has 58 of the 59 bytes"),
        (2, b"x" * 175, r"alerts\.ledger: the ledger's line at byte 0 is damaged"),
        (
            2,
            ledger(ids=ints(3, 1)).replace(b"A0000000001", b"A00000000x1"),
            r"alerts\.ledger: message 1 of 2 is no alert message",
        ),
    ],
)
def test_malformed_file_is_named(files: tuple[Path, Path, Path], place: int, data: bytes, message: str) -> None:
    files[place].write_bytes(data)

    with pytest.raises(UsageError, match=message):
        check_files(*files)


def test_missing_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="missing cannot be read: No such file or directory"):
        Alerts.from_ledger(tmp_path / "missing")
