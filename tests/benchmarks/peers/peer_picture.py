"""The systems as a picture: throughput, cost, recovery and latency side by side, Spark in the colours of its modes."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from contenders import CONTENDERS
from figures import RATES_PER_S
from matplotlib.axes import Axes
from standings import Result

_COLOURS = {"spark-real-time": "#1f5fa8", "spark-as-shipped": "#5b9bd5", "spark-micro-batch": "#d97706"}
_OTHER = "#8a8f98"
_NUMBERS = {"fontsize": 8, "color": "#444444"}
_COLUMNS = 3
# The mark of each, and where its number is: apart, since p99 and p99.9 are often one beside the other.
_PERCENTILES = {
    "p50_ms": ("o", (-7, -3), "right"),
    "p99_ms": ("s", (0, 6), "center"),
    "p999_ms": ("D", (7, -3), "left"),
}

Medians = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class _Panel:
    """A part of the picture. draw: given the axes and the medians of each contender that has its figure."""

    figure: str
    label: str
    draw: Callable[[Axes, Medians], None]


def draw(results: Sequence[Result], stem: Path) -> None:
    """Write stem.png and stem.svg; nothing if there is nothing."""
    mpl.rcParams["svg.hashsalt"] = "peers"  # the same picture for the same figures
    shown = [panel for panel in _PANELS if _medians(results, panel.figure)]
    if not shown:
        return
    columns = min(len(shown), _COLUMNS)
    rows = ceil(len(shown) / columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(12 if columns > 1 else 8, (1.2 + 0.32 * len(CONTENDERS)) * rows),
        sharey=True,
        constrained_layout=True,
        squeeze=False,
    )
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid.flat, shown, strict=False):
        panel.draw(axes, _medians(results, panel.figure))
        axes.set_xlabel(panel.label)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    grid[0, 0].set_yticks(range(len(CONTENDERS)), [contender.title for contender in CONTENDERS])
    grid[0, 0].invert_yaxis()
    for suffix in ("png", "svg"):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(stem.with_suffix(f".{suffix}"), dpi=160, metadata=metadata)
    plt.close(figure)


def _bars(name: str, pattern: str, scale: float = 1) -> Callable[[Axes, Medians], None]:
    """A bar a contender, of one median; none where it could not be had."""

    def draw_bars(axes: Axes, medians: Medians) -> None:
        values = {contender: found[name] / scale for contender, found in medians.items() if name in found}
        for place, contender in _in_places(values):
            bar = axes.barh(place, values[contender], color=_COLOURS.get(contender, _OTHER), height=0.7)
            axes.bar_label(bar, [pattern.format(values[contender])], padding=3, **_NUMBERS)
        axes.margins(x=0.18)

    return draw_bars


def _percentiles(axes: Axes, medians: Medians) -> None:
    """A line a contender from p50 to the highest percentile it has, each percentile with a mark of its own."""
    for place, contender in _in_places(medians):
        found = medians[contender]
        colour = _COLOURS.get(contender, _OTHER)
        known = {name: found[name] for name in _PERCENTILES if name in found}
        axes.plot(list(known.values()), [place] * len(known), color=colour, linewidth=2)
        for name, value in known.items():
            mark, offset, side = _PERCENTILES[name]
            axes.plot(value, place, mark, color=colour, markersize=6)
            axes.annotate(f"{value:,.0f}", (value, place), offset, textcoords="offset points", ha=side, **_NUMBERS)
    axes.set_xscale("log")
    axes.set_xlim(1, 10_000)  # the same for all rates
    axes.xaxis.set_major_formatter("{x:,.0f}")


_PANELS = (
    _Panel("drain", "million messages a second, drained", _bars("rate_per_s", "{:.2f}", 1e6)),
    _Panel("drain", "CPU, microseconds a message, drained", _bars("cpu_us_per_message", "{:.2f}")),
    _Panel("recovery", "silence after a kill, s", _bars("silence_s", "{:.1f}")),
    *(_Panel(f"rate-{rate}", f"p50 ●, p99 ■, p99.9 ◆ at {rate:,}/s, ms", _percentiles) for rate in RATES_PER_S),
)


def _medians(results: Sequence[Result], figure: str) -> Medians:
    names = ("rate_per_s", "cpu_us_per_message", "silence_s", *_PERCENTILES)
    return {
        it.contender: {name: found.estimate for name in names if (found := it.interval(name)) is not None}
        for it in results
        if it.figure == figure
    }


def _in_places(measured: Container[str]) -> list[tuple[int, str]]:
    """Each contender that was measured: its place from the top, and its name."""
    return [(place, it.name) for place, it in enumerate(CONTENDERS) if it.name in measured]
