"""The messages, seven orders after each quote, and what is right: an alert for each order in too wide a market.

Nothing orders one topic against the other. So quotes go round the symbols, and an order comes half a round after its
symbol's last quote and half a round before the next: 1 s at 400 messages a second. For six rounds all are too wide, so
a system that starts slowly, and first reads the one topic and then the other, is not blamed. Ids are in the order sent.
"""

import json
import random
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

_SYMBOLS, _ORDERS = 100, 7
_BIDS, _SPREADS = (2_000, 500_000), (50, 300, 499, 500, 700)  # 1/10,000 dollar; 500 and 5% of the mid are too wide


def quotes(seed: int) -> Iterator[dict[str, Any]]:
    """Quotes for as long as the load goes on. The same seed gives the same ones."""
    draw = random.Random(seed)
    for number in count():
        bid, spread = draw.choice(_BIDS), draw.choice(_SPREADS if number >= 6 * _SYMBOLS else _SPREADS[-1:])
        yield {"id": number * (1 + _ORDERS), "symbol": f"S{number % _SYMBOLS}", "bid": bid, "offer": bid + spread}


def orders(_seed: int) -> Iterator[dict[str, Any]]:
    """Orders, likewise."""
    for number in count():
        quotes, nth = divmod(number, _ORDERS)
        yield {"id": quotes * (1 + _ORDERS) + 1 + nth, "symbol": f"S{(quotes + _SYMBOLS // 2) % _SYMBOLS}"}


def check(messages: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """A message and its output, for every output that is to come."""
    newest: dict[str, dict[str, Any]] = {}
    for message in messages:
        said = json.loads(message.value)
        if "bid" in said:
            newest[said["symbol"]] = said
            continue
        quote = newest.get(said["symbol"], {"bid": 0, "offer": 0})
        spread, mid = quote["offer"] - quote["bid"], (quote["offer"] + quote["bid"]) / 2
        if spread >= 500 or spread >= 0.05 * mid:
            yield message, said
