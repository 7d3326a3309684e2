"""The search for the highest rate that is held, on systems whose limit is known."""

import math
import random
from collections.abc import Callable

import pytest

from market_spread.runs.searching.objectives import Outcome
from market_spread.runs.searching.search import Found, Search, Try, next_step, round_rate

HELD, BROKEN, VOID = Outcome.HELD, Outcome.BROKEN, Outcome.VOID
LIMIT = 137_000

System = Callable[[int], Outcome]


def search(**changes: object) -> Search:
    defaults = {"start": 20_000, "low": 100, "high": 10_000_000, "curve": False}
    return Search(**{**defaults, **changes})  # type: ignore[arg-type]


def exact(rate: int) -> Outcome:
    return HELD if rate <= LIMIT else BROKEN


def noisy(seed: int, noise: float) -> System:
    """A system whose limit is another one in every run, by that share."""
    lot = random.Random(seed)
    return lambda rate: HELD if rate <= LIMIT * math.exp(lot.gauss(0, noise)) else BROKEN


def carry_out(of: Search, system: System, runs_max: int = 60) -> tuple[Found, dict[int, list[Outcome]]]:
    tried: dict[int, list[Outcome]] = {}
    for _ in range(runs_max):
        step = next_step(of, tried)
        if isinstance(step, Found):
            return step, tried
        assert of.low <= step.rate <= of.high
        tried.setdefault(step.rate, []).append(system(step.rate))
    raise AssertionError(f"no end after {runs_max} runs: {tried}")


def test_first_is_the_start() -> None:
    assert next_step(search(), {}) == Try(20_000, "bracket")


def test_a_rate_that_is_held_is_doubled_and_one_that_is_not_is_halved() -> None:
    assert next_step(search(), {20_000: [HELD]}) == Try(40_000, "bracket")
    assert next_step(search(), {20_000: [BROKEN]}) == Try(10_000, "bracket")


def test_between_the_ends_the_middle_in_ratio_is_next() -> None:
    assert next_step(search(), {20_000: [HELD], 40_000: [BROKEN]}) == Try(28_300, "bisect")


def test_ends_that_are_near_are_confirmed_the_lower_one_first() -> None:
    assert next_step(search(), {20_000: [HELD], 20_900: [BROKEN]}) == Try(20_000, "confirm")
    assert next_step(search(), {20_000: [HELD, HELD], 20_900: [BROKEN]}) == Try(20_900, "confirm")
    assert next_step(search(), {20_000: [HELD, HELD], 20_900: [BROKEN, BROKEN]}) == Found(20_000, 20_900)


def test_runs_that_say_both_are_decided_by_one_more() -> None:
    assert next_step(search(), {20_000: [HELD, BROKEN], 40_000: [BROKEN]}) == Try(20_000, "again")


def test_an_end_that_does_not_stand_opens_the_search_again() -> None:
    lower = {10_000: [HELD], 20_000: [HELD, BROKEN, BROKEN], 20_900: [BROKEN]}
    upper = {20_000: [HELD, HELD], 20_900: [BROKEN, HELD, HELD], 40_000: [BROKEN]}

    assert next_step(search(), lower) == Try(14_100, "bisect")
    assert next_step(search(), upper) == Try(28_900, "bisect")


def test_a_void_run_is_made_again_and_the_third_is_the_end_of_the_rig() -> None:
    assert next_step(search(), {20_000: [VOID]}) == Try(20_000, "again")
    assert next_step(search(), {20_000: [VOID, VOID, VOID]}) == Try(10_000, "bracket")
    assert next_step(search(), {19_600: [HELD, HELD], 20_000: [VOID, VOID, VOID]}) == Found(19_600, 20_000, True)


def test_limit_is_found_within_the_precision() -> None:
    found, tried = carry_out(search(), exact)

    assert found.held is not None
    assert found.broken is not None
    assert found.held <= LIMIT < found.broken <= found.held * 1.05
    assert sum(map(len, tried.values())) <= 12


@pytest.mark.parametrize("start", [100, 137_000, 5_000_000])
def test_limit_is_found_from_any_start(start: int) -> None:
    found, _ = carry_out(search(start=start), exact)

    assert found.held is not None
    assert LIMIT / 1.05 <= found.held <= LIMIT


def test_limit_of_a_noisy_system_is_found_near_it() -> None:
    answers = [carry_out(search(), noisy(seed, 0.05))[0].held for seed in range(200)]

    near = [held for held in answers if held is not None and abs(held / LIMIT - 1) <= 0.1]
    assert len(near) >= 190


def test_a_run_that_fails_by_chance_does_not_move_the_answer_far() -> None:
    def with_flukes(seed: int) -> System:
        lot = random.Random(seed)
        return lambda rate: BROKEN if lot.random() < 0.05 else exact(rate)

    answers = [carry_out(search(), with_flukes(seed))[0].held for seed in range(200)]

    near = [held for held in answers if held is not None and abs(held / LIMIT - 1) <= 0.1]
    assert len(near) >= 190


def test_search_goes_on_at_any_point_as_if_it_had_never_stopped() -> None:
    found, tried = carry_out(search(), exact)
    order = [(rate, outcome) for rate, outcomes in tried.items() for outcome in outcomes]

    for cut in range(len(order)):
        partly: dict[int, list[Outcome]] = {}
        for rate, outcome in order[:cut]:
            partly.setdefault(rate, []).append(outcome)
        step = next_step(search(), partly)
        while isinstance(step, Try):
            partly.setdefault(step.rate, []).append(exact(step.rate))
            step = next_step(search(), partly)
        assert step == found


def test_a_system_that_holds_everything_ends_at_the_highest_rate() -> None:
    found, _ = carry_out(search(high=100_000), lambda rate: HELD)

    assert found == Found(100_000, None)


def test_a_system_that_holds_nothing_ends_at_the_lowest_rate() -> None:
    found, _ = carry_out(search(low=5_000), lambda rate: BROKEN)

    assert found == Found(None, 5_000)


def test_curve_has_shares_of_what_was_found() -> None:
    found, tried = carry_out(search(curve=True), exact)

    assert found.held is not None
    for share in (0.5, 0.8, 0.95):
        assert any(abs(rate / (found.held * share) - 1) < 0.035 for rate in tried)


@pytest.mark.parametrize(("rate", "rounded"), [(28_284, 28_300), (999, 999), (1_234_567, 1_230_000), (7, 7)])
def test_rates_have_three_digits_that_count(rate: float, rounded: int) -> None:
    assert round_rate(rate) == rounded
