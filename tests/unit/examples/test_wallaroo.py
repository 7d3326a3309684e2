import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.wallaroo.convert import Converted, convert_fixish, main
from market_spread.common.errors import UsageError
from market_spread.common.wire.layout import NBBO, ORDER

NBBO_VECTOR = bytes.fromhex(
    "0000002a 02 494e534d 32303136303930322d31353a34373a35322e303030 4033a6872b020c4a 4033b6ae7d566cf4"
)
ORDER_VECTOR = bytes.fromhex(
    "00000035 01 01 00000039 484d74577664 20425455 41346a2c00000000 3fe7eb724c18caae"
    "32303135313230342d31343a33303a30302e303030"
)
NBBO_MESSAGE = b"QINSM  000019650500001971360000000000000000000000000001"
ORDER_MESSAGE = b"OBTU   B0000570000000001+0133790000000074750000000000000000"


def nbbo(
    *,
    symbol: bytes = b"INSM",
    when: bytes = b"20160902-15:47:52.000",
    bid: float = 19.6505,
    offer: float = 19.7136,
    kind: int = 2,
) -> bytes:
    return struct.pack(">IB4s21sdd", 42, kind, symbol, when, bid, offer)


def order(
    *,
    side: int = 1,
    account: int = 57,
    order_id: bytes = b"HMtWvd",
    symbol: bytes = b" BTU",
    quantity: float = 1337900.0,
    price: float = 0.74749102461495,
    when: bytes = b"20151204-14:30:00.000",
    kind: int = 1,
) -> bytes:
    return struct.pack(">IBBI6s4sdd21s", 53, kind, side, account, order_id, symbol, quantity, price, when)


def convert(folder: Path, nbbo_bytes: bytes = b"", orders_bytes: bytes = b"") -> Converted:
    (folder / "nbbo.msg").write_bytes(nbbo_bytes)
    (folder / "orders.msg").write_bytes(orders_bytes)
    return convert_fixish(folder / "nbbo.msg", folder / "orders.msg", folder / "out")


def reasons(converted: Converted) -> list[tuple[int, str]]:
    return [(problem.byte_offset, problem.reason) for problem in converted.problems]


@pytest.mark.parametrize("when", [b"2026-11-23 12:46:27.7", b"20161301-15:47:52.000", b"\xff" * 21])
def test_any_time_is_taken_as_a_replay_has_its_own(tmp_path: Path, when: bytes) -> None:
    """The reference's own generator writes another form than its recorded files have."""
    converted = convert(tmp_path, nbbo(when=when), order(when=when))

    assert converted.nbbo.read_bytes() == NBBO_MESSAGE
    assert converted.orders.read_bytes() == ORDER_MESSAGE
    assert converted.problems == ()


def test_vectors_convert_byte_for_byte(tmp_path: Path) -> None:
    converted = convert(tmp_path, NBBO_VECTOR, ORDER_VECTOR)

    assert (nbbo(), order()) == (NBBO_VECTOR, ORDER_VECTOR)
    assert converted.nbbo.read_bytes() == NBBO_MESSAGE
    assert converted.orders.read_bytes() == ORDER_MESSAGE
    assert converted.order_ids.name == "orders.messages.order-ids.csv"
    assert converted.order_ids.read_text() == "ordinal,original\n1,HMtWvd\n"
    assert (converted.quote_count, converted.order_count, converted.problems) == (1, 1, ())


