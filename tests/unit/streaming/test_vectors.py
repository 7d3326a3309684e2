"""Market Spread on arrays: what leaves a batch, by small cases and by the market's own oracle."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.clock import ManualClock
from market_spread.common.codec import decode
from market_spread.common.layout import ALERT, NBBO, ORDER, InvalidReason
from market_spread.streaming.rule import too_wide
from market_spread.streaming.vectors.frames import Frame, Messages
from market_spread.streaming.vectors.market_spread import Batch, judge

CLOCK = ManualClock()


def quote(symbol: str, bid: int, offer: int, *, at: int, sequence: int) -> bytes:
    return f"Q{symbol:<6}{bid:010}{offer:010}{at:016}{sequence:012}".encode()


def order(symbol: str, order_id: int, *, at: int) -> bytes:
    return f"O{symbol:<6}B000057{order_id:010}+00000100{1_000_000:010}{at:016}".encode()


def frame(*messages: bytes, offset: int = 0, sent_us: int = 7, reason: int = 0) -> Frame:
    return Frame(b"".join(messages), 3, offset, sent_us, 9, reason)


def run(state: bytes | None, quotes: list[Frame], orders: list[Frame]) -> tuple[bytes, Batch]:
    return judge(state, Messages("nbbo", NBBO, quotes), Messages("orders", ORDER, orders), CLOCK)


def ids(batch: Batch) -> list[int]:
    return [int(order_id) for order_id, _ in batch.alerts]


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


def test_an_alert_says_what_order_and_quote_say() -> None:
    clock = ManualClock()
    clock.advance_ns(12_345_000)
    quotes = Messages("nbbo", NBBO, [frame(quote("A", 1_000, 9_000, at=5, sequence=2))])
    orders = Messages("orders", ORDER, [frame(order("B", 1, at=6)), frame(order("A", 42, at=8), sent_us=0)])

    _, batch = judge(None, quotes, orders, clock)

    (_, unseen), (key, value) = batch.alerts
    assert key == b"0000000042"
    alert = decode(ALERT, value)
    fields = ("bid", "offer", "quote_sequence", "account", "quantity", "price", "intended_us", "sent_us", "read_us")
    assert [alert.ints(name)[0] for name in fields] == [1_000, 9_000, 2, 57, 100, 1_000_000, 8, 8, 9]
    assert alert.ints("emitted_us")[0] == clock.unix_ns() // 1000
    assert alert.texts("symbol")[0] == b"A"
    assert [decode(ALERT, unseen).ints(name)[0] for name in ("bid", "offer", "quote_sequence", "sent_us")] == [
        0,
        0,
        0,
        7,
    ]


def test_what_cannot_be_read_is_reported_and_the_rest_goes_on() -> None:
    good = order("A", 1, at=1)
    orders = [
        frame(good, good.replace(b"+", b"x"), b"X" + good[1:], offset=4),
        frame(b"noise", offset=5, reason=InvalidReason.WRONG_LENGTH.value),
        frame(good, offset=6, reason=InvalidReason.UNKNOWN_FORMAT.value),
    ]

    _, batch = run(None, [], orders)

    assert ids(batch) == [1]
    assert sorted(json.loads(report)["reason"] for report in batch.invalid) == [
        "unknown_format", "unknown_kind", "unreadable_field", "wrong_length",
    ]  # fmt: skip
    assert {"reason": "unreadable_field", "topic": "orders", "partition": 3, "offset": 4, "position": 1} in [
        json.loads(report) for report in batch.invalid
    ]


def test_an_unreadable_quote_does_not_count() -> None:
    quotes = [quote("A", 1_000, 1_001, at=1, sequence=1), quote("A", 1, 9_000, at=2, sequence=2).replace(b"Q", b"q")]

    _, batch = run(None, [frame(*quotes)], [frame(order("A", 1, at=3))])

    assert ids(batch) == []
    assert len(batch.invalid) == 1


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
