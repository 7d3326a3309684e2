"""Seeded worlds: with faults alone nothing is wrong, each planted bug is found, and a seed always says the same."""

import os
import re
import subprocess
import sys

import pytest

from market_spread.controller.analysis.evidence import Verdict
from tests.simulation.__main__ import SEEDS_TO_FIND, faults_of, seeds_to_find, smallest, tried
from tests.simulation.bugs import BUGS, Bug, named, skipping
from tests.simulation.faults import KINDS, Fault
from tests.simulation.kafka import Broker
from tests.simulation.run import Wrong
from tests.simulation.verdict import outcome
from tests.simulation.world import MS, S, World
from tests.support.paths import ROOT

SEEDS, AT_ONCE = 200, 20


@pytest.mark.parametrize("start", range(0, SEEDS, AT_ONCE))
def test_faults_alone_make_nothing_wrong(start: int) -> None:
    failing = next((seed for seed in range(start, start + AT_ONCE) if tried(seed).problems), None)

    assert failing is None, smallest(failing).text()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Bug) -> None:
    assert seeds_to_find(bug) is not None, f"{bug.sentence}: not found within {SEEDS_TO_FIND} seeds"


def test_run_that_lost_something_is_failed_and_a_judge_that_sees_no_loss_is_found() -> None:
    faults = (Fault(4500 * MS, "kill", "job"),)

    blind = outcome(0, faults, named("no_loss_after_restart").wrong)
    seeing = outcome(0, faults, Wrong(checkpoint=skipping))

    assert (blind.verdict, seeing.verdict) == (Verdict.PASSED, Verdict.FAILED)
    assert "orders have no decision" in blind.problems[0]
    assert "orders have no decision" in seeing.problems[0]


def test_each_kind_of_fault_is_drawn_for_each_of_its_targets() -> None:
    drawn = {(fault.kind, fault.target) for seed in range(SEEDS) for fault in faults_of(seed)}

    assert drawn >= {(kind, target) for kind, _, targets, _ in KINDS for target in targets}
    assert ("kill", "sender") in drawn


def test_most_runs_pass_under_faults() -> None:
    """A world in which all is void would find nothing."""
    verdicts = [tried(seed).verdict for seed in range(AT_ONCE)]

    assert verdicts.count(Verdict.PASSED) >= AT_ONCE // 2


def test_nothing_breaks_where_nothing_is_to_break() -> None:
    found = outcome(0, ())

    assert (found.verdict, found.problems) == (Verdict.PASSED, ())
    assert not [line for line in found.history if "dies" in line or "again" in line]


def test_pushes_that_are_dropped_are_counted_and_nothing_else_is_missing() -> None:
    found = outcome(0, (Fault(2 * S, "cut", "receiver", 4 * S),))

    assert found.problems == ()
    assert any(re.search(r"receiver +has dropped [1-9]", line) for line in found.history)


def test_broker_appends_once_what_comes_twice_or_late() -> None:
    broker = Broker(World(0), {"orders": 1})
    heard: list[tuple[int, Exception | None]] = []
    batches = [[(value, None, (), lambda *said: heard.append(said))] for value in (b"a", b"b")]

    offsets = [broker.append(1, number, ("orders", 0), batches[number]) for number in (0, 0, 1, 0)]

    assert offsets == [0, 0, 1, 1], "of a batch before the newest the producer does not listen any more"
    assert [record.value for record in broker.logs["orders", 0]] == [b"a", b"b"]


def test_page_has_every_planted_bug_and_after_how_many_seeds_it_is_found() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text()

    table = page.partition("<!-- bugs -->")[2].partition("<!-- /bugs -->")[0]

    assert re.findall(r"^\| (.*) \| \d+ \|$", table, re.MULTILINE) == [bug.sentence for bug in BUGS]


def test_seed_says_the_same_to_the_byte_whatever_hashes_are() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", "1"]

    said = [
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True, timeout=120
        ).stdout
        for seed in ("0", "1")
    ]

    assert said[0] == said[1]
    assert b"receiver   is killed" in said[0]


def test_failing_seed_is_shrunk_to_the_faults_that_it_takes() -> None:
    bug = named("drops_on_reset")
    seed = next(seed for seed in range(SEEDS_TO_FIND) if len(faults_of(seed)) > 2 and tried(seed, bug.wrong).problems)

    found = smallest(seed, bug.wrong)

    assert found.problems
    assert len(found.faults) == 1
    assert len(found.text().splitlines()) < 40
