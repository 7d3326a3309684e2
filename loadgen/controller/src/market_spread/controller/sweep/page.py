"""What a search has found, and the curve of latency against rate: words, a table, a picture."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from market_spread.common.words import counted
from market_spread.controller.compare.figures import PERCENTILES, short_number
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.sweep.search import RateLimit, RateOutcome, round_rate
from market_spread.controller.sweep.session import RatePoint
from market_spread.controller.views.charts import COLOURS, Chart, linear_axis, log_axis
from market_spread.controller.views.output import Page, Picture, Sentences, Table

SCHEMA_VERSION = 1
_IN_PICTURE = ("p50", "p99", "p99.9")


def search_page(name: str, found: RateLimit, points: Sequence[RatePoint], objectives: Objectives) -> Page:
    """The answer, how it stands, every rate that was tried, and the curve."""
    head = ("", "runs", "messages/s", "achieved", *(f"{name}, ms" for name in PERCENTILES), "CPU, us/message")
    rows = tuple(_row(point) for point in points)
    table = Table("Medians over the runs of each rate", head, rows, text_columns=2)
    parts: list[Table | Sentences | Picture] = [Sentences(_sentences(found, points)), table]
    if picture := curve_picture(found, points, objectives):
        parts.append(picture)
    runs = sum(len(point.runs) for point in points)
    headline = f"{name} {_answer(found)} under {objectives.text} ({counted(runs, 'run')})"
    verdict = "undecided" if found.is_contradictory else "held" if found.held else "broken"
    return Page(verdict, headline, tuple(parts))


def search_json(found: RateLimit, points: Sequence[RatePoint], objectives: Objectives) -> str:
    """The answer for programs, versioned by `schema_version`; rates in messages a second."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "objectives": objectives.text,
        **asdict(found),
        "runs": [
            {"rate": point.rate, "run_id": run.run_id, "outcome": finding.outcome.value, "reason": finding.reason}
            for point in points
            for run, finding in zip(point.runs, point.findings, strict=True)
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _answer(found: RateLimit) -> str:
    limit = found.limit
    if found.is_contradictory:
        return "has no limit that its runs agree on"
    if limit is not None:
        return (
            f"holds {round_rate(limit.rate):,} messages/s "
            f"(95% interval {round_rate(limit.low):,} to {round_rate(limit.high):,})"
        )
    return f"holds {found.held:,} messages/s or more" if found.held else "holds no rate that was tried"


def curve_picture(found: RateLimit, points: Sequence[RatePoint], objectives: Objectives) -> Picture | None:
    """Medians of the percentiles over the runs of each rate; a rate that is held has full points. None without any."""
    judged = [point for point in points if _median(point, "p50") is not None]
    if not judged:
        return None
    named = {name: [(p, value) for p in judged if (value := _median(p, name)) is not None] for name in _IN_PICTURE}
    values = [value for of in named.values() for _, value in of] + list(objectives.latency_ms.values())
    chart = Chart(
        linear_axis("offered, messages a second", 0, max(point.rate for point in judged), lambda rate: f"{rate:,.0f}"),
        log_axis("latency, ms", min(values), max(values), short_number),
    )
    for name, limit_ms in objectives.latency_ms.items():
        chart.across(limit_ms, f"{name} ≤ {short_number(limit_ms)} ms")
    if found.held:
        best = found.limit.rate if found.limit else found.held
        chart.upright(best, f"{round_rate(best):,}")
    for (name, of), colour in zip(named.items(), COLOURS, strict=False):
        if of:
            chart.line(name, [(point.rate, value) for point, value in of], colour)
        for point, value in of:
            title = f"{name} {short_number(value)} ms at {point.rate:,}/s: {_verdict(point)}"
            chart.point(point.rate, value, colour, filled=_verdict(point) == RateOutcome.HELD.value, title=title)
    return Picture("Latency by offered rate", chart.svg())


def _sentences(found: RateLimit, points: Sequence[RatePoint]) -> tuple[str, ...]:
    by_rate = {point.rate: point for point in points}
    said = []
    if (limit := found.limit) is not None and limit.is_bracketed:
        said.append(
            f"half of the runs hold {round_rate(limit.rate):,} messages/s; 95% interval "
            f"{round_rate(limit.search_low):,} to {round_rate(limit.search_high):,} for the machine as it was during "
            "the search; the wider one in the headline is for other hours (--drift)"
        )
    elif limit is not None:
        said.append(
            f"not bracketed: by its runs the limit may be anywhere from {round_rate(limit.search_low):,} to "
            f"{round_rate(limit.search_high):,} messages/s; allow more of them with --repeats, make them longer with "
            "-- --duration, or search again at another hour with another --folder"
        )
    if found.held:
        said.append(f"{found.held:,} messages/s: {_counts(by_rate[found.held])}")
    if found.broken is None:
        said.append("no higher rate was tried: it is the highest that --to allows")
    else:
        reason = next((finding.reason for finding in by_rate[found.broken].findings if finding.reason), "")
        said.append(f"{found.broken:,} messages/s: {_counts(by_rate[found.broken])}; {reason}")
    if found.is_rig_bound:
        said.append("the runs at the upper end are void, so the system may hold more than the rig can show here")
    return tuple(said)


def _counts(point: RatePoint) -> str:
    counts = Counter(finding.outcome for finding in point.findings)
    return ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in RateOutcome if counts[outcome])


def _verdict(point: RatePoint) -> str:
    counts = Counter(finding.outcome for finding in point.findings)
    if counts[RateOutcome.HELD] > counts[RateOutcome.BROKEN]:
        return RateOutcome.HELD.value
    return RateOutcome.BROKEN.value if counts[RateOutcome.BROKEN] else RateOutcome.VOID.value


def _row(point: RatePoint) -> tuple[str, ...]:
    achieved = _median_of(point, "achieved_rate_per_s")
    cpu = _median_of(point, "cpu_us_per_message")
    latencies = (_median(point, name) for name in PERCENTILES)
    return (
        _verdict(point),
        _counts(point),
        f"{point.rate:,}",
        "-" if achieved is None else f"{achieved:,.0f}",
        *("-" if value is None else short_number(value) for value in latencies),
        "-" if cpu is None else short_number(cpu),
    )


def _median(point: RatePoint, percentile: str) -> float | None:
    """Milliseconds."""
    value = _median_of(point, f"latency_ns.{percentile}")
    return None if value is None else value / 1e6


def _median_of(point: RatePoint, path: str) -> float | None:
    """Over the runs that were judged; over the void ones if there are no others."""
    judged = [
        run
        for run, finding in zip(point.runs, point.findings, strict=True)
        if finding.outcome is not RateOutcome.VOID or _verdict(point) == RateOutcome.VOID.value
    ]
    values = [run.figures[path] for run in judged if path in run.figures]
    return float(np.median(values)) if values else None
