"""Wrong ways of the alerts: what stands between the topic that the real job writes and the one that a receiver reads.

Each says what becomes of some alerts, as parts that go on after a delay. Nothing is kept between calls: what is altered
is chosen by the order's id, or by its age, which is how long after the first measured order it was to be sent.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from market_spread.common.wire.codec import Int64s, encode
from market_spread.common.wire.layout import Layout
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.loadgen.columns import Alerts, Decisions, symbol_codes

_SECOND_US = 1_000_000
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
Parts = Sequence[tuple[int, Alerts]]


def encoded(layout: Layout, orders: Alerts | Decisions) -> Iterator[bytes]:
    """The record of each. The stamps of decisions are not known, and nobody judges them."""
    names = (each.name for each in layout.fields[1:])
    for row in encode(layout, {name: getattr(orders, name, orders.intended_us) for name in names}):
        yield row.tobytes()


@dataclass(frozen=True, slots=True)
class WrongWay:
    """name and sentence; on: what becomes of alerts with their ages, as delays in microseconds and what goes then.

    beside: what else the record of an alert becomes, which is no alert; it goes at once.
    """

    name: str
    sentence: str
    on: Callable[[Alerts, Int64s], Parts]
    verdict: Verdict
    decisive: frozenset[Criterion]
    beside: Callable[[bytes], bytes] | None = None

    @property
    def topic(self) -> str:
        """Where its alerts go."""
        return f"alerts-{self.name}"


def some(alerts: Alerts) -> Bools:
    """Which alerts most of the ways alter."""
    return np.equal(alerts.order_id % 40, 7)


def _failed(name: str, sentence: str, criterion: Criterion, on: Callable[[Alerts, Int64s], Parts]) -> WrongWay:
    return WrongWay(name, sentence, on, Verdict.FAILED, frozenset({criterion}))


def _lost(
    name: str, sentence: str, which: Callable[[Alerts, Int64s], np.ndarray[tuple[int], np.dtype[np.bool_]]]
) -> WrongWay:
    return _failed(name, sentence, Criterion.ALERTS_MISSING, lambda alerts, age: [(0, alerts[~which(alerts, age)])])


def _one_more(name: str, alerts: Alerts) -> Alerts:
    changes: dict[str, Any] = {name: getattr(alerts, name) + 1}
    return replace(alerts, **changes)


def _changed(
    name: str, sentence: str, change: Callable[[Alerts], Alerts], criterion: Criterion = Criterion.ALERTS_WRONG
) -> WrongWay:
    """Some alerts are changed."""

    def on(alerts: Alerts, _: Int64s) -> Parts:
        return [(0, alerts[~some(alerts)]), (0, change(alerts[some(alerts)]))]

    return _failed(name, sentence, criterion, on)


def _again(name: str, sentence: str, delay_us: int) -> WrongWay:
    return _failed(
        name, sentence, Criterion.ALERTS_DUPLICATED,
        lambda alerts, _: [(0, alerts), (delay_us, alerts[some(alerts)])],
    )  # fmt: skip


def _slow(name: str, sentence: str, criterion: Criterion, delay_us: Callable[[Alerts, Int64s], Int64s]) -> WrongWay:
    """All alerts come, and are what they should be."""

    def on(alerts: Alerts, age_us: Int64s) -> Parts:
        delays = delay_us(alerts, age_us)
        return [(int(delay), alerts[delays == delay]) for delay in np.unique(delays)]

    return _failed(name, sentence, criterion, on)


def _stamped(name: str, sentence: str, **shifts_us: int) -> WrongWay:
    """All alerts have stamps that are off by so much: the job's, whose clock is known, or the sender's."""

    def on(alerts: Alerts, _: Int64s) -> Parts:
        shifted = {stamp: np.maximum(getattr(alerts, stamp) + shift, 0) for stamp, shift in shifts_us.items()}
        return [(0, replace(alerts, **shifted))]

    if "sent_us" in shifts_us:
        return WrongWay(name, sentence, on, Verdict.VOID, frozenset({Criterion.STAMPS}))
    return _failed(name, sentence, Criterion.JOB_STAMPS, on)


def _unreadable(name: str, sentence: str, on: Callable[[Alerts], Alerts], beside: Callable[[bytes], bytes]) -> WrongWay:
    found = frozenset({Criterion.ALERTS_UNREADABLE})
    return WrongWay(name, sentence, lambda alerts, _: [(0, on(alerts))], Verdict.FAILED, found, beside)


def _between(age_us: Int64s, from_s: float, to_s: float) -> Bools:
    return (age_us >= from_s * _SECOND_US) & (age_us < to_s * _SECOND_US)


def _kind(alerts: Alerts) -> Int64s:
    """A number from 0 to 3 for each symbol."""
    return symbol_codes(alerts.symbol) % 997 % 4


def _invented(alerts: Alerts) -> Alerts:
    return Alerts.concatenate([alerts, replace(alerts, order_id=alerts.order_id + 1)])


WAYS = (
    _lost("one_in_40_lost", "every 40th alert is lost", lambda alerts, _: some(alerts)),
    _lost("symbols_lost", "alerts of some symbols are lost", lambda alerts, _: _kind(alerts) == 1),
    _lost("silent_at_end", "no alert comes after 7 s", lambda _, age_us: age_us > 7 * _SECOND_US),
    _lost("a_second_lost", "alerts of a second are lost", lambda _, age_us: _between(age_us, 5, 6)),
    _again("twice_at_once", "every 40th alert comes twice, without a restart", 0),
    _again("twice_later", "every 40th alert comes again after 300 ms, without a restart", 300_000),
    _changed("accepted_too", "accepted orders have alerts", _invented, Criterion.ALERTS_UNEXPECTED),
    _changed(
        "unknown_orders", "every 40th alert has an id that no order has",
        lambda some: replace(some, order_id=some.order_id + 10**8), Criterion.ALERTS_UNEXPECTED,
    ),
    *(
        _changed(
            f"{name}_off_by_one", f"every 40th alert has another {name}",
            partial(_one_more, name),
        )
        for name in ("account", "quantity", "price", "bid", "offer", "quote_sequence", "intended_us")
    ),
    _changed(
        "other_side", "every 40th alert has the other side",
        lambda some: replace(some, side=(ord("B") + ord("S") - some.side).astype(np.uint8)),
    ),
    _changed(
        "other_symbol", "every 40th alert has another symbol",
        lambda some: replace(some, symbol=np.full(len(some), b"ZZZZZZ", "S6")),
    ),
    _changed(
        "order_ids_mixed_up", "some alerts have the id of another order",
        lambda some: replace(some, order_id=np.roll(some.order_id, 1)),
    ),
    _changed(
        "exchanged_prices", "every 40th alert has bid and offer exchanged",
        lambda some: replace(some, bid=some.offer, offer=some.bid),
    ),
    _unreadable(
        "garbage", "every 40th alert is followed by bytes that are none",
        lambda alerts: alerts, lambda record: bytes(reversed(record)),
    ),
    _unreadable(
        "cut_off", "every 40th alert is cut off",
        lambda alerts: alerts[~some(alerts)], lambda record: record[:100],
    ),
    _slow(
        "stands_still", "alerts of 9 s come at the end of that time", Criterion.STALLED,
        lambda _, age_us: np.where(_between(age_us, 2, 11), 11 * _SECOND_US - age_us, 0),
    ),
    _slow(
        "some_keys_stop", "alerts of some keys come 9 s late, at the end of that time", Criterion.STALLED,
        lambda alerts, age_us: np.where((_kind(alerts) == 1) & _between(age_us, 2, 11), 11 * _SECOND_US - age_us, 0),
    ),
    _slow(
        "late_keys", "alerts of all but some keys come 9 s late", Criterion.LATENCY_P95,
        lambda alerts, _: np.where(_kind(alerts) > 0, 9 * _SECOND_US, 0),
    ),
    _slow(
        "falls_behind", "each second of alerts comes 500 ms later than the one before", Criterion.LAG_GROWING,
        lambda _, age_us: np.maximum(age_us, 0) // _SECOND_US * 500_000,
    ),
    _stamped("read_0", "read_us is 0", read_us=-(10**16)),
    _stamped("emitted_1_h_late", "alerts are stamped an hour late", emitted_us=3_600_000_000),
    _stamped("emitted_early", "emitted_us is a second early", emitted_us=-1_000_000),
    _stamped("job_ahead", "the job's clock is 10 s ahead", read_us=10_000_000, emitted_us=10_000_000),
    _stamped("job_behind", "the job's clock is 10 s behind", read_us=-10_000_000, emitted_us=-10_000_000),
    _stamped("sent_early", "sent_us is 100 ms early", sent_us=-100_000),
)  # fmt: skip
