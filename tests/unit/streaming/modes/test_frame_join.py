"""The as-of join of frames, with Market Spread's: the output of a batch, in small cases and against a loop."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.wire.layout import NBBO, ORDER, InvalidReason
from market_spread.streaming import AsOfJoin, Source
from market_spread.streaming.applications.market_spread import market_spread, too_wide
from market_spread.streaming.modes.micro_batch.as_of_join import Array, FrameJoin, Messages, RecordFrame

REJECTED = market_spread().stream.state
ORDERS = Source("orders", ORDER, time="intended_us")
QUOTES = Source("nbbo", NBBO, time="intended_us", sequence="sequence")


def quote(symbol: str, bid: int, offer: int, *, at: int, sequence: int) -> bytes:
    return f"Q{symbol:<6}{bid:010}{offer:010}{at:016}{sequence:012}".encode()


def order(symbol: str, order_id: int, *, at: int) -> bytes:
    return f"O{symbol:<6}B000057{order_id:010}+00000100{1_000_000:010}{at:016}".encode()


def frame(*messages: bytes, offset: int = 0, sent_us: int = 7, reason: int = 0) -> RecordFrame:
    return RecordFrame(b"".join(messages), f"orders 3 {offset} {sent_us} 9", reason)


def run(state: bytes | None, quotes: list[RecordFrame], orders: list[RecordFrame]) -> tuple[bytes, dict[str, Array]]:
    assert isinstance(REJECTED, AsOfJoin)
    join = FrameJoin(REJECTED, "symbol", build=QUOTES, probe=ORDERS)
    return join.run(state, Messages(NBBO, quotes), Messages(ORDER, orders))


def ids(joined: dict[str, Array]) -> list[int]:
    found: list[int] = joined["order_id"].tolist()
    return found


def test_an_order_is_judged_on_the_quote_that_was_newest_when_it_was_intended() -> None:
    quotes = [quote("A", 1_000, 1_001, at=1, sequence=1), quote("A", 1_000, 9_000, at=5, sequence=2)]
    orders = [order("A", 1, at=0), order("A", 2, at=1), order("A", 3, at=4), order("A", 4, at=5), order("B", 5, at=9)]

    _, batch = run(None, [frame(*quotes)], [frame(*orders)])

    assert ids(batch) == [1, 4, 5]  # before the first quote, at the wide one's moment, and without any


def test_state_goes_from_batch_to_batch_and_ignores_what_is_not_newer() -> None:
    state, _ = run(None, [frame(quote("A", 1_000, 9_000, at=5, sequence=2))], [])
    state, repeated = run(state, [frame(quote("A", 1_000, 1_001, at=1, sequence=1))], [frame(order("A", 1, at=6))])
    _, newer = run(state, [frame(quote("A", 1_000, 1_001, at=7, sequence=3))], [frame(order("A", 2, at=8))])

    assert (ids(repeated), ids(newer)) == ([1], [])


def test_an_output_row_has_the_fields_of_order_and_quote() -> None:
    orders = [frame(order("B", 1, at=6), offset=5), frame(order("B", 2, at=7), order("A", 42, at=8), sent_us=0)]

    _, joined = run(None, [frame(quote("A", 1_000, 9_000, at=5, sequence=2))], orders)

    rows = {name: column.tolist() for name, column in joined.items()}
    assert rows == {
        "symbol": [b"B     ", b"B     ", b"A     "],
        "side": [b"B", b"B", b"B"],
        "account": [57, 57, 57],
        "order_id": [1, 2, 42],
        "quantity": [100, 100, 100],
        "price": [1_000_000] * 3,
        "intended_us": [6, 7, 8],
        "sent_us": [7, 7, 8],  # 0: unknown, the intended time stands in
        "read_us": [9, 9, 9],
        "bid": [0, 0, 1_000],
        "offer": [0, 0, 9_000],
        "quote_sequence": [0, 0, 2],
        "topic": ["orders"] * 3,
        "partition": [3, 3, 3],
        "offset": [5, 0, 0],
        "position": [0, 0, 1],
    }


def test_all_rows_are_output_without_emit() -> None:
    step = AsOfJoin("newest", of="nbbo", added={"number": "sequence"})
    join = FrameJoin(step, "symbol", build=QUOTES, probe=ORDERS)
    quotes = Messages(NBBO, [frame(quote("A", 1, 2, at=5, sequence=2))])

    _, joined = join.run(None, quotes, Messages(ORDER, [frame(order("A", 1, at=1), order("A", 2, at=9))]))

    assert joined["number"].tolist() == [0, 2]


def test_a_function_may_ask_for_any_field_of_the_row() -> None:
    step = AsOfJoin(
        "newest",
        of="nbbo",
        added={"bid": "bid"},
        emit=lambda row: (row.side == "B") & (row.quantity > 0) & (row.price > row.bid),
    )
    join = FrameJoin(step, "symbol", build=QUOTES, probe=ORDERS)
    quotes = Messages(NBBO, [frame(quote("A", 999_999, 2, at=0, sequence=1), quote("C", 10**6, 2, at=0, sequence=1))])
    orders = [order("A", 1, at=1), order("C", 2, at=1), order("A", 3, at=1).replace(b"B0", b"S0")]

    _, joined = join.run(None, quotes, Messages(ORDER, [frame(*orders)]))

    assert ids(joined) == [1]


def test_what_cannot_be_read_is_told_and_the_rest_goes_on() -> None:
    good = order("A", 1, at=1)
    orders = [
        frame(good, good.replace(b"+", b"x"), b"X" + good[1:], offset=4),
        frame(b"noise", offset=5, reason=InvalidReason.WRONG_LENGTH.value),
        frame(good, offset=6, reason=InvalidReason.UNKNOWN_FORMAT.value),
    ]

    _, joined = run(None, [], orders)

    assert ids(joined) == [1]
    malformed = Messages(ORDER, orders).malformed()
    assert sorted((origin.offset, position, reason.name) for origin, position, reason in malformed) == [
        (4, 1, "UNREADABLE_FIELD"),
        (4, 2, "UNKNOWN_KIND"),
        (5, 0, "WRONG_LENGTH"),
        (6, 0, "UNKNOWN_FORMAT"),
    ]


def test_an_unreadable_quote_does_not_count() -> None:
    quotes = [quote("A", 1_000, 1_001, at=1, sequence=1), quote("A", 1, 9_000, at=2, sequence=2).replace(b"Q", b"q")]

    _, joined = run(None, [frame(*quotes)], [frame(order("A", 1, at=3))])

    assert ids(joined) == []


@pytest.mark.parametrize("cuts", [1, 3, 7])
@given(seed=st.integers(0, 50))
def test_how_input_is_cut_into_batches_does_not_matter(cuts: int, seed: int) -> None:
    """Input in the order of its times, cut anywhere: the verdicts are those of a loop."""
    random = np.random.default_rng(seed)
    newest: dict[str, tuple[int, int]] = {}
    events: list[tuple[bool, bytes]] = []
    expected = []
    for at in range(120):
        symbol = f"S{random.integers(4)}"
        if random.random() < 0.5:
            bid = int(random.integers(0, 4_000))
            newest[symbol] = (bid, max(0, bid + int(random.integers(-700, 700))))
            events.append((True, quote(symbol, *newest[symbol], at=at, sequence=at + 1)))
        else:
            events.append((False, order(symbol, at, at=at)))
            if too_wide(*newest.get(symbol, (0, 0))):
                expected.append(at)
    places = [0, *sorted(random.integers(0, 120, cuts - 1).tolist()), 120]
    state, found = None, []
    for begin, end in pairwise(places):
        part = events[begin:end]
        quotes, orders = [m for is_quote, m in part if is_quote], [m for is_quote, m in part if not is_quote]
        state, batch = run(state, [frame(*quotes)], [frame(*orders)])
        found += ids(batch)

    assert found == expected
