"""The figures of a run that are compared, which direction of each is the better one, and how they are shown."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.result import LatencyNs, Result
from market_spread.controller.plan import objectives

# Fields of the result of which more is better, by the last part of their paths.
_HIGHER_IS_BETTER = frozenset({"achieved_rate_per_s", "messages_processed"})
# By the end of a name in a path, where units are.
_UNIT = re.compile(r"(_per_s|_ns|_us|_s)(_median|_max|_per_message)?(_second_half)?(?=\.|$)")
_UNITS = {"_per_s": ("/s", 1.0), "_ns": ("ms", 1e6), "_us": ("us", 1.0), "_s": ("s", 1.0)}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the result, by its path there. least_share: the smallest difference that matters, as a share.

    is_chosen: asked for by name, so that it is not left out where no run has it.
    """

    path: str
    title: str
    unit: str = ""
    divisor: float = 1.0
    higher_is_better: bool = False
    least_share: float = 0.05
    is_chosen: bool = False

    def shown(self, value: float | None) -> str:
        """The value in the figure's unit, with four digits that count, without the unit; `-` where there is none."""
        return "-" if value is None else short_number(value / self.divisor)

    @property
    def title_in_unit(self) -> str:
        return f"{self.title}, {self.unit}" if self.unit else self.title


def short_number(value: float) -> str:
    """Four digits that count, and all those before the point."""
    return f"{value:.4g}" if value and abs(value) < 1000 else f"{value:,.0f}"


PERCENTILES = tuple(name for name in objectives.PERCENTILES if name != "max")

_SHOWN_BY_DEFAULT = (
    *(Figure(f"latency_ns.{name}", f"latency {name}", "ms", 1e6) for name in PERCENTILES),
    Figure("latency_between_boundaries_ns.p99", "between boundaries p99", "ms", 1e6),
    Figure("service_time_ns.p99", "service time p99", "ms", 1e6),
    Figure("boundary_gap_ns_median", "commit pause, median", "ms", 1e6),
    Figure("achieved_rate_per_s", "achieved rate", "messages/s", higher_is_better=True),
    Figure("cpu_us_per_message", "CPU of the job", "us/message"),
    Figure("broker_cpu_us_per_message", "CPU of the broker", "us/message"),
)


def read_figures(chosen: Sequence[str], least: Sequence[str]) -> tuple[Figure, ...]:
    """The figures to compare, with the least differences that matter. UsageError for what is no figure or no share.

    chosen: paths of fields, `:higher` or `:lower` after one says which is better; empty for the usual ones. least: a
    share such as `3%` or `0.03` for all, or `latency_ns.p99=10%` for one.
    """
    figures = tuple({(of := _figure(text)).path: of for text in chosen}.values()) or _SHOWN_BY_DEFAULT
    for text in least:
        path, equals, share_text = text.rpartition("=")
        share = read_share(share_text, "--least")
        paths = [figure.path for figure in figures]
        if equals and path not in paths:
            raise UsageError(f"--least {text}: {path} is not compared; name one of {', '.join(paths)}")
        figures = tuple(
            figure if equals and figure.path != path else replace(figure, least_share=share) for figure in figures
        )
    return figures


def read_share(text: str, option: str) -> float:
    """A share above 0 and below 1, given as such or in percent. UsageError if it is none."""
    share = objectives.share_of(text)
    if not 0 < share < 1:
        raise UsageError(f"{option} {text}; use a share such as 5% or 0.05")
    return share


def _figure(text: str) -> Figure:
    path, _, direction = text.partition(":")
    if direction not in {"", "higher", "lower"}:
        raise UsageError(f"--figure {text}; after the colon use higher or lower, which is the better one")
    _require_known(path)
    ending = _UNIT.search(path)
    unit, divisor = _UNITS[ending[1]] if ending else ("", 1.0)
    known = {figure.path: figure for figure in _SHOWN_BY_DEFAULT}.get(path, Figure(path, path, unit, divisor))
    higher = path.rpartition(".")[2] in _HIGHER_IS_BETTER if not direction else direction == "higher"
    return replace(known, higher_is_better=higher, is_chosen=True)


def _require_known(path: str) -> None:
    """UsageError with the nearest names if no result has a number there. Which names a table has, only runs know."""
    name, _, inner = path.partition(".")
    kinds = {field.name: field.type for field in fields(Result)}
    names = [each for each, kind in kinds.items() if kind in (int, float, int | None, float | None)]
    latencies = [each for each, kind in kinds.items() if kind == LatencyNs]
    if kinds.get(name) == Mapping[str, LatencyNs] and inner:
        latencies.append(f"{name}.{inner.partition('.')[0]}")
    elif inner and name not in latencies and getattr(kinds.get(name), "__origin__", None) is Mapping:
        return
    names += [f"{latency}.{percentile}" for latency in latencies for percentile in objectives.PERCENTILES]
    if path not in names:
        nearest = ", ".join(get_close_matches(path, names, cutoff=0.3)) or "market-spread show RUN_ID --json has all"
        raise UsageError(f"--figure {path} is no number of the result; use the right name: {nearest}")
