"""`python tests/benchmarks/verdict_rates`: writes the tables of docs/comparing.md, by simulation; some minutes."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))  # scripts beside each other, not a distribution

from simulated import (
    DRIFTS,
    Bench,
    Series,
    autoregressive,
    history_rates,
    hourly,
    none,
    rates,
    search_rates,
    two_states,
)

from market_spread.controller.statistics import inference

DOCS = Path(__file__).parents[3] / "docs" / "comparing.md"
_DRIFT_NAMES = {drift: name for name, drift in DRIFTS.items()}
_SEARCHES = ((none, 0.05), (none, 0.1), (none, 0.2), (hourly, 0.05), (two_states, 0.05), (autoregressive, 0.05))


def comparisons(repetitions: int) -> Iterator[Sequence[str]]:
    """Paired comparisons: false verdicts, and how often p99 is called worse."""
    yield "drift", "pairs", "same code, any figure called", "5% slower: found", "10% slower", "20% slower"
    for name, drift in DRIFTS.items():
        for pairs in (5, 8, 12):
            same = rates(Bench(drift, pairs), repetitions=repetitions)
            found = [rates(Bench(drift, pairs, share), repetitions=repetitions).worse for share in (0.05, 0.1, 0.2)]
            yield name, str(pairs), f"{same.any_wrong:.1%}", *(f"{share:.2f}" for share in found)


def lengths(repetitions: int) -> Iterator[Sequence[str]]:
    """Paired comparisons of runs of other lengths, and how many pairs the same needs then."""
    yield "drift", "seconds from run to run", "pairs", "same code, any figure called", "10% slower: found", "20% slower"
    for drift in (hourly, autoregressive):
        for run_s in (30, 120, 300, 1020):
            for pairs in (8, 16):
                kind = Bench(drift, pairs, run_s=run_s)
                yield _DRIFT_NAMES[drift], str(run_s), str(pairs), *_found(kind, repetitions)


def turns(repetitions: int) -> Iterator[Sequence[str]]:
    """Comparisons of runs that are in turn, and in no pairs."""
    yield "drift", "same code, any figure called", "10% slower: found", "20% slower"
    for name, drift in DRIFTS.items():
        yield name, *_found(Bench(drift, in_turn=True), repetitions)


def _found(bench: Bench, repetitions: int) -> Iterator[str]:
    yield f"{rates(bench, repetitions=repetitions).any_wrong:.1%}"
    for share in (0.1, 0.2):
        yield f"{rates(replace(bench, slower_share=share), repetitions=repetitions).worse:.2f}"


def selections(repetitions: int) -> Iterator[Sequence[str]]:
    """Comparisons in which slow runs are void."""
    yield "b is slower by", "drift", "p99 called worse", "called the same", "any figure called wrongly"
    for drift in (none, autoregressive):
        for slower in (0.0, 0.1, 0.2):
            found = rates(
                Bench(drift, slower_share=slower, noise_share=0.1, void_above=0.1), repetitions=repetitions, seed=2
            )
            yield (
                f"{slower:.0%}", _DRIFT_NAMES[drift],
                f"{found.worse:.2f}", f"{found.same:.2f}", f"{found.any_wrong:.1%}",
            )  # fmt: skip


def strictness(repetitions: int) -> Iterator[Sequence[str]]:
    """Comparisons whose runs are void by chance, by our rule, and by one that says nothing if the numbers differ."""
    yield "void by chance", "20% slower: found", "found by the stricter rule"
    for void in (0.02, 0.05, 0.1):
        bench = Bench(none, slower_share=0.2, void_share=void)
        ours = rates(bench, repetitions=repetitions, seed=6)
        with patch.object(inference, "counts_differ_p", lambda first, other: float(first[0] == other[0])):
            strict = rates(bench, repetitions=repetitions, seed=6)
        yield f"{void:.0%}", f"{ours.worse:.2f}", f"{strict.worse:.2f}"


def searches(repetitions: int) -> Iterator[Sequence[str]]:
    """Searches for a limit that is known."""
    yield (
        "drift", "noise", "interval holds the usual limit", "its half width", "interval of the search holds",
        "its half width", "no answer", "runs",
    )  # fmt: skip
    for drift, noise in _SEARCHES:
        found = search_rates(drift, noise, repetitions=repetitions, seed=3)
        yield (
            _DRIFT_NAMES[drift], f"{noise:.0%}", f"{found.covers:.2f}", f"{found.width:.0%}",
            f"{found.covers_search:.2f}", f"{found.search_width:.0%}",
            f"{found.not_bracketed:.2f}", f"{found.runs:.1f}",
        )  # fmt: skip


def histories(repetitions: int) -> Iterator[Sequence[str]]:
    """Histories with and without a change in their middle."""
    yield "runs", "history", "no change: any is found", "p99 10% slower: found", "20% slower"
    for runs in (20, 40):
        for name, series in (
            ("independent runs", Series(runs, noise_share=0.03)),
            ("AR(0.5)", Series(runs, memory=0.5, noise_share=0.03)),
            ("AR(0.8)", Series(runs, memory=0.8, noise_share=0.03)),
            ("hourly drift", Series(runs, noise_share=0.03, drift=hourly)),
            ("hourly drift, by an anchor", Series(runs, noise_share=0.03, drift=hourly, has_anchor=True)),
        ):
            no_step = Series(runs, series.memory, 0.1 if series.memory else 0.03, series.drift, series.has_anchor)
            falsely, _ = history_rates(no_step, repetitions=repetitions, seed=4)
            found = []
            for share in (0.1, 0.2):
                step = Series(runs, series.memory, 0.03, series.drift, series.has_anchor, share)
                found.append(history_rates(step, repetitions=1 + repetitions // 4, seed=5)[1])
            yield str(runs), name, f"{falsely:.1%}", *(f"{share:.2f}" for share in found)


TABLES = {"comparisons": (comparisons, 500), "lengths": (lengths, 500), "turns": (turns, 500)}
TABLES |= {"selections": (selections, 500), "strictness": (strictness, 500)}
TABLES |= {"searches": (searches, 300), "histories": (histories, 200)}


def main() -> None:
    """Print each table as it is made, and write all into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Of the repetitions; a small one to try it.")
    parser.add_argument("--only", choices=TABLES, help="Make this table alone.")
    chosen = parser.parse_args()
    for name, (make, repetitions) in TABLES.items():
        if chosen.only in (None, name):
            write(name, [f"| {' | '.join(row)} |" for row in make(round(repetitions * chosen.share))])


def write(name: str, rows: list[str]) -> None:
    """Put the table between its two marks in the page."""
    table = "\n".join([rows[0], "|" + "---:|" * (rows[0].count("|") - 1), *rows[1:]])
    print(f"{table}\n", flush=True)
    begin, end = f"<!-- {name}: made by tests/benchmarks/verdict_rates -->\n", f"<!-- end of {name} -->"
    before, _, rest = DOCS.read_text().partition(begin)
    _, _, after = rest.partition(end)
    DOCS.write_text(f"{before}{begin}\n{table}\n\n{end}{after}")


if __name__ == "__main__":
    main()
