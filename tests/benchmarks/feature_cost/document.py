"""The tables of docs/performance.md, written from what was measured, between the page's marks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steps import steps

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME

_MODES = (REAL_TIME, MICRO_BATCH)
_HEADS = {
    "features": "with",
    "symbols": "symbols",
    "partitions": "partitions of a topic",
    "frames": "messages a frame",
    "decisions": "decisions",
}


def publish(measured: Sequence[Mapping[str, Any]], page: Path) -> None:
    """Replace each table of the page that was measured. measured: the results in runs/bench-features.json."""
    text = page.read_text()
    for table, head in _HEADS.items():
        results = [result for result in measured if result["table"] == table]
        if results:
            text = _replaced(text, table, _table(head, results))
    page.write_text(text)


def _replaced(text: str, mark: str, table: str) -> str:
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if begin not in text or end not in text:
        raise ValueError(f"the page has no {begin} … {end}")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table}\n{end}", text, flags=re.DOTALL)


def _table(head: str, results: Sequence[Mapping[str, Any]]) -> str:
    modes = [mode for mode in _MODES if any(result["mode"] == mode for result in results)]
    by_place = {(result["name"], result["mode"]): result for result in results}
    columns = [head, *(f"{mode}, {what}" for mode in modes for what in ("messages/s", "CPU us/message"))]
    rows = [
        [_spoken(name), *(cell for mode in modes for cell in _cells(by_place.get((name, mode))))]
        for name in dict.fromkeys(result["name"] for result in results)
    ]
    return _markdown(columns, rows)


def _spoken(name: str) -> str:
    """A step with what it adds in either mode; anything else as it is."""
    added = [step.adds for mode in _MODES for step in steps(mode) if step.name == name]
    return f"**{name}**: {'; '.join(dict.fromkeys(added))}" if added else name


def _cells(result: Mapping[str, Any] | None) -> tuple[str, str]:
    if result is None:
        return "", ""
    return f"{result['rate_per_s']:,.0f}", f"{result['cpu_us_per_message']:.2f}"


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
