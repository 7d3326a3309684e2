"""Every wrong system is failed, or void where the rig is wrong, by what is wrong; no right one is failed or void."""

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from market_spread.common.wire.layout import ALERT
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.latency import stages_us
from market_spread.controller.analysis.result import latency_rows
from market_spread.controller.clients.services import RoundTrip
from market_spread.controller.views.output import verdict_of
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.decisions import DecisionJudge
from market_spread.receiver.receiving import Receiving
from market_spread.receiver.tally import RunPhase
from tests.mutants.__main__ import written
from tests.mutants.inputs import BEGIN_US, Input, generated, hand_made
from tests.mutants.on_the_way import WAYS, WrongWay, encoded, some
from tests.mutants.parts import WRONG_PARTS, WrongPart, received, recorded
from tests.mutants.real import SESSIONS
from tests.mutants.rig import WRONG_RIGS, Conditions, WrongRig, measured
from tests.mutants.right import LIVES, MODES, STANDSTILLS_US, Right, odd_systems, of_life, right_systems, with_orders
from tests.mutants.system import MICRO_BATCH, Restart, System
from tests.mutants.verdicts import result
from tests.mutants.wrong import DECISIONS, MUTANTS, SLOW, STAMPS, Mutant
from tests.support.judging import is_right, judge