def test_empty_files_convert_to_empty_files(tmp_path: Path) -> None:
    converted = convert(tmp_path)

    assert (converted.nbbo.read_bytes(), converted.orders.read_bytes()) == (b"", b"")
    assert (converted.quote_count, converted.order_count, converted.problems) == (0, 0, ())


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        (nbbo(symbol=b"   F"), "symbol", b"F     "),
        (nbbo(symbol=b"BR.A"), "symbol", b"BR.A  "),
        (nbbo(symbol=b"NI  "), "symbol", b"NI    "),
        (nbbo(bid=0.0), "bid", b"0000000000"),
        (nbbo(bid=-0.0), "bid", b"0000000000"),
        (nbbo(bid=0.00004), "bid", b"0000000000"),
        (nbbo(bid=0.00006), "bid", b"0000000001"),
        (nbbo(bid=-0.01), "bid", b"-000000100"),
        (nbbo(offer=-99_999.9999), "offer", b"-999999999"),
        (nbbo(offer=100.05), "offer", b"0001000500"),
        (nbbo(offer=999_999.9999), "offer", b"9999999999"),
    ],
)
def test_quote_field_converts(tmp_path: Path, record: bytes, field: str, expected: bytes) -> None:
    converted = convert(tmp_path, record)

    begin = NBBO.offset(field)
    assert converted.problems == ()
    assert converted.nbbo.read_bytes()[begin : begin + NBBO.field(field).width] == expected


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        (order(side=1), "side", b"B"),
        (order(side=2), "side", b"S"),
        (order(account=999_999), "account", b"999999"),
        (order(quantity=-99_999_999.0), "quantity", b"-99999999"),
        (order(quantity=99_999_999.0), "quantity", b"+99999999"),
        (order(quantity=0.0), "quantity", b"+00000000"),
        (order(price=0.74755), "price", b"0000007476"),
        (order(price=-0.74755), "price", b"-000007476"),
    ],
)
def test_order_field_converts(tmp_path: Path, record: bytes, field: str, expected: bytes) -> None:
    converted = convert(tmp_path, orders_bytes=record)

    begin = ORDER.offset(field)
    assert converted.problems == ()
    assert converted.orders.read_bytes()[begin : begin + ORDER.field(field).width] == expected


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (nbbo(kind=1), "the type is 1, not 2"),
        (nbbo(symbol=b"    "), "b'    ' is no symbol"),
        (nbbo(symbol=b"B TU"), "b'B TU' is no symbol"),
        (nbbo(symbol=b"btu "), "b'btu ' is no symbol"),
        (nbbo(symbol=b"\x00BTU"), "b'\\x00BTU' is no symbol"),
        (nbbo(bid=math.nan), "the bid nan is no number"),
        (nbbo(offer=math.inf), "the offer inf is no number"),
        (nbbo(bid=-100_000.0), "the bid -100000.0 is too small: at least -99999.9999 fits"),
        (nbbo(offer=1_000_000.0), "the offer 1000000.0 is too large: at most 999999.9999 fits"),
        (nbbo(offer=1e308), "the offer 1e+308 is too large: at most 999999.9999 fits"),
        (nbbo(bid=math.nan, symbol=b"    "), "b'    ' is no symbol; the bid nan is no number"),
        (order(), "an order record does not belong into this file"),
        (struct.pack(">I55x", 55), "an alert record does not belong into this file"),
    ],
)
def test_wrong_quote_is_left_out_and_reported(tmp_path: Path, record: bytes, reason: str) -> None:
    converted = convert(tmp_path, nbbo() + record + nbbo())

    assert reasons(converted) == [(46, reason)]
    assert str(converted.problems[0]) == f"{tmp_path}/nbbo.msg, byte 46: {reason}"
    assert converted.nbbo.read_bytes() == NBBO_MESSAGE + NBBO_MESSAGE[:-1] + b"3"
    assert converted.quote_count == 2


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (order(kind=2), "the type is 2, not 1"),
        (order(side=0), "the side is 0, not 1 or 2"),
        (order(side=3), "the side is 3, not 1 or 2"),
        (order(account=1_000_000), "the account 1000000 is above 999999"),
        (order(order_id=b"HMt vd"), "the order id b'HMt vd' is not of letters and digits"),
        (order(order_id=b"HMt\xe4vd"), "the order id b'HMt\\xe4vd' is not of letters and digits"),
        (order(quantity=1.5), "the quantity 1.5 is not whole"),
        (order(quantity=math.nan), "the quantity nan is no number"),
        (order(quantity=-math.inf), "the quantity -inf is no number"),
        (order(quantity=100_000_000.0), "the quantity 100000000.0 is too large: at most 99999999 fits"),
        (order(quantity=-100_000_000.0), "the quantity -100000000.0 is too small: at least -99999999 fits"),
        (order(price=-1e5), "the price -100000.0 is too small: at least -99999.9999 fits"),
        (order(price=math.nan), "the price nan is no number"),
        (order(price=1e10), "the price 10000000000.0 is too large: at most 999999.9999 fits"),
        (nbbo(), "an NBBO record does not belong into this file"),
    ],
)
def test_wrong_order_is_left_out_and_reported(tmp_path: Path, record: bytes, reason: str) -> None:
    converted = convert(tmp_path, orders_bytes=order() + record + order(order_id=b"abc123"))

    assert reasons(converted) == [(57, reason)]
    assert converted.orders.read_bytes() == ORDER_MESSAGE + ORDER_MESSAGE.replace(b"0000000001", b"0000000003")
    assert converted.order_ids.read_text() == "ordinal,original\n1,HMtWvd\n3,abc123\n"
    assert converted.order_count == 2


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x00\x00\x00", "the file ends within a length prefix; its last 3 bytes are left out"),
        (nbbo()[:-1], "the file ends within an NBBO record, after 45 of its 46 bytes"),
        (nbbo()[:4], "the file ends within an NBBO record, after 4 of its 46 bytes"),
        (order()[:-1], "the file ends within an order record, after 56 of its 57 bytes"),
        (
            b"\x00\x00\x00\x2b" + nbbo() * 3,
            "the length prefix says 43, which no record has; the 142 bytes from here on are left out",
        ),
        (
            b"\xff\xff\xff\xff" + nbbo()[4:],
            "the length prefix says 4294967295, which no record has; the 46 bytes from here on are left out",
        ),
    ],
)
def test_broken_length_ends_the_file_with_a_report(tmp_path: Path, tail: bytes, reason: str) -> None:
    converted = convert(tmp_path, nbbo() * 2 + tail)

    assert reasons(converted) == [(92, reason)]
    assert converted.quote_count == 2


