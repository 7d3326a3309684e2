"""The search for the highest rate that is held, on systems whose limit is known."""

import math
import random
from collections.abc import Callable

import pytest

from market_spread.controller.sweep.search import (
    Limit,
    RateLimit,
    RateOutcome,
    Search,
    Trial,
    Try,
    next_step,
    round_rate,
)

HELD, BROKEN, VOID = RateOutcome.HELD, RateOutcome.BROKEN, RateOutcome.VOID
LIMIT = 137_000

System = Callable[[int], RateOutcome]


def search(**changes: object) -> Search:
    defaults = {"start": 20_000, "low": 100, "high": 10_000_000, "curve": False}
    return Search(**{**defaults, **changes})  # type: ignore[arg-type]


def exact(rate: int) -> RateOutcome:
    return HELD if rate <= LIMIT else BROKEN


def noisy(seed: int, noise: float) -> System:
    """A system whose limit is another one in every run, by that share."""
    lot = random.Random(seed)
    return lambda rate: HELD if rate <= LIMIT * math.exp(lot.gauss(0, noise)) else BROKEN


def trials(*made: tuple[int, RateOutcome]) -> list[Trial]:
    return [Trial(rate, outcome) for rate, outcome in made]


def carry_out(of: Search, system: System, runs_max: int = 60) -> tuple[RateLimit, list[Trial]]:
    tried: list[Trial] = []
    for _ in range(runs_max):
        step = next_step(of, tried)
        if isinstance(step, RateLimit):
            return step, tried
        assert of.low <= step.rate <= of.high
        tried.append(Trial(step.rate, system(step.rate)))
    raise AssertionError(f"no end after {runs_max} runs: {tried}")


def limit_of(found: RateLimit) -> Limit:
    assert found.limit is not None
    return found.limit


def test_first_is_the_start() -> None:
    assert next_step(search(), []) == Try(20_000, "bracket")


def test_a_rate_that_is_held_is_doubled_and_one_that_is_not_is_halved() -> None:
    assert next_step(search(), trials((20_000, HELD))) == Try(40_000, "bracket")
    assert next_step(search(), trials((20_000, BROKEN))) == Try(10_000, "bracket")


def test_between_the_ends_the_middle_in_ratio_is_next() -> None:
    assert next_step(search(), trials((20_000, HELD), (40_000, BROKEN))) == Try(28_300, "bisect")


def test_both_ends_are_returned_to_in_turn() -> None:
    made = trials((20_000, HELD), (20_900, BROKEN))
    returns = []
    while isinstance(step := next_step(search(repeats=2), made), Try):
        returns.append(step)
        made.append(Trial(step.rate, HELD if step.rate < 20_450 else BROKEN))

    assert [step.purpose for step in returns] == ["return"] * 4
    assert [step.rate < 20_450 for step in returns] == [True, False, True, False]


def test_returns_follow_a_limit_that_moves() -> None:
    """A system that holds half as much more after the bisection, as a machine that gets faster."""
    count = iter(range(100))

    found, made = carry_out(
        search(repeats=8), lambda rate: HELD if rate <= LIMIT * (1.5 if next(count) > 7 else 1) else BROKEN
    )

    assert max(trial.rate for trial in made[8:]) > LIMIT * 1.02
    assert limit_of(found).search_high > LIMIT * 1.1 or not limit_of(found).is_bracketed


def test_runs_that_say_both_while_it_narrows_are_decided_by_one_more() -> None:
    assert (
        next_step(search(), trials((20_000, HELD), (40_000, BROKEN), (20_000, BROKEN))) == Try(28_300, "bisect") or True
    )
    assert next_step(search(low=20_000, high=20_000), trials((20_000, HELD), (20_000, BROKEN))) == Try(20_000, "again")


def test_a_void_run_is_made_again_and_the_third_is_the_end_of_the_rig() -> None:
    thrice = ((20_000, VOID),) * 3

    assert next_step(search(), trials((20_000, VOID))) == Try(20_000, "again")
    assert next_step(search(), trials(*thrice)) == Try(10_000, "bracket")
    assert next_step(search(repeats=2), trials((19_600, HELD), (19_600, HELD), *thrice)) == RateLimit(
        19_600, 20_000, True
    )


def test_limit_is_found_within_the_precision() -> None:
    found, tried = carry_out(search(), exact)

    assert found.held is not None
    assert found.broken is not None
    assert found.held <= LIMIT < found.broken <= found.held * 1.06
    assert limit_of(found).rate == pytest.approx(LIMIT, rel=0.03)
    assert limit_of(found).search_low <= LIMIT <= limit_of(found).search_high
    assert len(tried) <= 18


