"""The null system: which orders it answers, when, and what it stamps."""

import numpy as np
import pytest

from market_spread.common.wire.codec import decode, encode
from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from market_spread.controller.selftest.null_system import NullSystem
from tests.support.clock import ManualClock

BEGIN_US = 1_700_000_000_000_000


class Sent(list[bytes]):
    """What was emitted, by order id."""

    def stamps(self) -> dict[int, tuple[int, int]]:
        alerts = decode(ALERT, b"".join(self))
        assert alerts.readable.all()
        names = ("order_id", "read_us", "emitted_us")
        ids, read_us, emitted_us = (alerts.ints(name).tolist() for name in names)
        return {
            i: (read - BEGIN_US, emitted - BEGIN_US) for i, read, emitted in zip(ids, read_us, emitted_us, strict=True)
        }


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN_US * 1000)


def quotes(*prices: tuple[str, int, int, int]) -> bytes:
    symbols, bids, offers, sequences = zip(*prices, strict=True)
    columns = {
        "symbol": np.array([symbol.ljust(6) for symbol in symbols], "S6"),
        "bid": np.array(bids), "offer": np.array(offers), "sequence": np.array(sequences),
        "intended_us": np.full(len(symbols), BEGIN_US),
    }  # fmt: skip
    return encode(NBBO, {**{field.name: np.zeros(len(symbols), np.int64) for field in NBBO.fields
                            if field.name not in columns and field.is_number}, **columns}).tobytes()  # fmt: skip


def orders(*symbols: str, first_id: int) -> bytes:
    count = len(symbols)
    return encode(ORDER, {
        "order_id": np.arange(first_id, first_id + count),
        "symbol": np.array([name.ljust(6) for name in symbols], "S6"),
        "side": np.full(count, ord("B"), np.uint8), "account": np.ones(count, np.int64),
        "quantity": np.ones(count, np.int64), "price": np.ones(count, np.int64),
        "intended_us": np.full(count, BEGIN_US),
    }).tobytes()  # fmt: skip


def test_only_orders_on_wide_quotes_are_answered_by_the_newest_quote(clock: ManualClock) -> None:
    sent = Sent()
    system = NullSystem(sent.append, clock=clock)
    system.take_quotes(quotes(("WIDE", 100_000, 100_500, 1), ("TIGHT", 100_000, 100_499, 2)))
    system.take_quotes(quotes(("TURNED", 100_000, 100_001, 3), ("TURNED", 100_000, 106_000, 4)))

    system.take_orders(orders("WIDE", "TIGHT", "NONE", "TURNED", first_id=2), read_us=BEGIN_US)
    system.emit_due()

    alerts = decode(ALERT, b"".join(sent))
    assert alerts.ints("order_id").tolist() == [2, 5]
    assert alerts.ints("quote_sequence").tolist() == [1, 4]
    assert alerts.ints("offer").tolist() == [100_500, 106_000]
    assert system.messages == 8


def test_every_second_alert_is_held_and_stamped_with_what_really_happened(clock: ManualClock) -> None:
    sent = Sent()
    system = NullSystem(sent.append, clock=clock, delay_us=10_000)
    system.take_quotes(quotes(("WIDE", 100_000, 100_500, 1)))

    system.take_orders(orders("WIDE", "WIDE", first_id=6), read_us=BEGIN_US)
    left_us = system.emit_due()
    clock.advance_ns(10_700_000)  # it comes round late: what it stamps is what was, not what was asked for
    idle_us = system.emit_due()

    assert sent.stamps() == {6: (0, 0), 7: (0, 10_700)}
    assert (left_us, idle_us) == (10_000, 50_000)
    assert not system.waiting
