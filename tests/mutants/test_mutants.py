"""Every wrong system is found, by a fault of the right kind; no right one is called failed or void."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from market_spread.controller.analysis.latency import stamp_faults
from market_spread.controller.analysis.result import Verdict
from market_spread.controller.cli.checking import verdict_of
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.judgement import Judgement
from market_spread.loadgen.oracle.oracle import judge
from tests.mutants.inputs import BEGIN_US, SECONDS, Input, generated, hand_made
from tests.mutants.rig import WRONG_RIGS, Conditions, WrongRig, measured
from tests.mutants.system import MICRO_BATCH, REAL_TIME, Restart, System
from tests.mutants.wrong import LATE_KEYS, MUTANTS, STAMPS, Mutant

KINDS = ("missing", "unexpected", "wrong", "duplicated")
SEEDS = range(6)
STANDSTILLS_US = (0, 400_000, 1_200_000)
LIVES = ("plain", "restart", "pair", "too slow")
# Their faults are in symbols of the hand-made market, or in quotes that are sent again, as the generated one's are not.
ONLY_BY_HAND = {"one_key_frozen", "swapped", "wrong_key", "last_not_highest"}


def judged(system: System, given: Input) -> tuple[Alerts, Judgement]:
    alerts = system.run(given)
    return alerts, judge(given.quotes, given.orders, alerts, replayed=system.replayed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_system_is_found(mutant: Mutant) -> None:
    _, judgement = judged(mutant.system, hand_made(1))

    found = [kind for kind in KINDS if getattr(judgement, kind)]
    assert judgement.void_reason is None
    assert set(found) & set(mutant.caught), (mutant.sentence, judgement)
    assert all(judgement.sentences[kind] for kind in found)


@pytest.mark.parametrize(
    "mutant", [mutant for mutant in MUTANTS if mutant.name not in ONLY_BY_HAND], ids=lambda m: m.name
)
def test_wrong_system_is_found_on_the_market_that_ships(mutant: Mutant) -> None:
    _, judgement = judged(mutant.system, generated(1))

    assert {kind for kind in KINDS if getattr(judgement, kind)} & set(mutant.caught), (mutant.sentence, judgement)


@pytest.mark.parametrize("mutant", STAMPS, ids=lambda mutant: mutant.name)
def test_wrong_clock_shows_in_the_stages_and_is_no_fault_of_the_alerts(mutant: Mutant) -> None:
    alerts, judgement = judged(mutant.system, hand_made(1))

    faults = stamp_faults(alerts)
    assert {name for name, count in faults.items() if count > 0.001 * len(alerts)} == set(mutant.caught)
    assert judgement.ok, judgement


def test_late_keys_are_no_fault_of_the_alerts_and_show_in_the_latency() -> None:
    """Such a job is right, and slow: its latency has to tell, and it can only if no key has most of the samples."""
    alerts, judgement = judged(LATE_KEYS.system, hand_made(1))

    assert judgement.ok, judgement
    assert np.median(alerts.received_us - alerts.intended_us) > 3_000_000


def right_system(life: str, mode: str, standstill_us: int, seed: int) -> System:
    drawn = np.random.default_rng(seed)
    system = System(seed=seed, mode=mode, standstill_us=standstill_us)
    if life == "restart":
        killed_us = BEGIN_US + int(drawn.uniform(8.4, 9.9) * 1e6)
        return replace(system, restart=Restart(killed_us, down_us=int(drawn.uniform(1, 4) * 1e6)))
    if life == "pair":
        return replace(system, replicas=2)
    return replace(system, slower_by=float(drawn.choice([0.02, 0.3, 1.5]))) if life == "too slow" else system


@pytest.mark.parametrize("standstill_us", STANDSTILLS_US)
@pytest.mark.parametrize("mode", [REAL_TIME, MICRO_BATCH])
@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("make", [hand_made, generated], ids=["hand_made", "generated"])
def test_right_systems_are_never_failed_or_void(
    make: Callable[[int], Input], life: str, mode: str, standstill_us: int
) -> None:
    undecided = 0
    for seed in SEEDS:
        alerts, judgement = judged(right_system(life, mode, standstill_us, seed), make(seed % 3))

        assert judgement.ok, (seed, judgement)
        assert sum(stamp_faults(alerts).values()) == 0
        assert judgement.received > 100 * SECONDS
        undecided += judgement.undecided
    assert undecided > 0  # else there was no race to be mistaken about


def test_right_systems_whose_partitions_stand_still_alone_are_not_failed() -> None:
    stale = 0
    for seed in range(24):
        _, judgement = judged(System(seed=seed, hiccup_us=60_000), generated(seed % 3))

        assert judgement.ok, (seed, judgement)
        stale += judgement.stale
    assert stale > 0  # else this shows nothing of what is allowed


def test_wrong_system_is_failed_though_it_lets_nothing_be_decided() -> None:
    """What is certain is a fault, however little can be said of the rest."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "rejecting_lost")

    _, judgement = judged(replace(mutant.system, mode=MICRO_BATCH), hand_made(1))

    assert judgement.void_reason is not None
    assert verdict_of(judgement) is Verdict.FAILED


@pytest.mark.parametrize("wrong", WRONG_RIGS, ids=lambda wrong: wrong.name)
def test_wrong_rig_is_found(wrong: WrongRig) -> None:
    result = wrong.result()

    assert wrong.is_found(result), (wrong.sentence, result.verdict, result.reasons)


@pytest.mark.parametrize(
    "conditions", [Conditions(), Conditions(late_frame_ns=300_000_000), Conditions(pushes_lost=True)]
)
def test_right_rig_is_not_blamed(conditions: Conditions) -> None:
    result = measured(conditions)

    assert result.verdict is Verdict.PASSED, result.reasons


def test_there_are_many_and_each_has_a_name_and_a_sentence_of_its_own() -> None:
    everything = (*MUTANTS, *STAMPS, LATE_KEYS, *WRONG_RIGS)
    assert len({mutant.name for mutant in everything}) == len({mutant.sentence for mutant in everything}) >= 50
