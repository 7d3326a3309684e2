"""The oracle on a generated market, against a system that takes every message at its intended time."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET
from market_spread.loadgen.oracle.quote_book import rejects
from tests.support.judging import is_right, judge

START_NS = 1_700_000_000_000_000_000
Input = tuple[Quotes, Orders]


@pytest.fixture(scope="module")
def market_input() -> Input:
    quotes, orders = [], []
    for seconds, phase in enumerate(["initial", "warm_up", "measured"]):
        parameters = {
            "seed": 7,
            "symbols": 350,
            "buckets": 2,
            "phase": phase,
            "profile": {"profile": "constant", "messages_per_s": 20_000, "duration_s": 1},
        }
        market = Market(MARKET.read(parameters), START_NS + seconds * 10_000_000_000)
        for block in market.blocks():
            quotes.append(Quotes.from_rows(block.quotes.rows))
            orders.append(Orders.from_rows(block.orders.rows))
    return Quotes.concatenate(quotes), Orders.concatenate(orders)


def is_rejected(bid: int, offer: int) -> bool:
    return offer - bid >= 500 or 40 * (offer - bid) >= bid + offer


def alerted(
    quotes: Quotes,
    orders: Orders,
    *,
    withheld: bytes = b"",
    rule: Callable[[int, int], bool] = is_rejected,
    never_updated: bool = False,
) -> Alerts:
    """What a system alerts that never sees the quotes of the withheld symbol; each order is read after 200 us."""
    newest: dict[bytes, int] = {}
    places, seen = [], []
    for _, is_order, place in _events(quotes, orders):
        if not is_order:
            symbol = quotes.symbol[place]
            if symbol != withheld and not (never_updated and symbol in newest):
                newest[symbol] = place
            continue
        quote = newest.get(orders.symbol[place], -1)
        bid, offer = (int(quotes.bid[quote]), int(quotes.offer[quote])) if quote >= 0 else (0, 0)
        if quote < 0 or rule(bid, offer):
            places.append(place)
            seen.append((bid, offer, int(quotes.sequence[quote]) if quote >= 0 else 0))
    their = orders[np.array(places, np.int64)]
    named = np.array(seen, np.int64)
    read_us = their.intended_us + 200
    return Alerts(
        their.order_id, their.symbol, their.side, their.account, their.quantity, their.price,
        their.intended_us, named[:, 0], named[:, 1], named[:, 2], read_us, read_us, read_us, read_us,
    )  # fmt: skip


def _events(quotes: Quotes, orders: Orders) -> Iterator[tuple[int, bool, int]]:
    events = [(int(time_us), False, place) for place, time_us in enumerate(quotes.intended_us)]
    events += [(int(time_us), True, place) for place, time_us in enumerate(orders.intended_us)]
    return iter(sorted(events))


def test_right_system_has_no_fault_and_no_order_is_undecided(market_input: Input) -> None:
    quotes, orders = market_input

    judgement = judge(quotes, orders, alerted(quotes, orders))

    assert is_right(judgement)
    assert judgement.undecided < 100  # those that are sent within some 50 ms of a change of their verdict
    assert 200 < judgement.expected <= judgement.received <= judgement.expected + judgement.undecided
    assert judgement.delay_us == 200


def test_withheld_quotes_of_one_symbol_turn_the_verdict(market_input: Input) -> None:
    quotes, orders = market_input
    accepting = np.setdiff1d(quotes.symbol, quotes.symbol[rejects(quotes.bid, quotes.offer)])
    tight = accepting[np.argmax([(orders.symbol == symbol).sum() for symbol in accepting])]

    judgement = judge(quotes, orders, alerted(quotes, orders, withheld=tight))

    assert not is_right(judgement)
    assert judgement.unexpected == int((orders.symbol == tight).sum()) > 0
    assert (judgement.missing, judgement.wrong) == (0, 0)


@pytest.mark.parametrize(
    "rule",
    [
        lambda bid, offer: offer - bid >= 400 or 40 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 499 or 40 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 501 or 40 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 500,
        lambda bid, offer: 40 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 500 or 39 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 500 or 41 * (offer - bid) >= bid + offer,
        lambda bid, offer: offer - bid >= 500 or 40 * (offer - bid) > bid + offer,
        lambda bid, offer: is_rejected(min(bid, offer), max(bid, offer)),
        lambda bid, offer: is_rejected(bid, offer) and offer > 0,
    ],
    ids=["400", "499", "501", "cents alone", "percent alone", "39", "41", ">", "abs", "0/0 accepts"],
)
def test_system_with_a_rule_near_the_right_one_is_found(market_input: Input, rule: Callable[[int, int], bool]) -> None:
    quotes, orders = market_input

    judgement = judge(quotes, orders, alerted(quotes, orders, rule=rule))

    assert not is_right(judgement)
    assert judgement.missing + judgement.unexpected > 10


def test_system_that_keeps_each_symbol_s_first_quote_is_found(market_input: Input) -> None:
    quotes, orders = market_input

    judgement = judge(quotes, orders, alerted(quotes, orders, never_updated=True))

    assert not is_right(judgement)
    assert judgement.unexpected + judgement.wrong > 20
