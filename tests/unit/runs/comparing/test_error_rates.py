"""How often a comparison errs, by simulation: the promises of docs/comparing.md.

The seeds are fixed, so a failure is a change of the method and not of luck. tests/benchmarks/verdict_rates has the
whole tables.
"""

import pytest

from tests.benchmarks.verdict_rates.simulated import NOISES, even, rates

REPETITIONS = 200


@pytest.mark.parametrize(
    ("noise", "noise_share"), [("normal", 0.03), ("normal", 0.08), *((name, 0.2) for name in NOISES)]
)
def test_same_code_is_called_better_or_worse_in_at_most_five_of_a_hundred(noise: str, noise_share: float) -> None:
    found = rates(
        repetitions=REPETITIONS, pairs=8, noise_share=noise_share, slower_share=0.0, noise=NOISES[noise], seed=7
    )

    assert found.any_wrong <= 0.05


def test_a_tenth_slower_at_three_percent_noise_is_found_nine_times_in_ten() -> None:
    found = rates(repetitions=REPETITIONS, pairs=8, noise_share=0.03, slower_share=0.1, noise=even, seed=8)

    assert found.p99_worse >= 0.9


def test_same_code_at_little_noise_is_called_the_same() -> None:
    found = rates(repetitions=REPETITIONS, pairs=8, noise_share=0.01, slower_share=0.0, noise=even, seed=9)

    assert found.p99_same >= 0.95


def test_a_shift_below_what_matters_is_seldom_called_worse() -> None:
    found = rates(repetitions=REPETITIONS, pairs=8, noise_share=0.03, slower_share=0.02, noise=even, seed=10)

    assert found.p99_worse <= 0.05