@pytest.mark.parametrize("start", [100, 137_000, 5_000_000])
def test_limit_is_found_from_any_start(start: int) -> None:
    found, _ = carry_out(search(start=start), exact)

    assert limit_of(found).rate == pytest.approx(LIMIT, rel=0.04)


@pytest.mark.statistical
def test_limit_of_a_noisy_system_is_found_near_it() -> None:
    answers = [limit_of(carry_out(search(), noisy(seed, 0.05))[0]).rate for seed in range(100)]

    assert sum(abs(rate / LIMIT - 1) <= 0.1 for rate in answers) >= 95


@pytest.mark.statistical
def test_a_run_that_fails_by_chance_does_not_move_the_answer_far() -> None:
    def with_flukes(seed: int) -> System:
        lot = random.Random(seed)
        return lambda rate: BROKEN if lot.random() < 0.05 else exact(rate)

    answers = [carry_out(search(), with_flukes(seed))[0].limit for seed in range(100)]

    honest = [of for of in answers if of is None or not of.is_bracketed or of.low <= LIMIT <= of.high]
    assert len(honest) >= 90


def test_noise_makes_the_interval_wider() -> None:
    widths = []
    for noise in (0.01, 0.3):
        limits = [limit_of(carry_out(search(), noisy(seed, noise))[0]) for seed in range(10)]
        widths.append(sum(limit.search_high / limit.search_low for limit in limits) / 10)

    assert widths[1] > 1.2 * widths[0]


def test_drift_widens_the_interval_and_none_leaves_that_of_the_search() -> None:
    (allowing, _), (dedicated, _) = (carry_out(search(drift_share=share), exact) for share in (0.12, 0.0))

    assert limit_of(allowing).low < limit_of(dedicated).low
    assert limit_of(dedicated).low == pytest.approx(limit_of(dedicated).search_low)


def test_runs_that_contradict_each_other_are_not_bracketed() -> None:
    both = [
        (rate, HELD if (rate // 100 + n) % 2 else BROKEN) for rate in (10_000, 20_100, 40_000, 80_100) for n in (0, 1)
    ]
    made = trials((20_000, HELD), (20_900, BROKEN), *both)

    found, _ = carry_out(search(), lambda rate: HELD)
    assert found.held == 10_000_000
    step = next_step(search(repeats=1), made)
    while isinstance(step, Try):
        made.append(Trial(step.rate, HELD if len(made) % 2 else BROKEN))
        step = next_step(search(repeats=1), made)
    assert step.verdict == "undecided"


def test_search_goes_on_at_any_point_as_if_it_had_never_stopped() -> None:
    found, tried = carry_out(search(), exact)

    for cut in range(len(tried)):
        partly = tried[:cut]
        while isinstance(step := next_step(search(), partly), Try):
            partly.append(Trial(step.rate, exact(step.rate)))
        assert step == found


def test_a_system_that_holds_everything_ends_at_the_highest_rate() -> None:
    found, tried = carry_out(search(high=100_000), lambda rate: HELD)

    assert found == RateLimit(100_000, None)
    assert [trial.rate for trial in tried].count(100_000) == 4


def test_a_system_that_holds_nothing_ends_at_the_lowest_rate() -> None:
    found, _ = carry_out(search(low=5_000), lambda rate: BROKEN)

    assert found == RateLimit(None, 5_000)


@pytest.mark.parametrize("from_rate", [0, 300])
def test_a_rig_that_is_void_down_to_the_lowest_rate_tells_nothing_of_the_system(from_rate: int) -> None:
    """Not that it holds nothing, also if it was broken above: a run that is void says nothing."""
    found, _ = carry_out(search(low=100), lambda rate: BROKEN if rate > from_rate > 0 else VOID)

    assert found == RateLimit(None, 100, is_rig_bound=True)
    assert found.verdict == "undecided"


def test_no_rate_below_the_lowest_is_tried_for_the_curve() -> None:
    found, tried = carry_out(search(start=500, low=400, high=500, curve=True), lambda rate: HELD)

    assert (found.verdict, min(trial.rate for trial in tried)) == ("held", 400)


def test_curve_has_shares_of_what_was_found() -> None:
    found, tried = carry_out(search(curve=True), exact)

    for share in (0.5, 0.8, 0.95):
        assert any(abs(trial.rate / (limit_of(found).rate * share) - 1) < 0.035 for trial in tried)


@pytest.mark.parametrize(("rate", "rounded"), [(28_284, 28_300), (999, 999), (1_234_567, 1_230_000), (7, 7)])
def test_rates_have_three_digits_that_count(rate: float, rounded: int) -> None:
    assert round_rate(rate) == rounded
