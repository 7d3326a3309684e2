"""`make bench-metrics`: what the metrics path costs, as tables and as runs/bench-metrics.json (name, value, unit)."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

# The benchmarks are scripts beside each other, not a distribution.
sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parent.parent / "feature_cost"))
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import aggregator
import certificates
import memory
import recording
from figure import Figure, Figures

OUT = Path("runs/bench-metrics.json")


def price(scale: float) -> Figures:
    """What metrics add to the CPU of a message of the job."""
    from backlog import Backlog
    from measure import Bench
    from metrics_price import MESSAGES, PARTITIONS, STATE_PARTITIONS, metrics_price

    found = []
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
        for mode, messages in MESSAGES.items():
            backlog = Backlog.of(messages=round(messages * scale), partitions=PARTITIONS[mode])
            paid = metrics_price(bench, mode, backlog, state_partitions=STATE_PARTITIONS[mode])
            found.append(Figure(f"{mode}: with metrics", paid.us_per_message, "us/message"))
            for how, added in (("as read", paid.read), ("by pairs", paid.paired)):
                if added is not None:
                    found.append(Figure(f"{mode}: they add, {how}", 100 * added.share, "%"))
                    found.append(Figure(f"{mode}: they add, {how}, upper 95% bound", 100 * added.share_max, "%"))
    return found


PARTS: dict[str, Callable[[float], Figures]] = {
    "recording": recording.figures,
    "pushes": aggregator.pushes,
    "clients": aggregator.clients,
    "restart": aggregator.restart,
    "certificates": certificates.certificates,
    "memory": memory.figures,
    "price": price,
}


def main() -> int:
    """Measure, print the tables, write the file."""
    arguments = _arguments()
    console, found = Console(), {}
    for name in arguments.only or PARTS:
        found[name] = PARTS[name](arguments.scale)
        console.print(_table(name, found[name]))
    arguments.out.parent.mkdir(exist_ok=True)
    everything = {name: [asdict(figure) for figure in figures] for name, figures in found.items()}
    arguments.out.write_text(json.dumps(everything, indent=1) + "\n")
    return 0


def _table(name: str, figures: Figures) -> Table:
    table = Table(title=name, title_justify="left", box=None, show_header=False)
    table.add_column(name)
    table.add_column("value", justify="right")
    table.add_column("unit")
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,.2f}", figure.unit)
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-metrics METRICS='...'", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="these parts alone")
    parser.add_argument("--out", type=Path, default=OUT, help=f"file to write, {OUT} by default")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers and times; below 1 it is a trial")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
