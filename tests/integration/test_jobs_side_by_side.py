"""docs/jobs.md: each pipeline gives what the other jobs on the page give, and all are as long as the page says."""

import importlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from market_spread.common.jvm.jars import JarCache, find_java, read_lock
from market_spread.streaming.testing import open_session, run
from tests.benchmarks.peers.java import compiled, jars
from tests.benchmarks.peers.venvs import python_of
from tests.integration.test_snippets import FILE
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "jobs.md").read_text()
TOPOLOGIES = Path(__file__).parent / "topologies"
FILES = {found["name"]: found["text"] for found in FILE.finditer(PAGE)}
Rows = Sequence[Any]


def drawn(count: int, seed: int, *, step_ms: int = 250, **fields: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of drawn fields, with times that go on by a step, and are up to 1.5 seconds out of order.

    They begin late enough after 1970 for all windows: Kafka Streams has none before it.
    """
    dice = random.Random(seed)
    return [
        {
            "at_us": (10_000_000 + n * step_ms + dice.randrange(1500)) * 1000,
            **{name: dice.choice(of) for name, of in fields.items()},
        }
        for n in range(count)
    ]


def numbered(name: str, rows: Rows) -> list[dict[str, Any]]:
    return [{**row, name: number} for number, row in enumerate(rows)]


SYMBOLS = ("ABC", "DEF", "GHI")
TRADES = drawn(2_000, 1, symbol=SYMBOLS, cents=range(900, 1100), shares=range(1, 500))
SLOW = drawn(2_000, 7, step_ms=1_000, symbol=SYMBOLS, cents=range(900, 1100), shares=range(1, 500))
VIEWS = drawn(1_000, 2, step_ms=50_000, visitor=range(40))
QUOTES = numbered("number", drawn(1_000, 3, symbol=SYMBOLS, offer=range(900, 1100)))
CARDS = [f"card {number}" for number in range(15)]
USED = drawn(3_000, 8, step_ms=2_000, card=CARDS, cents=(50, 2_000, 60_000))
# A record of an account is later than those before it; the accounts of some orders have none, or get one later.
ACCOUNTS = drawn(
    300, 9, step_ms=2_000, account=[f"a{number}" for number in range(40)], tier=range(4), discount_bp=range(0, 300, 50)
)
ORDERED = numbered("order_id", drawn(2_400, 10, account=[f"a{number}" for number in range(50)], cents=range(1, 90_000)))
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
    # No trade is so near where the batches meet that a quote of the other one could come before it.
    "slippage": [
        {"quotes": QUOTES[:600], "trades": numbered("trade_id", TRADES[:590])},
        {"quotes": QUOTES[500:], "trades": numbered("trade_id", TRADES[610:900])},
    ],
    "visits": [{"views": VIEWS[:500]}, {"views": VIEWS[500:]}, {"views": [END]}],
    "payments": [{"orders": PLACED[:200], "payments": PAID[:300]}, {"orders": PLACED[200:], "payments": PAID[300:]}],
    "largest": [{"trades": SLOW[:1000]}, {"trades": SLOW[1000:]}, {"trades": [END]}],
    "fraud": [{"payments": USED[:1500]}, {"payments": USED[1500:]}],
    # First accounts alone. Where the others meet, no order is so near that an account of the other one comes before it.
    "discounts": [
        {"accounts": ACCOUNTS[:60], "orders": []},
        {"accounts": ACCOUNTS[60:150], "orders": ORDERED[500:1190]},
        {"accounts": ACCOUNTS[150:], "orders": ORDERED[1210:]},
    ],
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
        file = folder / source / f"{number}.txt"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # Spark reads files in the order of their times, to the millisecond
    files = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(folder / source))
    offset, value = (F.regexp_extract("value", r"^(\d+) (.*)$", group) for group in (1, 2))
    columns = {"offset": offset.cast("bigint"), "partition": F.lit(0), "value": value.cast("binary")}
    return files.select(*(column.alias(name) for name, column in columns.items()))


def imported(name: str) -> ModuleType:
    """A module of the page, whose functions go to Spark's workers as they are: these cannot import it."""
    module = importlib.import_module(name)
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module


def of_spark(name: str, folder: Path, batches: Sequence[dict[str, Rows]]) -> list[dict[str, Any]]:
    with open_session("micro-batch") as spark:
        sources = [streamed(spark, folder, source, batches) for source in batches[0]]
        values = getattr(imported(f"{name}_of_spark"), name)(*sources)
        sink = values.writeStream.format("memory").queryName("found").outputMode("append").trigger(availableNow=True)
        query = sink.option("checkpointLocation", str(folder / "checkpoint")).start()
        # What has state by processing time would go on for ever with batches without data.
        while not query.awaitTermination(1):
            if query.lastProgress and not query.lastProgress.numInputRows:
                query.stop()
        return [json.loads(row.value) for row in spark.table("found").collect()]


FLOW = """
import importlib, sys
from datetime import timedelta
import bytewax.operators as op
from bytewax.connectors.files import FileSink, FileSource
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

def values_of(topic, records):
    values = op.filter("of " + topic, records, lambda record: record[0] == topic)
    return op.map("value of " + topic, values, lambda record: record[1])

name, given, found, *topics = sys.argv[1:]
flow = Dataflow(name)
# Of several topics, an epoch a line: operators with state go by epochs, so they get the lines in their order.
lines, epoch = (1, timedelta(0)) if len(topics) > 1 else (1000, None)
records = op.map("cut", op.input("in", flow, FileSource(given, lines)), lambda line: line.split("\\t", 1))
values = getattr(importlib.import_module(name + "_of_bytewax"), name)(*(values_of(topic, records) for topic in topics))
op.output("out", values, FileSink(found))
run_main(flow, epoch_interval=epoch)
"""


def by_time(batches: Sequence[dict[str, Rows]]) -> list[tuple[str, Any]]:
    """The messages with their topics; those of several by time, which Streams' driver for tests does not see to."""
    records = [(topic, row) for batch in batches for topic, rows in batch.items() for row in rows]
    if len(batches[0]) > 1:
        records.sort(key=lambda record: (record[1]["at_us"], record[0], json.dumps(record[1])))
    return records


def of_bytewax(name: str, folder: Path, batches: Sequence[dict[str, Rows]]) -> list[dict[str, Any]]:
    given, found = folder / "given.txt", folder / "found.txt"
    given.write_text("\n".join(f"{topic}\t{json.dumps(row)}" for topic, row in by_time(batches)))
    command = [python_of("bytewax"), "-c", FLOW, name, given, found, *batches[0]]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    # In the end of its input it puts out all windows, also the one that ends the others.
    return [row for row in map(json.loads, found.read_text().splitlines()) if "END" not in row.values()]


STATEMENTS = """
import sys
from pyflink.table import EnvironmentSettings, TableEnvironment

view, found, *statements = sys.argv[1:]
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
told = {"parallelism.default": "1", "table.local-time-zone": "UTC", "execution.checkpointing.interval": "1 s",
        "restart-strategy.type": "none"}
for name, value in told.items():
    tables.get_config().set(name, value)
for statement in statements:
    tables.execute_sql(statement)
files = f"'connector' = 'filesystem', 'path' = 'file://{found}', 'format' = 'json'"
tables.execute_sql(f"CREATE TABLE found WITH ({files}) AS SELECT * FROM {view}").wait()
"""


def of_flink(name: str, folder: Path, batches: Sequence[dict[str, Rows]]) -> list[dict[str, Any]]:
    text = FILES[f"{name}_of_flink.sql"]
    for source in batches[0]:
        given = folder / f"{source}.json"
        given.write_text("\n".join(json.dumps(row) for batch in batches for row in batch[source]))
        options = f"'connector' = 'filesystem', 'path' = 'file://{given}', 'format' = 'json'"
        text = text.replace(f"{{{source}}}", options)
    view = re.findall(r"^CREATE TEMPORARY VIEW (\w+)", text, re.MULTILINE)[-1]
    statements = [each for each in text.split(";\n") if each.strip()]
    java_home = str(find_java().executable.resolve().parent.parent)
    command = [python_of("flink"), "-c", STATEMENTS, view, folder / "found", *statements]
    subprocess.run(command, cwd=folder, check=True, timeout=180, env={**os.environ, "JAVA_HOME": java_home})
    lines = [line for part in (folder / "found").glob("part-*") for line in part.read_text().splitlines()]
    return [row for row in map(json.loads, lines) if "END" not in row.values()]


# By the job: the topic of its outputs.
OUTPUTS = {"vwap": "vwaps", "exposure": "beyond", "visits": "visits", "payments": "paid", "largest": "largest",
           "fraud": "suspects", "discounts": "discounted"}  # fmt: skip
# By the topic: the field of a message that is the key of its record.
KEYS = {"accounts": "account"}


def of_kafka_streams(name: str, folder: Path, batches: Sequence[dict[str, Rows]]) -> list[dict[str, Any]]:
    lines = [f"{topic}\t{row.get(KEYS.get(topic), '')}\t{json.dumps(row)}" for topic, row in by_time(batches)]
    return of_topology(name, folder, lines)


def of_topology(name: str, folder: Path, lines: Sequence[str]) -> list[dict[str, Any]]:
    """What the topology makes of these records; see RunTopology."""
    java, source = find_java(), folder / f"{name.capitalize()}.java"
    tools = JarCache(jars=read_lock((TOPOLOGIES / "jars.lock").read_text()))
    tools.fetch(java)
    class_path = [*jars("streams", java), *JarCache().paths("broker"), *tools.paths("test")]
    runnable = compiled([source, TOPOLOGIES / "RunTopology.java"], class_path, java)
    (folder / "given.tsv").write_text("\n".join(lines))
    words = ["-cp", os.pathsep.join(map(str, [runnable, *class_path])), "RunTopology", name.capitalize(), OUTPUTS[name]]
    command = [java.executable, *words, folder / "given.tsv", folder / "streams"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return [row for row in map(json.loads, ended.stdout.splitlines()) if "END" not in row.values()]


def in_order(rows: Rows, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in rows)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("vwap", "visits", "fraud") else pytest.mark.full) for name in JOBS]
)
def test_pipeline_gives_what_the_others_give(name: str, written: Path) -> None:
    batches = JOBS[name]
    expected = of_spark(name, written, batches)
    pipeline = getattr(imported(name), name)()

    given = [{source: [json.dumps(row) for row in rows] for source, rows in batch.items()} for batch in batches]
    found = run(pipeline, *given)

    rows, names = [json.loads(value) for value in found[pipeline.sinks[0].name]], list(expected[0])
    assert len(rows) > 50
    assert found["invalid"] == []
    assert in_order(rows, names) == in_order(expected, names)
    if f"{name}_of_bytewax.py" in FILES:
        assert in_order(of_bytewax(name, written, batches), names) == in_order(expected, names)
    if f"{name.capitalize()}.java" in FILES:
        assert in_order(of_kafka_streams(name, written, batches), names) == in_order(expected, names)


