"""The cost of features as a picture: what each step adds to the CPU time of a message, both modes side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

_COLOURS = {"real-time": "#1f5fa8", "micro-batch": "#d97706"}


def draw(results: Sequence[Mapping[str, Any]], stem: Path) -> None:
    """Write stem.png and stem.svg. results: the steps' medians, as in runs/bench-features.json."""
    mpl.rcParams["svg.hashsalt"] = "feature-cost"  # the same picture for the same figures
    names = list(dict.fromkeys(result["name"] for result in results))
    modes = list(dict.fromkeys(result["mode"] for result in results))
    figure, (cpu, rate) = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, constrained_layout=True)
    height = 0.8 / len(modes)
    for i, mode in enumerate(modes):
        by_name = {result["name"]: result for result in results if result["mode"] == mode}
        places = [names.index(name) + (i - (len(modes) - 1) / 2) * height for name in by_name]
        for axes, values, pattern in (
            (cpu, [result["cpu_us_per_message"] for result in by_name.values()], "{:.2f}"),
            (rate, [result["rate_per_s"] / 1e6 for result in by_name.values()], "{:.2f}"),
        ):
            bars = axes.barh(places, values, height=height, color=_COLOURS[mode], label=mode)
            axes.bar_label(bars, [pattern.format(value) for value in values], padding=3, fontsize=8, color="#444444")
    cpu.set_yticks(range(len(names)), names)
    cpu.invert_yaxis()
    cpu.set_xlabel("CPU of the job, microseconds a message")
    rate.set_xlabel("million messages a second, drained")
    rate.legend(frameon=False, loc="lower right")
    for axes in (cpu, rate):
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12)
    for suffix in ("png", "svg"):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(stem.with_suffix(f".{suffix}"), dpi=160, metadata=metadata)
    plt.close(figure)
