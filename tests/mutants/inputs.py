"""What simulated systems are given: markets that exercise every clause of the rule, every key and every change."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.columns import Orders, Quotes
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET

BEGIN_US = 1_700_000_000_000_000
SECONDS = 15
_SECOND_US = 1_000_000
INITIAL_US = BEGIN_US - 10 * _SECOND_US
_PROBES, _TIGHT = 60, 20
_PERIOD_US = 6 * _SECOND_US
_QUOTES_PER_S, _ORDERS_PER_S = 1_000, 400


@dataclass(frozen=True, slots=True)
class Input:
    """Quotes (the initial ones first) and orders as they are sent, both ascending by intended time."""

    quotes: Quotes
    orders: Orders


@cache
def hand_made(seed: int) -> Input:
    """60 symbols take turns at being wide for 80% of 6 s, close to the rule's bounds; 20 are tight, one has no quote.

    Every fifth takes 120 s in place of 6, so that a job that is seconds behind can be judged.
    Half of the 60 are below a dollar, where 5% of the mid decides, the others above, where 5 cents do; now and then a
    quote is crossed, is 0/0, or an older one is sent again.
    """
    drawn = np.random.default_rng(seed)
    names = np.array([f"P{number:<5}".encode() for number in range(_PROBES + _TIGHT)], "S6")
    count = _QUOTES_PER_S * SECONDS
    ids = np.concatenate([np.arange(len(names)), drawn.integers(0, len(names), count)])
    intended_us = np.concatenate(
        [INITIAL_US + np.arange(len(names)) * 20, BEGIN_US + np.arange(count) * _SECOND_US // _QUOTES_PER_S]
    )
    period_us = np.where(ids % 5 == 4, 20 * _PERIOD_US, _PERIOD_US)
    phase_us = (intended_us + ids * period_us // _PROBES) % period_us
    wide = (ids < _PROBES) & (phase_us < 0.8 * period_us)
    bid, offer = _prices(drawn, ids, wide)
    sequence = np.arange(1, len(ids) + 1)
    quotes = Quotes(names[ids], bid, offer, sequence, intended_us)
    return Input(_with_some_sent_again(drawn, quotes), _orders(drawn, np.append(names, np.bytes_(b"NONE  "))))


def _prices(drawn: np.random.Generator, ids: Int64s, wide: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    cheap = ids % 2 == 0
    kind = drawn.integers(0, 8, len(ids))
    # 39 * spread - 2 * bid is 40 * spread - (bid + offer): 0 or 1 rejects just so, -1 or -2 is just accepted.
    spread = drawn.integers(5, 200, len(ids)) * 2 + kind % 2
    cheap_bid = (39 * spread + np.where(wide, -(kind % 2), 2 - kind % 2)) // 2
    cheap_bid = np.where(wide & (kind == 2), cheap_bid // 3, cheap_bid)  # far from the bound
    dear_bid = 1_000_000 + drawn.integers(0, 1_000, len(ids))
    wide_spreads = np.array([500, 501, 950, 501, 20_000, 501, 500, 501])
    dear_spread = np.where(wide, wide_spreads[kind], np.array([499, 499, 0, 100, 420, 499, -600, 499])[kind])
    bid = np.where(cheap, cheap_bid, dear_bid)
    offer = bid + np.where(cheap, spread, dear_spread)
    nothing = wide & ~cheap & (ids % 10 == 3) & (kind > 4)
    return np.where(nothing, 0, bid), np.where(nothing, 0, offer)


def _with_some_sent_again(drawn: np.random.Generator, quotes: Quotes) -> Quotes:
    late = np.flatnonzero(quotes.intended_us > BEGIN_US + 2 * _SECOND_US)
    later = np.sort(drawn.choice(late, len(late) // 100, replace=False))
    older = np.searchsorted(quotes.intended_us, quotes.intended_us[later] - 2 * _SECOND_US)
    again = quotes[older]
    again = Quotes(again.symbol, again.bid, again.offer, again.sequence, quotes.intended_us[later])
    both = Quotes.concatenate([quotes, again])
    return both[np.argsort(both.intended_us, kind="stable")]


def _orders(drawn: np.random.Generator, names: npt.NDArray[np.bytes_]) -> Orders:
    count = _ORDERS_PER_S * SECONDS
    is_probe = drawn.random(count) < 0.5
    ids = np.where(is_probe, drawn.integers(0, _PROBES, count), drawn.integers(_PROBES, len(names), count))
    return Orders(
        order_id=np.arange(1, count + 1),
        symbol=names[ids],
        side=np.where(drawn.random(count) < 0.5, np.uint8(ord("B")), np.uint8(ord("S"))),
        account=drawn.integers(1, 300, count),
        quantity=10 * drawn.integers(1, 65, count),
        price=drawn.integers(1, 1_000, count) * 10_000,
        intended_us=BEGIN_US + np.arange(count) * _SECOND_US // _ORDERS_PER_S + 7,
    )


@cache
def generated(seed: int, changing_symbols: int = 8, seconds: int = SECONDS) -> Input:
    """A generated market, 3,000 messages a second, with some symbols whose every quote is wide or tight by a coin."""
    quotes, orders = [], []
    for phase, start_us in (("initial", INITIAL_US), ("measured", BEGIN_US)):
        for theirs, these in _rows(seed, phase, start_us, changing_symbols, seconds):
            quotes.append(theirs)
            orders.append(these)
    return Input(Quotes.concatenate(quotes), Orders.concatenate(orders))


def _rows(seed: int, phase: str, start_us: int, changing_symbols: int, seconds: int) -> Iterator[tuple[Quotes, Orders]]:
    profile = {"profile": "constant", "messages_per_s": 3_000, "duration_s": seconds}
    parameters = {
        "seed": seed, "buckets": 4, "phase": phase, "profile": profile, "changing_symbols": changing_symbols,
    }  # fmt: skip
    for block in Market(MARKET.read(parameters), start_us * 1000).blocks():
        yield Quotes.from_rows(block.quotes.rows), Orders.from_rows(block.orders.rows)
