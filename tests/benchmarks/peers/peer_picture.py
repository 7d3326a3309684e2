"""The systems as a picture: throughput, cost and latency side by side, Spark's bars in the colours of its modes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from contenders import CONTENDERS

_COLOURS = {"spark-real-time": "#1f5fa8", "spark-micro-batch": "#d97706"}
_OTHER = "#8a8f98"
_PANELS = (
    ("drain", "rate_per_s", 1e6, "million messages a second, drained", "{:.2f}"),
    ("drain", "cpu_us_per_message", 1, "CPU, microseconds a message, drained", "{:.2f}"),
    ("rate-20000", "p99_ms", 1, "p99 at 20,000 messages/s, ms", "{:.1f}"),
    ("recovery", "silence_s", 1, "silence after a kill, s", "{:.1f}"),
)


def draw(results: Sequence[Mapping[str, Any]], stem: Path) -> None:
    """Write stem.png and stem.svg. results: those in runs/bench-peers.json; what has none gets no panel."""
    mpl.rcParams["svg.hashsalt"] = "peers"  # the same picture for the same figures
    names = [contender.name for contender in CONTENDERS]
    shown = [panel for panel in _PANELS if any(_has(it, panel[0], panel[1]) for it in results)]
    figure, (panels,) = plt.subplots(
        1, len(shown), figsize=(2 + 3 * len(shown), 3.6), sharey=True, constrained_layout=True, squeeze=False
    )
    for axes, (of, name, scale, label, pattern) in zip(panels, shown, strict=True):
        found = {it["contender"]: it["medians"][name] / scale for it in results if _has(it, of, name)}
        values = [found[it] for it in names if it in found]
        places = [number for number, it in enumerate(names) if it in found]
        colours = [_COLOURS.get(it, _OTHER) for it in names if it in found]
        bars = axes.barh(places, values, color=colours, height=0.7)
        axes.bar_label(bars, [pattern.format(value) for value in values], padding=3, fontsize=8, color="#444444")
        axes.set_xlabel(label)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.18)
    panels[0].set_yticks(range(len(names)), [contender.title for contender in CONTENDERS])
    panels[0].invert_yaxis()
    for suffix in ("png", "svg"):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(stem.with_suffix(f".{suffix}"), dpi=160, metadata=metadata)
    plt.close(figure)


def _has(result: Mapping[str, Any], figure: str, name: str) -> bool:
    return result["figure"] == figure and name in result["medians"]
