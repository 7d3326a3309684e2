"""The figures of a contender: what is repeated, which medians are kept of it, and who is better than Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from contenders import CONTENDERS, Contender
from draining import drained
from recovering import recovered
from whole_run import steady

RATES_PER_S = (1_000, 20_000, 100_000)
SPARK = tuple(contender.name for contender in CONTENDERS if contender.peer is None)


@dataclass(frozen=True, slots=True)
class Figure:
    """What is measured of a contender in one go. minutes: about how long that takes."""

    name: str
    measure: Callable[[Contender, Path, float], Any]
    minutes: float


def _at(rate_per_s: int) -> Figure:
    def measure(contender: Contender, runs_folder: Path, scale: float) -> Any:
        return steady(contender, rate_per_s, runs_folder=runs_folder, scale=scale)

    return Figure(f"rate-{rate_per_s}", measure, 1.4)


FIGURES = (
    Figure("drain", lambda contender, _, scale: drained(contender, scale=scale), 1.5),
    *(_at(rate_per_s) for rate_per_s in RATES_PER_S),
    Figure("recovery", lambda contender, _, scale: recovered(contender, scale=scale), 1.2),
)


def result_of(contender: str, figure: str, repeats: Sequence[Any]) -> dict[str, Any]:
    """The entry of runs/bench-peers.json: medians of the numbers that repeats have, and all repeats.

    held: how many of them passed, where that is judged.
    """
    values = [asdict(repeat) for repeat in repeats]
    numbers = {name: [it[name] for it in values if _is_number(it[name])] for name in values[0]}
    verdicts = [it["verdict"] for it in values if "verdict" in it]
    return {
        "contender": contender,
        "figure": figure,
        "medians": {name: median(found) for name, found in numbers.items() if found},
        "held": verdicts.count("passed") if verdicts else len(values),
        "repeats": values,
    }


def better_than_spark(
    results: Sequence[Mapping[str, Any]], figure: str, name: str, *, higher: bool = False
) -> list[str]:
    """The contenders whose median beats that of the better of Spark's modes, the best first; none if Spark has none."""
    found = {it["contender"]: it["medians"][name] for it in results if it["figure"] == figure and name in it["medians"]}
    sign = -1 if higher else 1
    own = [sign * value for contender, value in found.items() if contender in SPARK]
    beating = {it: sign * value for it, value in found.items() if own and it not in SPARK and sign * value < min(own)}
    return sorted(beating, key=lambda it: beating[it])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
