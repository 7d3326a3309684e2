"""A right system's decisions hold, whatever the delays; each wrong system is found, its fault called by its name."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Int64s, encode
from market_spread.common.wire.layout import DECISION
from market_spread.loadgen.columns import Decisions, Orders, Quotes
from market_spread.loadgen.oracle.decisions import DecisionJudge, DecisionJudgement
from market_spread.loadgen.oracle.oracle import WHOLE_RUN
from market_spread.loadgen.oracle.quote_book import rejects
from tests.support.judging import is_right

SYMBOLS = np.array([b"AAPL  ", b"GOOG  ", b"TGT   "])
DELAY_US = 4_000


@dataclasses.dataclass(frozen=True)
class Market:
    """An input, what a right system decides on it, and when each of its quotes had met the state."""

    quotes: Quotes
    orders: Orders
    decisions: Decisions
    arrival_us: Int64s


def market(seed: int = 1, *, delay_us: int = DELAY_US, count: int = 4_000, apart_us: int = 2_000) -> Market:
    """Quotes and orders on separate ways of changing length: a system that takes each as it comes."""
    random = np.random.default_rng(seed)
    time_us = 1_000_000 + np.cumsum(random.integers(1, 2 * apart_us, count))
    is_quote = random.random(count) < 0.5
    is_quote[: len(SYMBOLS)] = True
    symbol = np.concatenate([SYMBOLS, SYMBOLS[random.integers(0, 3, count - 3)]])
    arrival_us = np.empty(count, np.int64)
    for way in (is_quote, ~is_quote):  # what is sent later on the same way does not come earlier
        arrival_us[way] = np.maximum.accumulate(time_us[way] + random.integers(0, delay_us, int(way.sum())))
    arrival_us[: len(SYMBOLS)] = time_us[: len(SYMBOLS)]
    n = int(is_quote.sum())
    bid = random.integers(9_000, 11_000, n)
    quotes = Quotes(symbol[is_quote], bid, bid + random.integers(0, 1_000, n), np.arange(n) + 7, time_us[is_quote])
    m = count - n
    orders = Orders(
        np.arange(m) + 100,
        symbol[~is_quote],
        np.where(random.random(m) < 0.5, ord("B"), ord("S")).astype(np.uint8),
        random.integers(0, 1_000, m),
        random.integers(-500, 500, m),
        random.integers(1, 20_000, m),
        time_us[~is_quote],
    )
    order_arrival_us = arrival_us[~is_quote]
    emitted = np.argsort(order_arrival_us, kind="stable")
    named = [newest(quotes, arrival_us[is_quote], orders.symbol[i], order_arrival_us[i]) for i in emitted]
    decisions = decided(quotes, orders[emitted], np.array(named), order_arrival_us[emitted] + 1)
    return Market(quotes, orders, decisions, arrival_us[is_quote])


def newest(quotes: Quotes, arrival_us: Int64s, symbol: Any, until_us: Any) -> int:
    return int(np.flatnonzero((quotes.symbol == symbol) & (arrival_us <= until_us))[-1])


def decided(quotes: Quotes, orders: Orders, named: Int64s, received_us: Int64s) -> Decisions:
    """Decisions of these orders on the named quotes."""
    bid, offer = quotes.bid[named], quotes.offer[named]
    return Decisions(
        **{field.name: getattr(orders, field.name) for field in dataclasses.fields(Orders)},
        bid=bid,
        offer=offer,
        quote_sequence=quotes.sequence[named],
        received_us=received_us,
        verdict=np.where(rejects(bid, offer), ord("R"), ord("A")).astype(np.uint8),
    )


def judged(given: Market, decisions: Decisions, **settings: Any) -> DecisionJudgement:
    judge = DecisionJudge(decisions, **settings)
    for begin in range(0, len(given.quotes), 700):
        judge.add_quotes(given.quotes[begin : begin + 700])
    for begin in range(0, len(given.orders), 900):
        judge.add_orders(given.orders[begin : begin + 900])
    return judge.judgement()


def counts(judgement: DecisionJudgement) -> dict[str, int]:
    names = ("missing", "unknown", "duplicated", "wrong", "stale")
    return {name: found for name in names if (found := getattr(judgement, name))}


def changed(decisions: Decisions, at: Any, **values: Any) -> Decisions:
    columns = {name: getattr(decisions, name).copy() for name in values}
    for name, value in values.items():
        columns[name][at] = value
    return dataclasses.replace(decisions, **columns)


@given(st.integers(0, 10_000), st.sampled_from([1, 50, 4_000, 60_000]))
def test_right_system_is_not_blamed(seed: int, delay_us: int) -> None:
    given = market(seed, delay_us=delay_us, count=400, apart_us=100)
    alerted = given.decisions.order_id[given.decisions.verdict == ord("R")]

    judgement = judged(given, given.decisions, alerted=alerted, delay_us=delay_us)

    assert is_right(judgement)
    assert counts(judgement) == {}
    assert judgement.orders == judgement.decided == len(given.orders)
    assert judgement.accepted == len(given.orders) - len(alerted)


def accepted_places(decisions: Decisions) -> Int64s:
    return np.flatnonzero(decisions.verdict == ord("A"))


def test_lost_decisions_are_missing() -> None:
    """A job that loses every hundredth order that it accepts."""
    given = market()
    lost = accepted_places(given.decisions)[::100]
    kept = np.ones(len(given.decisions), np.bool_)
    kept[lost] = False

    judgement = judged(given, given.decisions[kept])

    assert counts(judgement) == {"missing": len(lost)}
    assert not is_right(judgement)
    names = {f"order {given.decisions.order_id[i]} " for i in lost}
    assert len(judgement.sentences["missing"]) == 10
    assert all(said.partition("(")[0] in names for said in judgement.sentences["missing"])
    assert judgement.sentences["missing"][0].endswith(": it has no decision")


@pytest.mark.parametrize("allowed", [False, True])
def test_decision_that_is_written_twice_is_a_duplicate(allowed: bool) -> None:
    given = market()
    place = accepted_places(given.decisions)[5:6]
    twice = Decisions.concatenate([given.decisions, given.decisions[place]])
    if not allowed:
        twice = Decisions.concatenate(
            [given.decisions[: place[0] + 1], given.decisions[place], given.decisions[place[0] + 1 :]]
        )

    judgement = judged(given, twice, replayed=WHOLE_RUN if allowed else ())

    assert counts(judgement) == {"duplicated": 1}
    assert is_right(judgement) is allowed
    number = given.decisions.quote_sequence[place[0]]
    assert judgement.sentences["duplicated"][0].endswith(f"another decision accepts on quote {number}")


def test_decision_of_an_unknown_order_is_unknown() -> None:
    given = market()
    made_up = changed(given.decisions[-1:], 0, order_id=99)

    judgement = judged(given, Decisions.concatenate([given.decisions, made_up]))

    assert counts(judgement) == {"unknown": 1}
    symbol = made_up.symbol[0].decode().strip()
    assert judgement.sentences["unknown"] == (
        f"order 99 ({symbol}): it has a decision, but the input has no such order",
    )


def on_older_quotes(given: Market, steps: int, every: int) -> tuple[Decisions, Int64s]:
    """Every so many decisions taken on the quote that was newest so many quotes of the symbol before."""
    named = given.decisions.quote_sequence - given.quotes.sequence[0]
    stale = []
    for place in range(1_000, len(named), every):
        of_symbol = np.flatnonzero(given.quotes.symbol == given.decisions.symbol[place])
        named[place] = of_symbol[np.searchsorted(of_symbol, named[place]) - steps]
        stale.append(place)
    orders = Orders(*(getattr(given.decisions, field.name) for field in dataclasses.fields(Orders)))
    return decided(given.quotes, orders, named, given.decisions.received_us), np.array(stale)


def test_decisions_on_a_quote_that_was_replaced_long_before_are_stale() -> None:
    given = market()
    decisions, stale = on_older_quotes(given, steps=150, every=50)

    judgement = judged(given, decisions, replayed=WHOLE_RUN)

    assert counts(judgement) == {"stale": len(stale)}
    assert "was replaced too early for the order to meet it" in judgement.sentences["stale"][0]


def test_quotes_that_are_late_by_a_second_are_stale_away_from_a_standstill() -> None:
    """As long as a standstill of two seconds elsewhere: the bound is that of the time, not the longest of the run."""
    given = market(apart_us=10_000)
    orders = Orders(*(getattr(given.decisions, field.name) for field in dataclasses.fields(Orders)))
    received_us = given.decisions.received_us.copy()
    middle_us = int(np.median(orders.intended_us))
    held_up = (received_us > middle_us) & (received_us < middle_us + 2_000_000)
    received_us[held_up] = middle_us + 2_000_000
    until_us = np.maximum(given.decisions.received_us - 1_000_000, given.arrival_us[: len(SYMBOLS)].max())
    late = [
        newest(given.quotes, given.arrival_us, symbol, until)
        for symbol, until in zip(orders.symbol, until_us, strict=True)
    ]

    judgement = judged(given, decided(given.quotes, orders, np.array(late), received_us))

    assert counts(judgement).keys() == {"stale"}
    assert judgement.stale > 0.4 * len(orders)
    assert not is_right(judgement)


def test_decision_on_the_quote_before_is_stale_whatever_the_delays_are() -> None:
    """Within the bound on delays it may be right; but a newer quote of the symbol had been used."""
    given = market()
    decisions, stale = on_older_quotes(given, steps=1, every=50)

    judgement = judged(given, decisions, delay_us=10**9)

    assert set(counts(judgement)) == {"stale"}
    assert len(stale) * 0.2 < judgement.stale <= len(stale)
    assert "after a newer one was used" in judgement.sentences["stale"][0]


def test_job_whose_state_never_changes_is_stale() -> None:
    given = market()
    first = np.array([np.flatnonzero(given.quotes.symbol == symbol)[0] for symbol in given.decisions.symbol])
    orders = Orders(*(getattr(given.decisions, field.name) for field in dataclasses.fields(Orders)))

    judgement = judged(given, decided(given.quotes, orders, first, given.decisions.received_us))

    assert set(counts(judgement)) == {"stale"}
    assert judgement.stale > 0.7 * len(orders)


def test_job_that_forgets_its_state_is_stale() -> None:
    given = market()
    forgotten = changed(given.decisions, 1_000, bid=0, offer=0, quote_sequence=0, verdict=ord("R"))

    judgement = judged(given, forgotten, replayed=WHOLE_RUN)

    assert counts(judgement) == {"stale": 1}
    assert "it names no quote, but there was one before the order" in judgement.sentences["stale"][0]


def test_order_before_its_symbols_first_quote_is_rejected_on_none() -> None:
    given = market()
    early = dataclasses.replace(given.orders[:1], intended_us=np.array([999_000]), order_id=np.array([5]))
    nothing = np.zeros(1, np.int64)
    none = dataclasses.replace(
        decided(given.quotes, early, nothing, np.array([999_500])),
        bid=nothing, offer=nothing, quote_sequence=nothing, verdict=np.array([ord("R")], np.uint8),
    )  # fmt: skip
    with_it = dataclasses.replace(given, orders=Orders.concatenate([early, given.orders]))

    assert is_right(judged(with_it, Decisions.concatenate([none, given.decisions])))


Change = Callable[[Decisions, int], dict[str, Any]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d, i: {"symbol": b"XYZ   "}, "it says symbol XYZ, the order "),
        (lambda d, i: {"side": ord("B") + ord("S") - d.side[i]}, "it says side "),
        (lambda d, i: {"account": d.account[i] + 1}, "it says account "),
        (lambda d, i: {"quantity": -d.quantity[i] - 1}, "it says quantity "),
        (lambda d, i: {"price": d.price[i] + 1}, "it says price "),
        (lambda d, i: {"intended_us": d.intended_us[i] + 1}, "it says intended_us "),
        (lambda d, i: {"bid": d.bid[i] - 1}, ", the input "),
        (lambda d, i: {"verdict": ord("R")}, "which accepts"),
        (lambda d, i: {"quote_sequence": 10**11}, "the input has no quote 100000000000 of this symbol"),
    ],
)
def test_decision_that_says_something_else_is_wrong(change: Change, said: str) -> None:
    given = market()
    place = int(accepted_places(given.decisions)[-1])

    judgement = judged(given, changed(given.decisions, place, **change(given.decisions, place)))

    assert judgement.wrong == 1
    assert said in judgement.sentences["wrong"][0]
    assert not is_right(judgement)


def test_quote_that_was_not_yet_sent_is_wrong() -> None:
    given = market()
    place = 100  # of some 2,000, so that the newest quote is seconds later
    later = np.flatnonzero(given.quotes.symbol == given.decisions.symbol[place])[-1]
    orders = Orders(*(getattr(given.decisions, field.name) for field in dataclasses.fields(Orders)))
    named = given.decisions.quote_sequence - given.quotes.sequence[0]
    named[place] = later

    judgement = judged(given, decided(given.quotes, orders, named, given.decisions.received_us), replayed=WHOLE_RUN)

    assert counts(judgement) == {"wrong": 1}
    assert "came too late for the order to meet it" in judgement.sentences["wrong"][0]


def test_wrong_threshold_is_found_by_the_verdicts() -> None:
    """A job that rejects from 4 cents on is consistent with itself, and not with the rule."""
    given = market()
    spread = given.decisions.offer - given.decisions.bid
    between = (spread >= 400) & (given.decisions.verdict == ord("A"))

    judgement = judged(given, changed(given.decisions, between, verdict=ord("R")))

    assert counts(judgement) == {"wrong": int(between.sum())}
    assert int(between.sum()) > 20


def test_decisions_must_agree_with_the_alerts() -> None:
    given = market()
    rejected = given.decisions.order_id[given.decisions.verdict == ord("R")]
    accepted = given.decisions.order_id[accepted_places(given.decisions)]

    judgement = judged(given, given.decisions, alerted=np.concatenate([rejected[1:], accepted[:1]]))

    assert counts(judgement) == {"wrong": 2}
    said = " ".join(judgement.sentences["wrong"])
    assert "it rejects, but there is no alert" in said
    assert "it accepts, but there is an alert" in said


def test_no_decisions_are_all_missing() -> None:
    given = market()

    judgement = judged(given, given.decisions[:0])

    assert counts(judgement) == {"missing": len(given.orders)}


def test_rows_become_columns_and_a_bad_one_is_named() -> None:
    given = market(count=40).decisions
    columns = {field.name: getattr(given, field.name) for field in dataclasses.fields(Decisions)}
    stamps = dict.fromkeys(("sent_us", "read_us", "emitted_us"), given.intended_us)
    rows = encode(DECISION, {**columns, **stamps})

    read = Decisions.from_rows(rows, given.received_us)

    assert all((getattr(read, name) == column).all() for name, column in columns.items())
    rows[3, -1] = ord("X")
    with pytest.raises(UsageError, match=f"message 3 of {len(rows)} is no decision message"):
        Decisions.from_rows(rows, given.received_us)
    assert len(Decisions.from_rows(rows[:0], given.received_us[:0])) == 0
