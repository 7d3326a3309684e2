"""Tries seeds, or shows one.

    .venv/bin/python -m tests.simulation --seed N [--bug NAME]
    .venv/bin/python -m tests.simulation [--seeds 1000] [--start 0] [--bugs]

--seed: the whole history of a seed, the same each time. --seeds: tries so many, and shows each that fails, with the
fewest of its faults that do it. --bugs: says after how many seeds each planted bug is found.
"""

import argparse
import sys
import time

from tests.simulation.bugs import BUGS, Bug, named
from tests.simulation.faults import Fault, drawn, shrunk
from tests.simulation.run import Wrong
from tests.simulation.verdict import Outcome, outcome
from tests.simulation.world import World

SEEDS_TO_FIND = 200


def faults_of(seed: int) -> tuple[Fault, ...]:
    """The faults of a seed."""
    return drawn(World(seed).random("faults"))


def tried(seed: int, wrong: Wrong | None = None) -> Outcome:
    """What becomes of a seed."""
    return outcome(seed, faults_of(seed), wrong)


def smallest(seed: int, wrong: Wrong | None = None) -> Outcome:
    """A failing seed with the fewest of its faults that still fail."""
    faults = shrunk(faults_of(seed), lambda fewer: bool(outcome(seed, fewer, wrong).problems))
    return outcome(seed, faults, wrong)


def seeds_to_find(bug: Bug, most: int = SEEDS_TO_FIND) -> int | None:
    """After how many seeds a planted bug is found; None if it is not."""
    return next((seed + 1 for seed in range(most) if bug.is_told(tried(seed, bug.wrong).problems)), None)


def main() -> int:
    """The exit status: 1 if a seed fails, or a bug is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--bug", choices=[bug.name for bug in BUGS])
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--bugs", action="store_true")
    given = parser.parse_args()
    wrong = named(given.bug).wrong if given.bug else None
    if given.seed is not None:
        found = tried(given.seed, wrong)
        print(found.text())
        return bool(found.problems)
    if given.bugs:
        missed = 0
        for bug in BUGS:
            number = seeds_to_find(bug)
            missed += number is None
            print(f"| {bug.sentence} | {number or 'not found'} |", flush=True)
        return missed > 0
    begun_s, failing = time.process_time(), 0
    for seed in range(given.start, given.start + given.seeds):
        if tried(seed, wrong).problems:
            failing += 1
            print(smallest(seed, wrong).text(), flush=True)
    took_s = time.process_time() - begun_s
    print(f"{failing} of {given.seeds} seeds fail; {took_s:.0f} s of CPU, {took_s / given.seeds:.2f} s a seed")
    return failing > 0


if __name__ == "__main__":
    sys.exit(main())
