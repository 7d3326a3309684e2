"""docs/jobs.md: each pipeline gives what the job of Spark's own API gives, and both are as long as the page says."""

import importlib
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from market_spread.streaming.testing import open_session, run
from tests.integration.test_snippets import FILE
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "jobs.md").read_text()
FILES = {found["name"]: found["text"] for found in FILE.finditer(PAGE)}
Rows = Sequence[Mapping[str, Any]]
SECOND_US = 1_000_000


def drawn(count: int, seed: int, **fields: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of drawn fields, with times that go on, four a second, and are up to two seconds out of order."""
    dice = random.Random(seed)
    return [
        {"at_us": (n * 250 + dice.randrange(2000)) * 1000, **{name: dice.choice(of) for name, of in fields.items()}}
        for n in range(count)
    ]


def numbered(name: str, rows: Rows) -> list[dict[str, Any]]:
    return [{**row, name: number} for number, row in enumerate(rows)]


SYMBOLS, LATER = ("ABC", "DEF", "GHI"), [{"at_us": 10_000 * SECOND_US}]
TRADES = drawn(2_000, 1, symbol=SYMBOLS, cents=range(900, 1100), shares=range(1, 500))
VIEWS = [{**row, "at_us": row["at_us"] * 200} for row in drawn(1_000, 2, visitor=range(40))]
QUOTES = numbered("number", drawn(1_000, 3, symbol=SYMBOLS, offer=range(900, 1100)))
PLACED, PAID = drawn(400, 4, order_id=range(300)), drawn(600, 5, order_id=range(300), cents=range(1, 9))
# What ends the last windows, and of joins nothing.
END = {"symbol": "END", "visitor": "END", "cents": 1, "shares": 1, "at_us": 10**12}
# By the job: its sources in the order of its parameters, the messages of each batch.
JOBS: dict[str, list[dict[str, Rows]]] = {
    "vwap": [{"trades": TRADES[:1000]}, {"trades": TRADES[1000:]}, {"trades": [END]}],
    "exposure": [
        {"orders": numbered("order_id", drawn(3_000, 6, account=("a", "b"), cents=range(-90_000, 100_000)))[begin::2]}
        for begin in (0, 1)
    ],
    "slippage": [
        {"quotes": QUOTES[:600], "trades": numbered("trade_id", TRADES[:600])},
        {"quotes": QUOTES[500:], "trades": numbered("trade_id", TRADES[600:900])},
    ],
    "visits": [{"views": VIEWS[:500]}, {"views": VIEWS[500:]}, {"views": [END]}],
    "payments": [{"orders": PLACED[:200], "payments": PAID[:300]}, {"orders": PLACED[200:], "payments": PAID[300:]}],
}  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page's files, to be imported."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))  # type: ignore[no-untyped-call]
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def streamed(spark: SparkSession, folder: Path, source: str, batches: Sequence[dict[str, Rows]]) -> DataFrame:
    """The messages of a source as Spark's own stream of files, a batch each, with the columns of Kafka's."""
    (folder / source).mkdir()
    for number, batch in enumerate(batches):
        lines = [f"{number}{offset:05} {json.dumps(row)}" for offset, row in enumerate(batch[source])]
        (folder / source / f"{number}.txt").write_text("\n".join(lines))
    files = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(folder / source))
    offset, value = (F.regexp_extract("value", r"^(\d+) (.*)$", group) for group in (1, 2))
    columns = {"offset": offset.cast("bigint"), "partition": F.lit(0), "value": value.cast("binary")}
    return files.select(*(column.alias(name) for name, column in columns.items()))


def of_spark(name: str, folder: Path, batches: Sequence[dict[str, Rows]]) -> list[dict[str, Any]]:
    with open_session("micro-batch") as spark:
        sources = [streamed(spark, folder, source, batches) for source in batches[0]]
        module = importlib.import_module(f"{name}_of_spark")
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        values = getattr(module, name)(*sources)
        query = values.writeStream.format("memory").queryName("found").outputMode("append").trigger(availableNow=True)
        query.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination(120)
        return [json.loads(row.value) for row in spark.table("found").collect()]


def in_order(rows: Rows, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in rows)


@pytest.mark.parametrize("name", JOBS)
def test_pipeline_gives_what_spark_gives(name: str, written: Path) -> None:
    batches = JOBS[name]
    expected = of_spark(name, written, batches)
    pipeline = getattr(importlib.import_module(name), name)()

    given = [{source: [json.dumps(row) for row in rows] for source, rows in batch.items()} for batch in batches]
    found = run(pipeline, *given)

    rows = [json.loads(value) for value in found[pipeline.sinks[0].name]]
    assert len(rows) > 50
    assert found["invalid"] == []
    assert in_order(rows, list(expected[0])) == in_order(expected, list(expected[0]))


def lines_of(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def test_page_counts_the_lines() -> None:
    said = re.findall(r"^\| \[[\w ]+\]\(#[\w-]+\) \| (\d+) lines \| (\d+) lines \|", PAGE, re.MULTILINE)

    counted = [(lines_of(FILES[f"{name}.py"]), lines_of(FILES[f"{name}_of_spark.py"])) for name in JOBS]
    assert [(int(ours), int(spark)) for ours, spark in said] == counted
