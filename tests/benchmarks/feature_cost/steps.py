"""The steps of the feature cost: what a message costs with one feature more each time, as queries.

Each step but the last ends in the same filter and the same sink: what is malformed leaves for `invalid`, and of the
rest next to nothing. So the last record of a backlog, which is malformed, shows when the backlog is worked off.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.wire.layout import ALERT, NBBO, ORDER, Layout
from market_spread.streaming import AsOfJoin, Pipeline, Row, Sink, Source
from market_spread.streaming.applications.market_spread import is_rejected
from market_spread.streaming.modes.micro_batch import compile as micro_batch
from market_spread.streaming.modes.micro_batch.as_of_join import frames_of, messages_of
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.real_time.compile import PackedRows
from market_spread.streaming.modes.registry import BY_NAME
from market_spread.streaming.modes.rows import invalid_value, is_good, source_rows, union_all
from market_spread.streaming.operators.stateless import STAMPS
from market_spread.streaming.pipeline import INVALID

MARKER = b"end"
SOURCES: Mapping[str, Layout] = {"nbbo": NBBO, "orders": ORDER}

Records = Mapping[str, DataFrame]
Compile = Callable[[Records, Mapping[str, str]], DataFrame]

_BARE_ALERT = Layout("alert", tuple(field for field in ALERT.fields if field.name not in STAMPS))
_COMMITS_S = 10.0
_NO_COMMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a feature more than the one before.

    compile: the output records; None where no query runs. application: the pipeline that the job itself runs, in
    place of a bare query. batch_s: how far apart commits are. frames_max: how many frames of a topic a micro-batch
    takes, None for all there are.
    """

    name: str
    adds: str
    compile: Compile | None = None
    application: str = ""
    batch_s: float = _NO_COMMIT_S
    frames_max: int | None = None


def market_spread_without_stamps() -> Pipeline:
    """Market Spread whose alerts do not say when their order was sent, read and emitted."""
    return _pipeline(is_rejected, _BARE_ALERT)


def steps(mode: str) -> tuple[Step, ...]:
    """The steps of a mode, each with one feature more than the one before."""
    consumer = Step("Kafka consumer", "polls the records in the JVM, and forgets them")
    checked = market_spread_without_stamps()
    with_metrics = f"{__file__}:{market_spread_without_stamps.__name__}"
    if mode == REAL_TIME:
        output = partial(real_time.compile_pipeline, checked)
        return (
            consumer,
            Step("pass_through", "Spark's source and sink", _pass_through),
            Step("decode", "a row a message: fields cut out, numbers read, the malformed found", _decode),
            Step("shuffle by key", "rows packed into words, to the partition of their symbol", _shuffle),
            Step("state, not read", "the newest quote of each symbol", _unread_state),
            Step("state, checked", "the rule, and alerts without stamps", output),
            Step("commits", f"a checkpoint every {_COMMITS_S:.0f} s", output, batch_s=_COMMITS_S),
            Step("metrics", "the job's service, counts and pushes", application=with_metrics, batch_s=_COMMITS_S),
            Step("stage times", "as shipped", application="market_spread", batch_s=_COMMITS_S),
            Step("decisions", "all decisions", application="market_spread_all_decisions", batch_s=_COMMITS_S),
        )
    shipped = int(BY_NAME[MICRO_BATCH].source_options["maxOffsetsPerTrigger"])
    output = partial(micro_batch.compile_pipeline, checked)
    return (
        consumer,
        Step("pass_through", "Spark's source and sink", _pass_through),
        Step("decode", "frames to Python; fields as arrays, numbers read, the malformed found", _decode_in_python),
        Step("shuffle by key", "frames to the partition of their symbols", _shuffle_frames),
        Step(
            "state, not read",
            "the newest quote of each symbol",
            partial(micro_batch.compile_pipeline, _unread_pipeline()),
        ),
        Step("state, checked", "the rule, and alerts without stamps", output),
        Step("commits", f"a batch, and a checkpoint, every {shipped:,} frames", output, frames_max=shipped),
        Step("metrics", "the job's service, counts and pushes", application=with_metrics),
        Step("stage times", "as shipped", application="market_spread"),
        Step("decisions", "all decisions", application="market_spread_all_decisions"),
    )


def shipped(mode: str) -> Step:
    """The step that is the job as shipped; those above it are what a workload may ask for besides."""
    return next(step for step in steps(mode) if step.application == "market_spread")


def slots(mode: str, *, partitions: int, state_partitions: int) -> int:
    """Cores that a session of the mode is given."""
    return 2 * partitions + state_partitions if mode == REAL_TIME else 2


