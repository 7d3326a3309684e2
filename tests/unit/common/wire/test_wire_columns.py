"""Fields of many messages at once, and the codec, which reads with them, against a reading byte by byte."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.wire.codec import decode, encode
from market_spread.common.wire.columns import Fields
from market_spread.common.wire.layout import ALERT, DECISION, NBBO, ORDER, Kind, Layout

LAYOUTS = st.sampled_from([NBBO, ORDER, ALERT, DECISION])


def messages(layout: Layout, count: int, seed: int) -> bytes:
    random = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    for field in layout.fields:
        if field.kind is Kind.LETTER:
            columns[field.name] = random.choice(np.frombuffer(field.letters.encode(), np.uint8), count)
        elif field.kind is Kind.TEXT:
            names = [b" /.A09Z"[i:] for i in range(7)]
            columns[field.name] = np.array(names, f"S{field.width}")[random.integers(0, len(names), count)]
        else:
            ends = [field.lowest, -(field.lowest < 0), 0, field.highest]
            values = random.integers(field.lowest, field.highest, count, endpoint=True)
            columns[field.name] = np.where(random.random(count) < 0.2, random.choice(ends, count), values)
    return encode(layout, columns).tobytes().replace(b"\0", b" ")


def field_of(layout: Layout, data: bytes, name: str) -> list[bytes]:
    """The field of each message, as it stands there."""
    begin, width = layout.offset(name), layout.field(name).width
    return [data[at + begin : at + begin + width] for at in range(0, len(data), layout.width)]


def is_readable(layout: Layout, message: bytes) -> bool:
    for field in layout.fields:
        (text,) = field_of(layout, message, field.name)
        has_sign = field.kind is Kind.SIGNED or (field.kind is Kind.INTEGER and text[:1] == b"-")
        digits = text[1:] if has_sign else text
        if field.kind is Kind.LETTER and text not in [letter.encode() for letter in field.letters]:
            return False
        if field.kind is Kind.SIGNED and text[:1] not in (b"+", b"-"):
            return False
        if field.is_number and not all(ord("0") <= byte <= ord("9") for byte in digits):
            return False
    return True


@given(LAYOUTS, st.integers(0, 300), st.integers(0, 9))
def test_numbers_are_what_they_say(layout: Layout, count: int, seed: int) -> None:
    data = messages(layout, count, seed)

    fields, decoded = Fields(layout, [data]), decode(layout, data)

    assert fields.count == count
    assert fields.unreadable() is None
    assert decoded.readable.all()
    for field in layout.fields:
        texts = field_of(layout, data, field.name)
        if field.is_number:
            assert fields.number(field.name).tolist() == decoded.ints(field.name).tolist() == [int(t) for t in texts]
        elif field.kind is Kind.TEXT:
            assert decoded.columns[field.name].tolist() == [text.rstrip(b"\0") for text in texts]
        else:
            assert bytes(decoded.columns[field.name].tolist()) == b"".join(texts)


@given(LAYOUTS, st.lists(st.tuples(st.integers(0, 49), st.integers(0, 138), st.integers(0, 255)), max_size=5))
def test_a_wrong_byte_anywhere_makes_its_message_unreadable(
    layout: Layout, changes: list[tuple[int, int, int]]
) -> None:
    data = bytearray(messages(layout, 50, 1))
    for message, place, byte in changes:
        data[message * layout.width + place % layout.width] = byte
    expected = [is_readable(layout, bytes(data[at : at + layout.width])) for at in range(0, len(data), layout.width)]

    unreadable, decoded = Fields(layout, [bytes(data)]).unreadable(), decode(layout, bytes(data))

    assert decoded.readable.tolist() == expected
    assert (unreadable is None) == all(expected)
    assert all(decoded.ints(name)[i] == 0 for i in range(50) if not expected[i] for name in ("intended_us",))


def test_equal_texts_have_equal_words_wherever_they_stand() -> None:
    names = [b"A", b"B", b"A", b"AA", b" A"]
    orders = {
        "symbol": np.array(names, "S6"),
        "side": np.full(5, ord("B"), np.uint8),
        **{name: np.zeros(5, np.int64) for name in ("account", "order_id", "quantity", "price", "intended_us")},
    }
    data = encode(ORDER, orders).tobytes().replace(b"\0", b" ")
    quotes = messages(NBBO, 1, 0)
    quotes = quotes[:1] + b"A     " + quotes[7:]

    words = Fields(ORDER, [data[: 2 * ORDER.width], data[2 * ORDER.width :]]).word("symbol").tolist()

    assert words[0] == words[2] == Fields(NBBO, [quotes]).word("symbol")[0]
    assert len(set(words)) == 4


def test_a_part_of_a_message_is_refused() -> None:
    with pytest.raises(ValueError, match="54 bytes are not a whole number of 55-byte nbbo messages"):
        Fields(NBBO, [b"Q" * 54])


def test_no_message_has_no_fields() -> None:
    fields = Fields(NBBO, [])

    assert (fields.count, len(fields.number("bid")), len(fields.word("symbol")), fields.unreadable()) == (0, 0, 0, None)


@pytest.mark.parametrize(("ask", "reason"), [("symbol", "and no number"), ("kind", "and no number")])
def test_what_is_no_number_is_refused(ask: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Fields(NBBO, []).number(ask)


def test_what_does_not_fit_a_word_is_refused() -> None:
    with pytest.raises(ValueError, match="has 10 bytes, and a word 8"):
        Fields(NBBO, []).word("bid")


@pytest.mark.parametrize(
    ("name", "value"), [("price", 10**10), ("price", -(10**9)), ("quantity", 10**8), ("account", -1)]
)
def test_number_that_does_not_fit_is_refused(name: str, value: int) -> None:
    columns = {"symbol": np.array([b"A     "]), "side": np.array([ord("B")], np.uint8)}
    numbers = {field.name: np.zeros(1, np.int64) for field in ORDER.fields if field.is_number}

    with pytest.raises(ValueError, match=f"{name} has values outside"):
        encode(ORDER, {**columns, **numbers, name: np.array([value])})


def test_negative_price_is_written_as_printf_does() -> None:
    numbers = {field.name: np.zeros(2, np.int64) for field in NBBO.fields if field.is_number}

    rows = encode(NBBO, {"symbol": np.array([b"A     "] * 2), **numbers, "bid": np.array([-1, 1])})

    assert [bytes(row[7:17]) for row in rows] == [b"%010d" % -1, b"%010d" % 1] == [b"-000000001", b"0000000001"]
