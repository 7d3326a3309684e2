"""`make bench-peers`: Spark beside other systems, as a table, as runs/bench-peers.json and, on request, in the docs."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

from contenders import NAMES, Contender, contender_of
from figures import FIGURES, Figure, result_of
from peer_picture import draw
from peer_tables import publish

from market_spread.common.errors import MarketSpreadError

RUNS = Path("runs")
OUT = RUNS / "bench-peers.json"
PAGE = Path("docs/peers.md")
PICTURE = Path("docs/peers")

Place = tuple[str, str]


def main() -> int:
    """Measure, print the table, write the file and the picture; 1 if something could not be measured."""
    arguments = _arguments()
    console = Console()
    contenders = [contender_of(name) for name in arguments.only or NAMES]
    figures = [figure for figure in FIGURES if figure.name in (arguments.figures or _figure_names())]
    minutes = sum(figure.minutes for figure in figures) * len(contenders) * arguments.repeats
    console.print(
        f"{len(contenders)} systems, {arguments.repeats} times: about {minutes * arguments.scale:.0f} minutes"
    )
    found: dict[Place, list[Any]] = {}
    failed = 0
    for repeat in range(arguments.repeats):
        for figure in figures:
            for contender in contenders:  # in turn, so that a slow hour of the machine meets all
                measured = _measured(contender, figure, arguments.scale, console)
                if measured is None:
                    failed += 1
                    continue
                found.setdefault((contender.name, figure.name), []).append(measured)
                console.print(
                    f"{repeat + 1} of {arguments.repeats}  {contender.name:18} {figure.name:12} {_told(measured)}"
                )
                _added_to(OUT, _results(found))
    everything = _added_to(OUT, _results(found))
    console.print(_table(_results(found)))
    if arguments.publish:
        publish(everything, PAGE)
        draw(everything, PICTURE)
    return 1 if failed else 0


def _measured(contender: Contender, figure: Figure, scale: float, console: Console) -> Any | None:
    """What was measured; None if the system could not be, of which the reason is told, and the others go on."""
    try:
        return figure.measure(contender, RUNS, scale)
    except (MarketSpreadError, TimeoutError, RuntimeError) as error:
        console.print(f"{contender.name} {figure.name}: {error}", soft_wrap=True, highlight=False)
        return None


def _results(found: Mapping[Place, Sequence[Any]]) -> list[dict[str, Any]]:
    return [result_of(contender, figure, repeats) for (contender, figure), repeats in found.items()]


def _added_to(path: Path, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write them to the file, in place of older ones of the same system and figure; everything that it then has."""
    known = json.loads(path.read_text())["results"] if path.exists() else []
    everything = list({(it["contender"], it["figure"]): dict(it) for it in (*known, *results)}.values())
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"results": everything}, indent=1) + "\n")
    return everything


def _told(measured: Any) -> str:
    values = asdict(measured)
    return "  ".join(f"{name} {value:,.4g}" for name, value in values.items() if isinstance(value, int | float))


def _table(results: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="Medians", title_justify="left")
    for column in ("system", "measured", "figure", "median"):
        table.add_column(column, justify="right" if column == "median" else "left")
    for result in results:
        for name, value in result["medians"].items():
            table.add_row(result["contender"], result["figure"], name, f"{value:,.4g}")
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers PEERS='...'", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=NAMES, help="these systems alone")
    parser.add_argument("--figures", nargs="*", choices=_figure_names(), help="these figures alone")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is measured; the medians are shown")
    parser.add_argument("--scale", type=float, default=1.0, help="of times and messages; below 1 it is a trial")
    parser.add_argument("--publish", action="store_true", help=f"write the tables into {PAGE}, and draw {PICTURE}.*")
    return parser.parse_args()


def _figure_names() -> list[str]:
    return [figure.name for figure in FIGURES]


if __name__ == "__main__":
    sys.exit(main())
