"""The tables of docs/peers.md, written from what was measured, between the page's marks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from contenders import COMMIT_S, CONTENDERS
from figures import COMMITS_RATE_PER_S, OTHER_COMMITS_S, RATES_PER_S
from standings import ROUNDS_MIN, Result, Standing, standing

Judged = Mapping[str, tuple[str, str, bool]]
NOT_MEASURED = "not measured yet"
_LATENCIES = {"p50_ms": "p50", "p99_ms": "p99", "p999_ms": "p99.9"}
_HEAT = {"p99_hot_ms": "p99 hot", "p99_cold_ms": "p99 cold"}


def publish(results: Sequence[Result], page: Path) -> None:
    """Replace the page's tables."""
    text = page.read_text()
    tables = {
        "drain": _drain, "latency": _latency, "commits": _commits, "sustained": _sustained, "recovery": _recovery,
    }  # fmt: skip
    for mark, table in tables.items():
        text = _replaced(text, mark, table(results))
    page.write_text(text)


def _drain(results: Sequence[Result]) -> str:
    rows = [
        [title, _cell(found, "rate_per_s", ",.0f"), _cell(found, "cpu_us_per_message", ".2f"), _count(found)]
        for title, found in _by_contender(results, "drain")
    ]
    return _with_standings(
        ["system", "messages/s", "CPU us/message", "rounds"], rows, results,
        {"messages a second": ("drain", "rate_per_s", True), "CPU": ("drain", "cpu_us_per_message", False)},
    )  # fmt: skip


def _latency(results: Sequence[Result]) -> str:
    rates = {f"rate-{rate}": f"{rate:,}" for rate in RATES_PER_S}
    return _runs(results, rates, "messages/s", "at {} messages/s")


def _commits(results: Sequence[Result]) -> str:
    figures = {f"commit-{commit_s:g}": f"{commit_s:g}" for commit_s in OTHER_COMMITS_S}
    return _runs(
        results, {f"rate-{COMMITS_RATE_PER_S}": f"{COMMIT_S:g}", **figures}, "a commit, s", "with a commit every {} s"
    )


def _runs(results: Sequence[Result], figures: Mapping[str, str], of: str, told: str) -> str:
    """Of whole runs, those figures that were measured. figures: with what each has in the column `of`; told: how a
    sentence says that.
    """
    measured = {name: given for name, given in figures.items() if any(it.figure == name for it in results)}
    names = {**_LATENCIES, **_HEAT}
    rows = [
        [
            title,
            given,
            *(_cell(found, name, ".1f") for name in names),
            _cell(found, "cpu_us_per_message", ".2f"),
            _count(found),
        ]
        for figure, given in measured.items()
        for title, found in _by_contender(results, figure)
        if found is not None
    ]
    judged = {
        f"{spoken} {told.format(given)}": (figure, name, False)
        for figure, given in measured.items()
        for name, spoken in {**_LATENCIES, "cpu_us_per_message": "CPU"}.items()
    }
    columns = ["system", of, *(f"{name}, ms" for name in names.values()), "CPU us/message", "runs that passed"]
    table = _with_standings(columns, rows, results, judged)
    missing = [given for name, given in figures.items() if name not in measured]
    return f"{table}\n\n{of.capitalize()}: {' and '.join(missing)} {NOT_MEASURED}." if missing else table


def _sustained(results: Sequence[Result]) -> str:
    rows = [
        [title, _cell(found, "held_per_s", ",.0f"), _cell(found, "broken_per_s", ",.0f"), _count(found)]
        for title, found in _by_contender(results, "sustained")
    ]
    columns = ["system", "held, messages/s", "not held, messages/s", "searches"]
    return _with_standings(columns, rows, results, {"the rate that is held": ("sustained", "held_per_s", True)})


def _recovery(results: Sequence[Result]) -> str:
    columns = ["system", "longest silence, s", "alerts lost", "alerts doubled", "rounds"]
    rows = [
        [
            title,
            _cell(found, "silence_s", ".1f"),
            _cell(found, "lost", ",.0f"),
            _cell(found, "doubled", ",.0f"),
            _count(found),
        ]
        for title, found in _by_contender(results, "recovery")
    ]
    return _with_standings(columns, rows, results, {"silence": ("recovery", "silence_s", False)})


def _by_contender(results: Sequence[Result], figure: str) -> list[tuple[str, Result | None]]:
    found = {it.contender: it for it in results if it.figure == figure}
    return [(contender.title, found.get(contender.name)) for contender in CONTENDERS]


def _cell(found: Result | None, name: str, form: str) -> str:
    """The median, and the bounds of its interval where the rounds are enough for one."""
    if found is None:
        return NOT_MEASURED
    if (interval := found.interval(name)) is None:
        return "too few"
    bounds = "" if interval.low is None else f" ({interval.low:{form}} to {interval.high:{form}})"
    return f"{interval.estimate:{form}}{bounds}"


def _count(found: Result | None) -> str:
    """How many rounds there were, or how many runs of them passed."""
    if found is None:
        return "0"
    verdicts = found.verdicts
    return f"{verdicts.count('passed')} of {len(verdicts)}" if verdicts else f"{len(found.rounds)}"


def _with_standings(
    columns: Sequence[str], rows: Iterable[Sequence[str]], results: Sequence[Result], judged: Judged
) -> str:
    """The table, and below it whom Spark, in the better of its modes, loses to and beats."""
    standings = {
        spoken: found
        for spoken, (figure, name, higher) in judged.items()
        if (found := standing(results, figure, name, higher=higher))
    }
    table = _markdown(columns, rows)
    lines = [f"* {spoken}: {_sentence(found)}" for spoken, found in standings.items() if found.behind or found.ahead]
    if lines:
        return f"{table}\n\nSpark, in the better of its modes:\n\n" + "\n".join(lines)
    return f"{table}\n\nWho is better is not said before {ROUNDS_MIN} rounds." if standings else table


def _sentence(found: Standing) -> str:
    titles = {contender.name: contender.title for contender in CONTENDERS}
    groups = {"behind": found.behind, "ahead of": found.ahead, "undecided with": found.undecided}
    return "; ".join(
        f"{said} {', '.join(titles[it].replace(', ', ' by ') for it in names)}"
        for said, names in groups.items()
        if names
    )


def _replaced(text: str, mark: str, table: str) -> str:
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if begin not in text or end not in text:
        raise ValueError(f"the page has no {begin} … {end}")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table}\n{end}", text, flags=re.DOTALL)


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
