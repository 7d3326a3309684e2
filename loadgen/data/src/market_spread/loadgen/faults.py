"""Checks of many messages at once, with a sentence for each that fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Check:
    """Which messages (n,) failed a check, and how to say it of one of them by its position."""

    failed: Bools
    sentence: Callable[[int], str]


def failed_any(checks: Sequence[Check]) -> Bools:
    """Which messages failed one of the checks (at least one check)."""
    failed: Bools = np.logical_or.reduce([check.failed for check in checks])
    return failed


def sentence_of(checks: Sequence[Check], position: int) -> str:
    """All that is wrong with the message at the position; empty if nothing is."""
    return "; ".join(check.sentence(position) for check in checks if check.failed[position])
