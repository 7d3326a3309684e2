"""`make bench`: the reference figures of docs/performance.md, as a table and as runs/bench.json (name, value, unit)."""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

import drain
import pair
import resources
import sender
import whole_runs
from figure import Figure, Figures

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark, and how long one repetition takes about."""

    name: str
    measure: Callable[[Path], Figures]
    minutes: float


BENCHMARKS = (
    Benchmark("sender", sender.figures, 0.6),
    Benchmark("drain", drain.real_time, 4),
    Benchmark("drain-micro-batch", drain.micro_batch, 3),
    Benchmark("rate-20000", whole_runs.at_rate(20_000), 3.2),
    Benchmark("rate-100000", whole_runs.at_rate(100_000), 3.2),
    Benchmark("rate-175000", whole_runs.at_rate(175_000), 3.2),
    Benchmark("sustained-200000", whole_runs.sustained(200_000), 2.5),
    Benchmark("sustained-300000", whole_runs.sustained(300_000), 2.5),
    Benchmark("sustained-400000", whole_runs.sustained(400_000), 2.5),
    Benchmark("micro-batch-600000", whole_runs.sustained(600_000, "throughput.yaml"), 4),
    Benchmark("latency", whole_runs.latency, 17),
    Benchmark("pair", pair.undisturbed, 4.5),
    Benchmark("pair-killed", pair.killed, 4.5),
    Benchmark("idle", resources.idle, 2.5),
    Benchmark("memory", resources.memory, 12),
)


def main() -> int:
    """Measure, print the table, write the file; the exit status is 0 unless a benchmark could not be run."""
    arguments = _arguments()
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in (arguments.only or _names())]
    console = Console()
    minutes = sum(benchmark.minutes for benchmark in chosen) * arguments.repeats
    console.print(f"{len(chosen)} benchmarks, {arguments.repeats} times each: about {minutes:.0f} minutes")
    medians: list[Figure] = []
    for benchmark in chosen:
        repeats = []
        for number in range(arguments.repeats):
            console.print(f"{benchmark.name}, {number + 1} of {arguments.repeats}")
            repeats.append(benchmark.measure(RUNS))
        medians += median_of(benchmark.name, repeats)
        RUNS.mkdir(exist_ok=True)
        write(RUNS / "bench.json", medians)
    console.print(_table(medians, arguments.repeats))
    return 0


def median_of(benchmark: str, repeats: Sequence[Figures]) -> list[Figure]:
    """The median of each figure over the repetitions that have it, its name led by the benchmark's."""
    names = dict.fromkeys(figure.name for figures in repeats for figure in figures)
    medians = []
    for name in names:
        found = [figure for figures in repeats for figure in figures if figure.name == name]
        value = statistics.median(figure.value for figure in found)
        medians.append(Figure(f"{benchmark}: {name}", value, found[0].unit))
    return medians


def write(path: Path, figures: Sequence[Figure]) -> None:
    """Add the figures to the file, in place of older ones of the same name."""
    known = {entry["name"]: entry for entry in json.loads(path.read_text())} if path.exists() else {}
    for figure in figures:
        known[figure.name] = {"name": figure.name, "value": figure.value, "unit": figure.unit}
    path.write_text(json.dumps(list(known.values()), indent=2) + "\n")


def _table(figures: Sequence[Figure], repeats: int) -> Table:
    table = Table(title=f"Medians of {repeats}", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for figure in figures:
        table.add_row(
            figure.name, f"{figure.value:,.4g}" if figure.value < 1000 else f"{figure.value:,.0f}", figure.unit
        )
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=_names(), help="these benchmarks alone")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is run; its medians are shown")
    return parser.parse_args()


def _names() -> list[str]:
    return [benchmark.name for benchmark in BENCHMARKS]


if __name__ == "__main__":
    sys.exit(main())
