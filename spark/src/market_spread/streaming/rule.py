"""The rule of Market Spread, for every mode: when a market's spread is too wide to trade in.

The reference's rule (`d >= 0.05 or d / mid >= 0.05` dollars) without the division, exact for integers, numpy arrays and
Spark columns alike. The two agree wherever the mid is above zero; docs/architecture.md says what becomes of others.
Prices are in 1/10,000 dollar.
"""

from typing import Any

SPREAD_MAX = 500  # 1/10,000 dollar: 5 cents


def too_wide(bid: Any, offer: Any) -> Any:
    """Whether orders are rejected on this quote: a spread of at least 5 cents, or of at least 5% of the mid.

    So a quote of 0 and 0 is no market and rejects, as does any that is not crossed with a mid below zero; a crossed
    one (offer below bid) with a mid above zero does not.
    """
    spread = offer - bid
    return (spread >= SPREAD_MAX) | (40 * spread >= bid + offer)
