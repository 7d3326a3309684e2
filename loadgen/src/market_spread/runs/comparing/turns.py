"""Whose turn it is when two workloads are run in turn: in pairs, and within a pair in an order drawn by lot.

So whatever drifts on the machine meets both alike, and nothing that comes in step with the runs meets always the same.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

ARMS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Turns:
    """An order of runs: pairs of a and b. The same seed gives the same order, and more pairs only add to it."""

    pairs: int
    seed: int

    @property
    def order(self) -> tuple[str, ...]:
        """The arm of each run."""
        lot = random.Random(self.seed)
        return tuple(arm for _ in range(self.pairs) for arm in lot.sample(ARMS, k=len(ARMS)))

    def next_arm(self, done: Sequence[str]) -> str | None:
        """Whose turn it is after the runs that are done, given by their arms; None if all are made."""
        have = {arm: done.count(arm) for arm in ARMS}
        for arm in self.order:
            if have[arm] == 0:
                return arm
            have[arm] -= 1
        return None
