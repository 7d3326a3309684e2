"""The tables of docs/peers.md, written from what was measured, between the page's marks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from contenders import CONTENDERS
from figures import RATES_PER_S, better_than_spark

Results = Sequence[Mapping[str, Any]]
NOT_MEASURED = "not measured yet"
_LATENCIES = {"p50_ms": "p50", "p99_ms": "p99", "p999_ms": "p99.9"}


def publish(results: Results, page: Path) -> None:
    """Replace the page's tables. results: those in runs/bench-peers.json."""
    text = page.read_text()
    for mark, table in {"drain": _drain, "latency": _latency, "recovery": _recovery}.items():
        text = _replaced(text, mark, table(results))
    page.write_text(text)


def _drain(results: Results) -> str:
    columns = ["system", "messages/s", "CPU us/message"]
    rows = [
        [title, _cell(found, "rate_per_s", "{:,.0f}"), _cell(found, "cpu_us_per_message", "{:.2f}")]
        for title, found in _by_contender(results, "drain")
    ]
    return _with_losses(
        columns, rows, results,
        {"messages a second": ("drain", "rate_per_s", True), "CPU": ("drain", "cpu_us_per_message", False)},
    )  # fmt: skip


def _latency(results: Results) -> str:
    measured = [rate for rate in RATES_PER_S if any(it["figure"] == f"rate-{rate}" for it in results)]
    columns = ["system", "messages/s", *(f"{name}, ms" for name in _LATENCIES.values()), "CPU us/message", "runs held"]
    rows = [
        [
            title,
            f"{rate_per_s:,}",
            *(_cell(found, name, "{:.1f}") for name in _LATENCIES),
            _cell(found, "cpu_us_per_message", "{:.2f}"),
            f"{found['held']} of {len(found['repeats'])}" if found else "",
        ]
        for rate_per_s in measured
        for title, found in _by_contender(results, f"rate-{rate_per_s}")
    ]
    judged = {
        f"{spoken} at {rate_per_s:,}": (f"rate-{rate_per_s}", name, False)
        for rate_per_s in measured
        for name, spoken in {**_LATENCIES, "cpu_us_per_message": "CPU"}.items()
    }
    missing = [f"{rate:,}" for rate in RATES_PER_S if rate not in measured]
    table = _with_losses(columns, rows, results, judged)
    return f"{table}\n\nAt {' and '.join(missing)} messages a second: {NOT_MEASURED}." if missing else table


def _recovery(results: Results) -> str:
    columns = ["system", "longest silence, s", "alerts lost", "alerts doubled"]
    rows = [
        [
            title,
            _cell(found, "silence_s", "{:.1f}"),
            _cell(found, "lost", "{:,.0f}"),
            _cell(found, "doubled", "{:,.0f}"),
        ]
        for title, found in _by_contender(results, "recovery")
    ]
    return _with_losses(columns, rows, results, {"silence": ("recovery", "silence_s", False)})


def _by_contender(results: Results, figure: str) -> list[tuple[str, Mapping[str, Any] | None]]:
    found = {it["contender"]: it for it in results if it["figure"] == figure}
    return [(contender.title, found.get(contender.name)) for contender in CONTENDERS]


def _cell(found: Mapping[str, Any] | None, name: str, pattern: str) -> str:
    if found is None:
        return NOT_MEASURED
    value = found["medians"].get(name)
    return pattern.format(value) if value is not None else "too few"


def _with_losses(
    columns: Sequence[str], rows: Iterable[Sequence[str]], results: Results, judged: Mapping[str, tuple[str, str, bool]]
) -> str:
    """The table, and below it where Spark, in the better of its modes, loses, and to whom."""
    titles = {contender.name: contender.title for contender in CONTENDERS}
    lost = [
        f"* {spoken}: {', '.join(titles[it] for it in better)}"
        for spoken, (figure, name, higher) in judged.items()
        if (better := better_than_spark(results, figure, name, higher=higher))
    ]
    table = _markdown(columns, rows)
    return table + ("\n\nSpark, in the better of its modes, loses:\n\n" + "\n".join(lost) if lost else "")


def _replaced(text: str, mark: str, table: str) -> str:
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if begin not in text or end not in text:
        raise ValueError(f"the page has no {begin} … {end}")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table}\n{end}", text, flags=re.DOTALL)


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
