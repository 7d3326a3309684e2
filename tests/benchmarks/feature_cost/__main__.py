"""`make bench-features`: the cost of every feature, in tables, in runs/bench-features.json and, if asked, in docs."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

from backlog import Backlog
from document import publish
from measure import Bench, Drained
from metrics_price import MESSAGES, PARTITIONS, STATE_PARTITIONS
from picture import draw
from steps import shipped, steps

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME

OUT = Path("runs/bench-features.json")
PAGE = Path("docs/performance.md")
PICTURES = Path("docs/feature-cost")
MODES = (REAL_TIME, MICRO_BATCH)
WARM_UP = {REAL_TIME: 3, MICRO_BATCH: 4}
ROUNDS = 2
# A frame of one message costs as much as one of two hundred: fewer of them take as long.
_FEWER = {1: 20, 10: 4}


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured in one process: a step, or the whole job on other input."""

    table: str
    mode: str
    name: str
    step: str
    frame_messages: int = 200
    symbols: int = 350
    partitions: int = 0

    @property
    def messages(self) -> int:
        """How many messages a backlog has."""
        return MESSAGES[self.mode] // _FEWER.get(self.frame_messages, 1)


@dataclass(frozen=True, slots=True)
class Result:
    """A case with the medians of its repetitions, and all of them."""

    table: str
    mode: str
    name: str
    rate_per_s: float
    cpu_us_per_message: float
    repeats: tuple[Drained, ...]


def features() -> Iterator[Case]:
    """The steps of both modes, up to the job as shipped."""
    for mode in MODES:
        for step in steps(mode)[: steps(mode).index(shipped(mode)) + 1]:
            yield Case("features", mode, step.name, step.name)


def symbols() -> Iterator[Case]:
    """The job as shipped on other numbers of symbols."""
    for mode in MODES:
        for number in (350, 3_500, 35_000, 100_000):
            yield Case("symbols", mode, f"{number:,}", shipped(mode).name, symbols=number)


def partitions() -> Iterator[Case]:
    """The job as shipped on other numbers of partitions of each topic."""
    for mode in MODES:
        for number in (1, 4, 16):
            yield Case("partitions", mode, f"{number}", shipped(mode).name, partitions=number)


def frames() -> Iterator[Case]:
    """The job as shipped on other numbers of messages a record."""
    for mode in MODES:
        for number in (1, 10, 200, 900):
            yield Case("frames", mode, f"{number}", shipped(mode).name, frame_messages=number)


def decisions() -> Iterator[Case]:
    """The job as shipped, and one that writes every decision, in turn."""
    for mode in MODES:
        yield Case("decisions", mode, "rejected", shipped(mode).name)
        yield Case("decisions", mode, "all", "decisions")


TABLES: dict[str, Callable[[], Iterator[Case]]] = {
    "features": features,
    "symbols": symbols,
    "partitions": partitions,
    "frames": frames,
    "decisions": decisions,
}


def main() -> int:
    """Measure, print the tables, write the file and the pictures."""
    arguments = _arguments()
    console = Console()
    modes, tables = arguments.modes or MODES, arguments.only or TABLES
    cases = [case for table in tables for case in TABLES[table]() if case.mode in modes]
    found: dict[Case, list[Drained]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
        for repeat in range(arguments.repeats):
            for case in cases:
                drained = measured(bench, case, scale=arguments.scale)
                found[case].append(drained)
                told = f"{drained.rate_per_s:>11,.0f}/s {drained.cpu_us_per_message:6.3f} us"
                console.print(
                    f"{repeat + 1} of {arguments.repeats}  {case.mode:11}  {case.table} {case.name:18} {told}"
                )
            _added_to(OUT, _results(found))  # what there is, should a later repeat fail
    results = _results(found)
    everything = _added_to(OUT, results)
    for table in dict.fromkeys(result.table for result in results):
        console.print(_table(table, [result for result in results if result.table == table]))
    if arguments.publish:
        publish(everything, PAGE)
        draw([result for result in everything if result["table"] == "features"], PICTURES)
    return 0


def _added_to(path: Path, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Write them to the file, in place of older ones of the same cases; everything that it then has."""
    known = json.loads(path.read_text())["results"] if path.exists() else []
    by_case = {(it["table"], it["mode"], it["name"]): it for it in (*known, *map(asdict, results))}
    everything = list(by_case.values())
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"results": everything}, indent=1) + "\n")
    return everything


def measured(bench: Bench, case: Case, *, scale: float = 1.0) -> Drained:
    """One repetition of a case. scale: of the number of messages."""
    count = case.partitions or PARTITIONS[case.mode]
    backlog = _backlog(round(case.messages * scale), case.frame_messages, case.symbols, count)
    (step,) = (step for step in steps(case.mode) if step.name == case.step)
    return bench.drain(
        step,
        case.mode,
        backlog,
        state_partitions=STATE_PARTITIONS[case.mode],
        warm_up=WARM_UP[case.mode],
        rounds=ROUNDS,
    )


@lru_cache(maxsize=2)  # the steps of a mode share theirs
def _backlog(messages: int, frame_messages: int, symbols: int, partitions: int) -> Backlog:
    return Backlog.of(messages=messages, frame_messages=frame_messages, symbols=symbols, partitions=partitions)


def _results(found: Mapping[Case, Sequence[Drained]]) -> list[Result]:
    return [_result(case, repeats) for case, repeats in found.items()]


def _result(case: Case, repeats: Sequence[Drained]) -> Result:
    return Result(
        table=case.table,
        mode=case.mode,
        name=case.name,
        rate_per_s=median(one.rate_per_s for one in repeats),
        cpu_us_per_message=median(one.cpu_us_per_message for one in repeats),
        repeats=tuple(repeats),
    )


def _table(name: str, results: Sequence[Result]) -> Table:
    table = Table(title=name, title_justify="left")
    table.add_column(name)
    for mode in dict.fromkeys(result.mode for result in results):
        table.add_column(f"{mode}, messages/s", justify="right")
        table.add_column("CPU us/message", justify="right")
    for row in dict.fromkeys(result.name for result in results):
        cells = (
            (f"{result.rate_per_s:,.0f}", f"{result.cpu_us_per_message:.2f}")
            for result in results
            if result.name == row
        )
        table.add_row(row, *(cell for pair in cells for cell in pair))
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-features FEATURES='...'", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(TABLES), help="these tables alone")
    parser.add_argument("--modes", nargs="*", choices=MODES, help="these modes alone")
    parser.add_argument("--repeats", type=int, default=3, help="processes for each case; their medians are shown")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of messages; below 1 it is a trial")
    parser.add_argument("--publish", action="store_true", help=f"write the tables into {PAGE}, and draw {PICTURES}.*")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