@given(
    pieces=st.lists(
        st.tuples(st.sampled_from([nbbo(), order(), nbbo(bid=math.nan), nbbo(kind=7)]), st.integers(1, 40)), max_size=8
    ),
    tail=st.sampled_from([b"", nbbo()[:20], b"\x00", b"garbage"]),
)
def test_every_record_is_converted_or_reported(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[bytes, int]], tail: bytes
) -> None:
    records = [record for record, count in pieces for _ in range(count)]
    offsets = [sum(map(len, records[:number])) for number in range(len(records) + 1)]

    converted = convert(tmp_path_factory.mktemp("fixish"), b"".join(records) + tail)

    data = converted.nbbo.read_bytes()
    kept = [int(data[end - 12 : end]) for end in range(55, len(data) + 1, 55)]
    assert kept == [number for number, record in enumerate(records, 1) if record == nbbo()]
    lost = [offset for offset, record in zip(offsets, records, strict=False) if record != nbbo()]
    assert sorted(problem.byte_offset for problem in converted.problems) == lost + offsets[-1:] * bool(tail)


def test_files_larger_than_a_block_convert_whole(tmp_path: Path) -> None:
    converted = convert(tmp_path, nbbo() * 300_000 + nbbo(kind=1) + nbbo() * 300_000)

    assert converted.quote_count == 600_000
    assert reasons(converted) == [(13_800_000, "the type is 1, not 2")]
    assert converted.nbbo.read_bytes()[-12:] == b"000000600001"


def test_missing_file_and_unwritable_folder_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.msg cannot be read: No such file or directory"):
        convert_fixish(tmp_path / "missing.msg", tmp_path / "orders.msg", tmp_path / "out")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="file cannot be written: File exists"):
        convert_fixish(tmp_path / "file", tmp_path / "file", tmp_path / "file")


def test_the_command_converts_tells_and_keeps_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nbbo.msg").write_bytes(nbbo() + nbbo(kind=9))
    (tmp_path / "orders.msg").write_bytes(order())
    words = [str(tmp_path / name) for name in ("nbbo.msg", "orders.msg", "out")]

    assert main(words) == 0
    assert main([str(tmp_path / "nowhere"), *words[1:]]) == 2

    told = capsys.readouterr()
    assert told.out.startswith("converted 1 quotes and 1 orders\nleft out 1 records, as problems.txt says; the first: ")
    assert "byte 46: the type is 9, not 2" in (tmp_path / "out" / "problems.txt").read_text()
    assert str(tmp_path / "nowhere") in told.err
    assert len(told.err.splitlines()) == 1
