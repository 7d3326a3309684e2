"""The rule, at its boundaries: exact, and the same for integers and arrays. Prices are in 1/10,000 dollar."""

import numpy as np
import pytest

from market_spread.streaming.rule import too_wide

# bid, offer, and whether orders are rejected on them.
TABLE = [
    (0, 0, True),  # no market
    (0, 1, True),
    (1, 0, False),  # crossed
    (1_000_500, 1_000_000, False),  # crossed by 5 cents
    (1_000_000, 1_000_000, False),  # locked
    (100_000, 100_499, False),
    (100_000, 100_500, True),  # $10.00/$10.05
    (1_000_000, 1_000_499, False),
    (1_000_000, 1_000_500, True),  # $100.00/$100.05, where a floating-point spread falls short of 5 cents
    (6_000_000, 6_000_500, True),  # $600.00/$600.05, the same
    (3_900, 4_100, True),  # 5% of the mid exactly
    (3_901, 4_100, False),
    (2_800, 2_943, False),
    (2_800, 2_944, True),  # 1.44 cents are 5% of $0.2872
    (9_750, 10_249, False),  # at a mid of $1 both limits are 5 cents
    (9_750, 10_250, True),
    (9_999_999_499, 9_999_999_998, False),  # the highest prices that a message holds
    (9_999_999_499, 9_999_999_999, True),
    (9_999_999_999, 0, False),
]


@pytest.mark.parametrize(("bid", "offer", "rejects"), TABLE)
def test_quote_rejects_from_five_cents_or_five_percent_on(bid: int, offer: int, rejects: bool) -> None:
    verdict = too_wide(bid, offer)

    assert verdict is rejects


def test_arrays_give_the_verdicts_of_integers() -> None:
    quotes = np.array([(bid, offer) for bid, offer, _ in TABLE], np.int64)

    verdicts = too_wide(quotes[:, 0], quotes[:, 1])

    assert verdicts.dtype == np.bool_
    assert verdicts.tolist() == [rejects for _, _, rejects in TABLE]
