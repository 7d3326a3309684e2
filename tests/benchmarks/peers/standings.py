"""What the rounds say together: medians with intervals, and whom Spark beats, loses to, or cannot be told from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median

import numpy as np
from contenders import CONTENDERS
from rounds import Measurement, Values

from market_spread.controller.statistics.inference import ConfidenceInterval, max_t, median_interval

SPARK = tuple(contender.name for contender in CONTENDERS if contender.peer is None)
SIGNIFICANT_P = 0.05
ROUNDS_MIN = 6  # of fewer pairs no sign test has a p below 5%


@dataclass(frozen=True, slots=True)
class Result:
    """A figure of a contender, of all rounds. rounds: the values of each that counts; verdicts: of all.

    A void run says nothing of the system, so its values do not count; those of a failed one do.
    """

    figure: str
    contender: str
    rounds: Mapping[int, Values]
    verdicts: Sequence[str] = field(default=())

    def values(self, name: str) -> dict[int, float]:
        """By round; without those that could not be had."""
        return {number: float(found[name]) for number, found in self.rounds.items() if found.get(name) is not None}

    def interval(self, name: str) -> ConfidenceInterval | None:
        """The median with its 95% interval; None without a value."""
        values = list(self.values(name).values())
        return median_interval(values) if values else None


@dataclass(frozen=True, slots=True)
class Standing:
    """Spark, in the better of its modes, beside the others: who is better, who is not, and of whom it is not known."""

    behind: tuple[str, ...]
    ahead: tuple[str, ...]
    undecided: tuple[str, ...]


def results_of(measurements: Sequence[Measurement]) -> list[Result]:
    """One for each figure and contender that was measured."""

    def of(it: Measurement) -> tuple[str, str]:
        return it.figure, it.contender

    results = []
    for (figure, contender), found in groupby(sorted(measurements, key=of), key=of):
        of_both = sorted(found, key=lambda it: it.round)
        counted = {it.round: it.values for it in of_both if it.values.get("verdict") != "void"}
        verdicts = [it.values["verdict"] for it in of_both if "verdict" in it.values]
        results.append(Result(figure, contender, counted, verdicts))
    return results


def standing(results: Sequence[Result], figure: str, name: str, *, higher: bool = False) -> Standing | None:
    """Of one value of a figure; higher: whether more is better. None without Spark, or without another system.

    Rounds are pairs: the systems of a round met the machine at the same hour. The ratios are tested together (Westfall
    and Young), so that of many peers none is called better by chance.
    """
    found = {it.contender: it.values(name) for it in results if it.figure == figure}
    of_spark = {it: values for it, values in found.items() if it in SPARK and values}
    peers = [it.name for it in CONTENDERS if it.name not in SPARK and found.get(it.name)]
    if not of_spark or not peers:
        return None
    best = (max if higher else min)(of_spark, key=lambda it: median(of_spark[it].values()))
    rounds = sorted(of_spark[best])
    logs = np.array([[_log_ratio(found[peer].get(it), of_spark[best][it]) for peer in peers] for it in rounds])
    enough = (~np.isnan(logs)).sum(axis=0) >= ROUNDS_MIN
    _, p_values = max_t(logs) if len(rounds) >= ROUNDS_MIN else ([], [1.0] * len(peers))
    groups: dict[str, list[str]] = {"behind": [], "ahead": [], "undecided": []}
    for at, peer in enumerate(peers):
        peer_is_better = (np.nanmean(logs[:, at]) > 0) == higher if not np.isnan(logs[:, at]).all() else False
        is_decided = bool(enough[at]) and p_values[at] < SIGNIFICANT_P
        groups["undecided" if not is_decided else "behind" if peer_is_better else "ahead"].append(peer)
    return Standing(**{group: tuple(members) for group, members in groups.items()})


def _log_ratio(value: float | None, of: float) -> float:
    return math.log(value / of) if value and of else math.nan