def _pipeline(emit: Callable[[Row], Any], alert: Layout) -> Pipeline:
    quotes = Source("nbbo", NBBO, time="intended_us", sequence="sequence").key_by("symbol")
    orders = Source("orders", ORDER, time="intended_us").key_by("symbol")
    added = {"bid": "bid", "offer": "offer", "quote_sequence": "sequence"}
    newest = AsOfJoin("newest quote", of="nbbo", added=added, emit=emit)
    return quotes.merge(orders).to(newest).to_sink(Sink("alerts", alert, key="order_id"), name="feature_cost")


def _unread_pipeline() -> Pipeline:
    return _pipeline(lambda order: order.order_id < 0, _BARE_ALERT)


def _pass_through(records: Records, topics: Mapping[str, str]) -> DataFrame:
    short = union_all([records[name].select("value") for name in SOURCES]).where(F.length("value") <= len(MARKER))
    return short.select(F.lit(topics[INVALID]).alias("topic"), F.lit(None).cast("binary").alias("key"), "value")


# Real-Time Mode


def _decode(records: Records, topics: Mapping[str, str]) -> DataFrame:
    origins = ("topic", "partition", "offset", "position", "reason")
    rows = [source_rows(_source(name), records[name]).select(*origins) for name in SOURCES]
    return _malformed(union_all(rows), ~is_good(), topics)


def _shuffle(records: Records, topics: Mapping[str, str]) -> DataFrame:
    packed = _packed()
    rows = packed.rows(records)
    partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return _after_words(rows.repartition(partitions, packed.key), packed, topics)


def _unread_state(records: Records, topics: Mapping[str, str]) -> DataFrame:
    packed = _packed()
    newest = (F.max(name).alias(name) for name in packed.state_words)
    own = (F.last(name).alias(name) for name in packed.row_words)
    return _after_words(packed.rows(records).groupBy(packed.key).agg(*newest, *own), packed, topics)


def _after_words(rows: DataFrame, packed: PackedRows, topics: Mapping[str, str]) -> DataFrame:
    """The malformed. The filter names every word, lest Spark leave some out, and cannot be moved before the shuffle."""
    not_before = F.spark_partition_id() >= 0
    every_word = (
        F.greatest(*(F.coalesce(F.col(name), F.lit(0)) for name in (*packed.state_words, *packed.row_words))) < 0
    )
    kept = rows.where(not_before & (packed.is_output(F.lit(False)) | every_word))
    return _malformed(kept.select(*(column.alias(name) for name, column in packed.origin().items())), None, topics)


def _malformed(rows: DataFrame, chosen: Column | None, topics: Mapping[str, str]) -> DataFrame:
    kept = rows if chosen is None else rows.where(chosen)
    return kept.select(
        F.lit(topics[INVALID]).alias("topic"),
        F.lit(None).cast("binary").alias("key"),
        invalid_value().alias("value"),
    )


def _packed() -> PackedRows:
    pipeline = _unread_pipeline()
    state = pipeline.stream.state
    if not isinstance(state, AsOfJoin):
        raise TypeError("the pipeline of the steps joins with the newest quote")
    return PackedRows(pipeline, state)


def _source(name: str) -> Source:
    return Source(name, SOURCES[name])


# Micro-batch mode

_ORIGIN = ("topic", "partition", "offset")
_MALFORMED = "topic string, partition bigint, offset bigint, position bigint, reason bigint"
_NUMBERS = {"nbbo": ("bid", "offer", "sequence", "intended_us"), "orders": ("intended_us",)}


def _decode_in_python(records: Records, topics: Mapping[str, str]) -> DataFrame:
    return _malformed(_frames(records).mapInPandas(_read_fields, _MALFORMED), None, topics)


def _shuffle_frames(records: Records, topics: Mapping[str, str]) -> DataFrame:
    frames = _frames(records)
    partitions = int(frames.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return _malformed(frames.repartition(partitions, "bucket").mapInPandas(_read_fields, _MALFORMED), None, topics)


def _frames(records: Records) -> DataFrame:
    return frames_of([_source(name) for name in SOURCES], records)


def _read_fields(chunks: Iterable[Any]) -> Iterator[pd.DataFrame]:
    """Every field of every message is read, as Market Spread's kernel reads them; the malformed come out."""
    for chunk in chunks:
        for name, messages in zip(SOURCES, messages_of(tuple(SOURCES.values()), [chunk]), strict=True):
            messages.fields.word("symbol")
            for field in _NUMBERS[name]:
                messages.fields.number(field)
            if not (bad := list(messages.malformed())):
                continue
            origins, position, reasons = zip(*bad, strict=True)
            origin = {part: [getattr(one, part) for one in origins] for part in _ORIGIN}
            yield pd.DataFrame({**origin, "position": position, "reason": [reason.value for reason in reasons]})
