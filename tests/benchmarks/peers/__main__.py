"""`make bench-peers`: Spark beside other systems, in rounds; the rounds, their tables and a picture are in the docs."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

from contenders import NAMES, Contender, contender_of
from figures import FIGURES, Figure
from peer_picture import draw
from peer_tables import publish
from rounds import Measurement, append, read, turns
from standings import results_of

from market_spread.common.errors import MarketSpreadError
from market_spread.controller.archive.provenance import code

RUNS = Path("runs")
ROUNDS = Path("docs/peers.jsonl")
TRIAL = RUNS / "bench-peers-trial.jsonl"
PAGE = Path("docs/peers.md")
PICTURE = Path("docs/peers")


def main() -> int:
    """Measure what is missing, then write the page and the picture; 1 if something could not be measured."""
    arguments = _arguments()
    console = Console()
    rounds = ROUNDS if arguments.scale == 1 else TRIAL
    contenders = [contender_of(name) for name in arguments.only or NAMES]
    figures = [figure for figure in FIGURES if figure.name in (arguments.figures or _figure_names())]
    due = list(turns(figures, contenders, arguments.rounds, read(rounds)))
    minutes = sum(turn.figure.minutes for turn in due) * arguments.scale
    console.print(f"{len(due)} to be measured, in about {minutes:.0f} minutes; the rounds are in {rounds}")
    failed, ends_s = 0, time.monotonic() + 60 * arguments.minutes
    for turn in due:
        if time.monotonic() + 60 * turn.figure.minutes * arguments.scale > ends_s:
            console.print("the time is over; the same command goes on here")
            break
        began = datetime.now(UTC).isoformat(timespec="seconds")
        measured = _measured(turn.contender, turn.figure, arguments.scale, console)
        if measured is None:
            failed += 1
            continue
        values = asdict(measured)
        console.print(f"round {turn.round}  {turn.figure.name:12} {turn.contender.name:18} {_told(values)}")
        git_commit = code()["git_commit"]
        commit = git_commit[:9] if isinstance(git_commit, str) else None
        where = (turn.round, turn.figure.name, turn.contender.name, turn.place, began, commit)
        append(rounds, Measurement(*where, values))
    if rounds == ROUNDS:
        results = results_of(read(rounds))
        publish(results, PAGE)
        draw(results, PICTURE)
    return 1 if failed else 0


def _measured(contender: Contender, figure: Figure, scale: float, console: Console) -> Any | None:
    """What was measured; None if the system could not be, of which the reason is told, and the others go on."""
    try:
        return figure.measure(contender, RUNS, scale)
    except (MarketSpreadError, TimeoutError, RuntimeError) as error:
        console.print(f"{contender.name} {figure.name}: {error}", soft_wrap=True, highlight=False)
        return None


def _told(values: dict[str, Any]) -> str:
    said = [f"{name} {value:,.4g}" for name, value in values.items() if isinstance(value, int | float)]
    return "  ".join([*said, *filter(None, [values.get("verdict"), *values.get("reasons", ())])])


def _arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers PEERS='...'", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=NAMES, help="these systems alone")
    parser.add_argument("--figures", nargs="*", choices=_figure_names(), help="these figures alone")
    parser.add_argument("--rounds", type=int, default=8, help="up to this round; what was measured is not again")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing that would end after this time")
    parser.add_argument("--scale", type=float, default=1.0, help=f"of times and messages; else 1 it goes to {TRIAL}")
    return parser.parse_args(given)


def _figure_names() -> list[str]:
    return [figure.name for figure in FIGURES]


if __name__ == "__main__":
    sys.exit(main())