@pytest.mark.full
@pytest.mark.timeout(600)  # It fetches Flink, where nobody has.
@pytest.mark.parametrize("name", JOBS)
def test_pipeline_gives_what_flinks_sql_gives(name: str, written: Path) -> None:
    batches = JOBS[name]
    pipeline = getattr(imported(name), name)()
    given = [{source: [json.dumps(row) for row in rows] for source, rows in batch.items()} for batch in batches]

    expected = [json.loads(value) for value in run(pipeline, *given)[pipeline.sinks[0].name]]
    found = of_flink(name, written, batches)

    assert len(expected) > 50
    assert in_order(found, list(found[0])) == in_order(expected, list(found[0]))


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_message_that_cannot_be_read_ends_flinks_job(written: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        of_flink("visits", written, [{"views": [*VIEWS[:50], "no object"]}])


@pytest.mark.parametrize(
    ("name", "source", "ends"),
    [
        ("visits", "views", False),
        ("exposure", "orders", True),
        pytest.param("discounts", "accounts", False, marks=pytest.mark.full),
        pytest.param("discounts", "orders", True, marks=pytest.mark.full),
    ],
)
def test_a_message_that_cannot_be_read_is_lost_or_ends_the_query_of_spark(
    name: str, source: str, ends: bool, written: Path
) -> None:
    batches = [{**JOBS[name][0], source: ["no object", *JOBS[name][0][source][:50]]}]
    pipeline = getattr(importlib.import_module(name), name)()

    if ends:
        with pytest.raises(StreamingQueryException):
            of_spark(name, written, batches)
    else:
        of_spark(name, written, batches)
    found = run(pipeline, {source: [json.dumps(row) for row in batches[0][source]]})

    assert [json.loads(report)["offset"] for report in found["invalid"]] == [0]


def discounted(*batches: dict[str, Rows]) -> list[dict[str, Any]]:
    given = [{source: [json.dumps(row) for row in rows] for source, rows in batch.items()} for batch in batches]
    return [json.loads(value) for value in run(imported("discounts").discounts(), *given)["discounted"]]


def test_what_compaction_removes_before_the_orders_come_changes_nothing(written: Path) -> None:
    first, second, _ = JOBS["discounts"]
    compacted = {row["account"]: row for row in first["accounts"]}

    assert len(compacted) < len(first["accounts"]) - 20
    assert discounted({"accounts": [*compacted.values()]}, second) == discounted(first, second)


def test_an_order_of_before_what_compaction_has_left_gets_zeros_in_the_same_batch(written: Path) -> None:
    account = {"account": "a1", "at_us": 2_000, "tier": 3, "discount_bp": 50}
    orders = [{"order_id": at_us, "account": "a1", "at_us": at_us, "cents": 1} for at_us in (1_000, 2_000, 3_000)]
    zeros = {**account, "at_us": 4_000, "tier": 0, "discount_bp": 0}

    found = discounted({"accounts": [account], "orders": orders}, {"accounts": [zeros]}, {"orders": orders[:1]})

    assert [(row["order_id"], row["tier"], row["discount_bp"]) for row in found] == [
        (1_000, 0, 0),
        (2_000, 3, 50),
        (3_000, 3, 50),
        (1_000, 0, 0),
    ]


def test_a_record_without_a_value_takes_the_account_out_of_the_table_of_kafka_streams(written: Path) -> None:
    account = json.dumps({"account": "a1", "at_us": 1, "tier": 3, "discount_bp": 50})
    order = json.dumps({"order_id": 1, "account": "a1", "at_us": 2, "cents": 1})

    found = of_topology(
        "discounts", written, [f"accounts\ta1\t{account}", f"orders\t\t{order}", "accounts\ta1\t", f"orders\t\t{order}"]
    )

    assert [(row["tier"], row["discount_bp"]) for row in found] == [(3, 50), (0, 0)]


def lines_of(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def test_page_counts_the_lines() -> None:
    rows = re.findall(r"^\| \[[\w ]+\]\(#[\w-]+\) \|(.*)\|$", PAGE, re.MULTILINE)
    files = [
        [f"{name}.py", *(f"{name}_of_{other}" for other in ("spark.py", "flink.sql")), f"{name.capitalize()}.java",
         f"{name}_of_bytewax.py"]
        for name in JOBS
    ]  # fmt: skip

    said = [[int(lines) for lines in re.findall(r"(\d+) lines", row)] for row in rows]
    assert said == [[lines_of(FILES[file]) for file in of if file in FILES] for of in files]