# Of one machine, told by round trips of a millisecond.
_SAME_CLOCKS = {
    process: RoundTrip(BEGIN_US * 1000, BEGIN_US * 1000 + 500_000, BEGIN_US * 1000 + 1_000_000)
    for process in ("sender", "receiver", "job")
}
KINDS = ("missing", "unexpected", "wrong", "duplicated")
# Their faults are in symbols of the hand-made market, or in quotes that are sent again, as the generated one's are not.
ONLY_BY_HAND = {"one_key_frozen", "swapped", "wrong_key", "last_not_highest"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_system_is_failed_by_its_fault(mutant: Mutant) -> None:
    observed, found = result(mutant.system, hand_made(1))

    judgement = observed.judgement
    assert judgement is not None
    assert mutant.is_found(found), (mutant.sentence, found.verdict, found.reasons)
    assert judgement.void_reason is None
    assert all(found.faults[kind] for kind in KINDS if getattr(judgement, kind))


@pytest.mark.parametrize(
    "mutant", [mutant for mutant in MUTANTS if mutant.name not in ONLY_BY_HAND], ids=lambda m: m.name
)
def test_wrong_system_is_failed_on_the_market_that_ships(mutant: Mutant) -> None:
    _, found = result(mutant.system, generated(1))

    assert mutant.is_found(found), (mutant.sentence, found.verdict, found.reasons)


@pytest.mark.parametrize("mutant", STAMPS, ids=lambda mutant: mutant.name)
def test_wrong_clock_voids_the_run_by_its_stage_and_is_no_fault_of_the_alerts(mutant: Mutant) -> None:
    observed, found = result(mutant.system, hand_made(1))

    assert observed.alerts is not None
    assert observed.judgement is not None
    faults = {name for name, values_us in stages_us(observed.alerts).items() if (values_us < 0).mean() > 0.001}
    assert faults == set(mutant.caught)
    assert mutant.is_found(found), (mutant.sentence, found.verdict, found.reasons)
    assert is_right(observed.judgement), observed.judgement


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("standstill_us", STANDSTILLS_US)
@pytest.mark.parametrize("from_us", [0, 7_000_000])
@pytest.mark.parametrize("behind_us", [300_000, 1_500_000, 20_000_000])
def test_right_job_is_not_blamed_for_a_receiver_whose_clock_is_behind(
    mode: str, standstill_us: int, from_us: int, behind_us: int
) -> None:
    """From the begin on, or from a moment of the load on, at which it is set back."""

    class Moved(System):
        """What comes is in the order in which it came, whatever the clock says."""

        def run(self, given: Input) -> Alerts:
            alerts = System.run(self, given)
            later = alerts.received_us >= BEGIN_US + from_us
            return replace(alerts, received_us=alerts.received_us - np.where(later, behind_us, 0))

    system = Moved(mode=mode, standstill_us=standstill_us)
    observed, found = result(system, generated(1), lambda decisions: decisions)

    assert observed.judgement is not None
    assert not observed.judgement.faulty, observed.judgement
    assert observed.decisions is not None
    assert is_right(observed.decisions), observed.decisions
    assert (found.verdict, found.decisive[0]) in ((Verdict.VOID, "stamps"), (Verdict.VOID, "undecided"))


@pytest.mark.parametrize("mutant", SLOW, ids=lambda mutant: mutant.name)
def test_slow_system_is_failed_by_its_latency_and_its_alerts_are_right(mutant: Mutant) -> None:
    """Such a job is right, and slow: its latency has to tell, and it can only if no key has most of the samples."""
    observed, found = result(mutant.system, generated(1, seconds=mutant.system.seconds))

    assert observed.judgement is not None
    assert not observed.judgement.faulty, observed.judgement
    # 23 s behind in 15 s, nothing decides what to accept.
    assert is_right(observed.judgement) is (mutant.name != "far_behind")
    assert mutant.is_found(found), (mutant.sentence, found.verdict, found.reasons)


@pytest.mark.parametrize("mutant", DECISIONS, ids=lambda mutant: mutant.name)
def test_wrong_decisions_fail_the_run_though_the_alerts_are_right(mutant: Mutant) -> None:
    observed, found = result(mutant.system, generated(1), mutant.decided)

    assert observed.judgement is not None
    assert is_right(observed.judgement), observed.judgement
    assert mutant.is_found(found), (mutant.sentence, found.verdict, found.reasons)


@pytest.mark.parametrize("standstill_us", STANDSTILLS_US)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("life", LIVES)
def test_right_systems_are_never_failed_or_void(life: str, mode: str, standstill_us: int) -> None:
    undecided = 0
    for right in of_life(life, mode, standstill_us):
        observed, found = result(right.system, right.make(), (lambda it: it) if right.decides else None)

        judgement = observed.judgement
        assert judgement is not None
        assert found.verdict is Verdict.PASSED, (right.name, found.reasons)
        assert is_right(judgement), (right.name, judgement)
        assert judgement.received > 90 * right.system.seconds
        assert not right.decides or found.orders_decided == judgement.orders
        undecided += judgement.undecided
    assert undecided > 0  # else there was no race to be mistaken about


@pytest.mark.parametrize("right", [*odd_systems()], ids=lambda right: right.name)
def test_odd_systems_that_are_right_are_not_blamed(right: Right) -> None:
    observed, found = result(right.system, right.make())

    assert observed.judgement is not None
    assert found.verdict is Verdict.PASSED, found.reasons
    assert is_right(observed.judgement), observed.judgement


def test_tail_of_the_decisions_needs_ten_clusters_as_that_of_the_alerts_does() -> None:
    """Three standstills make the tail of all decisions; a number for it would be one of three observations."""
    _, found = result(System(standstill_us=1_200_000), generated(1), lambda right: right)

    shown = {row[0].strip(): row[1:] for row in latency_rows(found, decimals=1)}
    assert found.decision_latency_ns["p99"] is not None
    assert 0 < found.latency_clusters["decision_latency_ns"]["p99"] < 10
    assert "cluster" in shown["to the receipt of a decision"][2]


def test_latency_of_all_decisions_is_told_by_keys_that_have_most_orders() -> None:
    """A hot probe is no hot key: alerts tell little of those, decisions do."""
    _, found = result(System(), generated(1), lambda right: right)

    shown = {title: cells for title, *cells in latency_rows(found, decimals=1)}
    assert set(found.decision_latency_by_key_ns) == {"hot", "cold"} == set(found.latency_by_key_ns)
    assert found.decision_latency_by_key_ns["hot"]["p99.9"] is not None
    assert found.latency_by_key_ns["hot"]["p99.9"] is None, "of hot probes there are few"
    assert shown["  hot keys"][0] != "–" != shown["  cold keys"][0]


def test_a_minute_of_a_right_system_is_judged_by_all_that_needs_a_minute() -> None:
    """What is not evaluated in a short run blames nobody either."""
    right = next(right for right in right_systems() if right.name == "a minute")

    _, found = result(right.system, right.make())

    held = {each["check"]: each["holds"] for part in found.verdicts.values() for each in part["evidence"]}
    assert all(held[name] is True for name in ("not_steady", "lag_growing", "stalled", "one_key", "stamps"))


@pytest.mark.parametrize("seed", range(6))
def test_alerts_of_a_job_that_was_away_for_long_are_right(seed: int) -> None:
    """It stood still, and for nothing else it may be blamed."""
    drawn = np.random.default_rng(seed)
    killed_us = BEGIN_US + int(drawn.uniform(8.4, 9.9) * 1e6)
    for mode, standstill_us in itertools.product(MODES, STANDSTILLS_US):
        restart = Restart(killed_us, down_us=int(drawn.uniform(1, 4) * 1e6))
        system = System(seed=seed, mode=mode, standstill_us=standstill_us, restart=restart)
        for given in (hand_made(seed % 3), generated(seed % 3)):
            judgement = judge(given.quotes, given.orders, system.run(given), replayed=system.replayed)

            assert is_right(judgement), (mode, standstill_us, judgement)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_again_from_before_the_first_judged_order_is_right_and_what_stays_old_is_not(seed: int) -> None:
    """Orders catch up at once and quotes do not; no alert tells how old the state was that the job began again with."""
    restart = Restart(BEGIN_US + 9_000_000, down_us=2_500_000, share=0.05, quotes_share=0.3 + 0.1 * seed)
    right = System(seed=seed, batch_us=10_000_000, seconds=50, restart=restart)
    given = with_orders(generated(seed % 3, seconds=50), lambda orders: orders.intended_us >= BEGIN_US + 6_000_000)

    def judged(system: System) -> tuple[bool, bool]:
        of_decisions = DecisionJudge(system.decide(given)[1], replayed=system.replayed)
        of_decisions.add_quotes(given.quotes)
        of_decisions.add_orders(given.orders)
        of_alerts = judge(given.quotes, given.orders, system.run(given), replayed=system.replayed)
        return is_right(of_alerts), is_right(of_decisions.judgement())

    assert judged(right) == (True, True)
    frozen = replace(right, heard=lambda quotes, us: (quotes, us + (us >= BEGIN_US + 35_000_000) * 30_000_000))
    assert judged(frozen) == (False, False)


def test_right_systems_whose_partitions_stand_still_alone_name_quotes_that_are_excused() -> None:
    stale = 0
    for seed in range(24):
        observed, found = result(System(seed=seed, hiccup_us=60_000), generated(seed % 3))

        assert found.verdict is Verdict.PASSED, (seed, found.reasons)
        assert observed.judgement is not None
        stale += observed.judgement.stale
    assert stale > 0  # else this shows nothing of what is allowed


def test_wrong_system_is_failed_though_it_lets_nothing_be_decided() -> None:
    """What is certain is a fault, however little can be said of the rest."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "rejecting_lost")

    observed, found = result(replace(mutant.system, mode=MICRO_BATCH), hand_made(1))

    assert observed.judgement is not None
    assert observed.judgement.void_reason is not None
    assert verdict_of(observed.judgement) is Verdict.FAILED
    assert mutant.is_found(found)


@pytest.mark.parametrize("wrong", WRONG_RIGS, ids=lambda wrong: wrong.name)
def test_wrong_rig_is_found(wrong: WrongRig) -> None:
    result = wrong.result()

    assert wrong.is_found(result), (wrong.sentence, result.verdict, result.reasons)


@pytest.mark.parametrize("wrong", WRONG_PARTS, ids=lambda wrong: wrong.name)
def test_wrong_part_of_the_rig_is_found_and_the_right_one_is_not(wrong: WrongPart) -> None:
    assert wrong.holds()
    assert wrong.is_found(), wrong.sentence


def test_sentence_of_real_systems_stays_where_none_were_tried() -> None:
    page = "a\n<!-- mutants -->\nOf 1, simulated.\nOf 2, real.\n<!-- /mutants -->\nb\n"

    assert written(page, "Of 3.", "") == "a\n<!-- mutants -->\nOf 3.\nOf 2, real.\n<!-- /mutants -->\nb\n"
    assert written(page, "Of 3.", "Of 4.") == "a\n<!-- mutants -->\nOf 3.\nOf 4.\n<!-- /mutants -->\nb\n"
    once = written(page, "Of 3.", "Of 4.")
    assert written(once, "Of 5.", "") == "a\n<!-- mutants -->\nOf 5.\nOf 4.\n<!-- /mutants -->\nb\n"


@pytest.mark.parametrize(
    "conditions", [Conditions(), Conditions(late_frame_ns=300_000_000), Conditions(pushes_lost=True)]
)
def test_right_rig_is_not_blamed(conditions: Conditions) -> None:
    result = measured(conditions)

    assert result.verdict is Verdict.PASSED, result.reasons


def test_there_are_many_and_each_has_a_name_and_a_sentence_of_its_own() -> None:
    everything: tuple[Any, ...] = (*MUTANTS, *STAMPS, *SLOW, *DECISIONS, *WRONG_RIGS, *WRONG_PARTS)
    assert len({mutant.name for mutant in everything}) == len({mutant.sentence for mutant in everything}) >= 50


def test_each_wrong_system_is_tried_on_real_ones_or_the_page_says_why_not() -> None:
    tried = {session.name for session in SESSIONS} | {wrong.name for session in SESSIONS for wrong in session.wrong}
    everything: tuple[Any, ...] = (*MUTANTS, *STAMPS, *SLOW, *DECISIONS, *WRONG_RIGS, *WRONG_PARTS)
    simulated = {each.name for each in everything}
    told = Path(__file__).with_name("README.md").read_text().partition("## What is tried on real")[2]

    explained = set(re.findall("`([a-z0-9_]+)`", told))

    assert simulated - tried <= explained
    assert {name for name in explained - simulated if not name.endswith("py")} <= tried


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_wrong_way_of_the_alerts_is_found_without_a_broker(way: WrongWay) -> None:
    spoiled: list[bytes] = []

    def said(alerts: Alerts) -> Alerts:
        if way.beside is not None:
            spoiled[:] = map(way.beside, encoded(ALERT, alerts[some(alerts)]))
        parts = way.on(alerts, alerts.intended_us - BEGIN_US)
        return Alerts.concatenate([replace(part, received_us=part.received_us + us) for us, part in parts])

    system = System(said=said, beside=lambda _: spoiled, seconds=20)
    _, found = result(system, generated(1, seconds=20), round_trips={"during": _SAME_CLOCKS})

    assert found.verdict is way.verdict, found.reasons
    assert way.decisive & set(found.decisive), found.reasons


def test_receivers_that_are_spoiled_for_real_ones_count_falsely(tmp_path: Path) -> None:
    spoils: dict[str, Any] = {wrong.name: wrong.spoil for session in SESSIONS for wrong in session.wrong}
    alerts = System().run(generated(1))[:20]
    early = replace(alerts, intended_us=alerts.received_us + 1_000)
    twice = Alerts.concatenate([early, early])

    kept: list[Receiving] = []

    def counted(name: str) -> tuple[int, int]:
        """The alerts, and how many of them have a latency below zero."""

        def spoil(receiving: Receiving) -> None:
            spoils.get(name, lambda _: None)(receiving)
            kept.append(receiving)

        alerts = received(tmp_path / name, recorded(twice), spoil).alerts
        return alerts, kept[-1]._tally.end_to_end[RunPhase.MEASURED].negative

    assert counted("right") == (20, 20)
    assert counted("duplicates_counted")[0] == 40
    assert counted("negatives_forgotten") == (20, 0)
