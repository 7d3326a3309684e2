"""The rule, at its boundaries: exact, and the same for integers and arrays. Prices are in 1/10,000 dollar."""

from fractions import Fraction

import numpy as np
import pytest

from market_spread.streaming.applications.market_spread import too_wide

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
    # A mid below zero: no market, unless crossed by more than 5% of it. The reference, which divides, differs.
    (-1_000, -990, True),
    (-1_000, -1_000, True),
    (-5, 5, True),  # a mid of zero
    (-990, -1_000, True),
    (-950, -1_050, False),
]


def test_multiplied_out_the_rule_is_the_reference_s_wherever_the_mid_is_above_zero() -> None:
    for bid in range(-300, 12_000, 97):
        for offer in range(1 - bid if bid <= 0 else max(1 - bid, bid - 700), bid + 900, 13):
            d, mid = Fraction(offer - bid, 10_000), Fraction(bid + offer, 20_000)

            assert too_wide(bid, offer) is (d >= Fraction(5, 100) or d / mid >= Fraction(5, 100))


@pytest.mark.parametrize(("bid", "offer", "rejects"), TABLE)
def test_quote_rejects_from_five_cents_or_five_percent_on(bid: int, offer: int, rejects: bool) -> None:
    verdict = too_wide(bid, offer)

    assert verdict is rejects


def test_arrays_give_the_verdicts_of_integers() -> None:
    quotes = np.array([(bid, offer) for bid, offer, _ in TABLE], np.int64)

    verdicts = too_wide(quotes[:, 0], quotes[:, 1])

    assert verdicts.dtype == np.bool_
    assert verdicts.tolist() == [rejects for _, _, rejects in TABLE]
