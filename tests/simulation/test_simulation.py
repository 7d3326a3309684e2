"""Seeded worlds: with faults alone nothing is wrong, each planted bug is found, and a seed always says the same."""

import os
import subprocess
import sys

import pytest

from tests.simulation.__main__ import SEEDS_TO_FIND, faults_of, seeds_to_find, smallest, tried
from tests.simulation.bugs import BUGS, Bug, named
from tests.support.paths import ROOT

SEEDS, AT_ONCE = 200, 20


@pytest.mark.parametrize("start", range(0, SEEDS, AT_ONCE))
def test_faults_alone_make_nothing_wrong(start: int) -> None:
    failing = next((seed for seed in range(start, start + AT_ONCE) if tried(seed).problems), None)

    assert failing is None, smallest(failing).text()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Bug) -> None:
    assert seeds_to_find(bug) is not None, f"{bug.sentence}: not found within {SEEDS_TO_FIND} seeds"


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
