"""Pipelines without a broker: input and output in memory, for black-box tests of an application.

Plan, mode and Spark are the same as in a job; only Kafka is replaced, by Spark's own sources and sinks for tests.
"""

import atexit
import json
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.clock import SystemClock, polls
from market_spread.common.config import java_home
from market_spread.common.errors import DeadlineError, RunFailedError, UsageError
from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME, duration
from market_spread.common.jvm.archives import named_jvms
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.streaming.modes import registry
from market_spread.streaming.modes.registry import BY_NAME
from market_spread.streaming.modes.rows import late_in
from market_spread.streaming.modes.support import check, sentence_of
from market_spread.streaming.pipeline import INVALID, Pipeline

_BATCH_S, _POLL_S = {REAL_TIME: 0.4, MICRO_BATCH: 0.05}, 0.02
# Before each value in memory, the length of the rest of its record, and that as JSON: Spark's memory sources have
# values alone, and do not show their offsets to a query.
_LENGTH_BYTES = 4
_REST = "offset bigint, key binary, at_us bigint, headers array<struct<key: string, value: binary>>"
# The open session by its mode: a process has one Spark.
_sessions: dict[str, ExitStack] = {}


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record of an input, if its value is not all. at_us: its time, Unix microseconds, which Kafka cuts to ms."""

    value: bytes | str
    key: bytes | str | None = None
    at_us: int = 0
    headers: Mapping[str, bytes | str] = field(default_factory=dict)


Input = InputRecord | bytes | str


class Outputs(dict[str, list[bytes]]):
    """The values of the records by sink; late: how many rows came too late for a step that goes by time."""

    late = 0


def run(pipeline: Pipeline, *inputs: Mapping[str, Iterable[Input]], mode: str = MICRO_BATCH) -> Outputs:
    """The values of the records that each sink, and `invalid`, gets, in their order; and how many rows were late.

    inputs: messages by source, each a record's value or an `InputRecord`; those of one mapping are processed before the
    next is sent, in micro-batch mode as one batch. Time is what the messages say. A window of time is output when a
    message's time is past its end. PipelineError if the mode cannot run it, RunFailedError if the query fails. The
    first call in a process takes seconds, and so does one in another mode than the call before.
    """
    try:
        with MemoryRun(_session(mode), pipeline, mode) as running:
            for given in inputs:
                with running.at_once():
                    for source, values in given.items():
                        running.send(source, values)
                running.process()
            found = Outputs({sink: running.received(sink) for sink in (*pipeline.outputs, INVALID)})
            found.late = running.late()
            return found
    except (AnalysisException, StreamingQueryException) as error:
        raise RunFailedError(sentence_of(error)) from None


def _session(mode: str) -> SparkSession:
    if mode not in _sessions or SparkSession.getActiveSession() is None:  # someone else may have stopped it
        while _sessions:
            _sessions.popitem()[1].close()
        stack = ExitStack()
        atexit.register(stack.close)
        stack.enter_context(open_session(mode))
        _sessions[mode] = stack
    return SparkSession.active()


@contextmanager
def open_session(mode: str, *, cores: int = 8, state_partitions: int = 1) -> Iterator[SparkSession]:
    """A Spark session for pipelines in this mode; the first one starts the JVM of this process, which takes seconds."""
    folder, master = str(_temporary_folder()), f"local[{cores}]"
    with registry.open_session(
        BY_NAME[mode], master=master, state_partitions=state_partitions, memory="1g", folder=folder, more=_fast_start()
    ) as session:
        yield session


@cache
def _fast_start() -> dict[str, str]:
    """For a JVM that lives for seconds: the quick compiler alone, and the archive of classes of a run's job, if any."""
    paths, options = "", "-XX:TieredStopAtLevel=1"
    with suppress(UsageError):  # Spark says itself what it lacks
        jvms = named_jvms(find_java(java_home()), JarCache())
        paths = jvms.class_path
        options = jvms.job_options(options) if jvms.job_archive.exists() else options
    return {"spark.driver.extraClassPath": paths, "spark.driver.extraJavaOptions": options}


@cache
def _temporary_folder() -> Path:
    """Where Spark and its JVM write: the JVM lives as long as this process, and so does the folder."""
    folder = tempfile.TemporaryDirectory(prefix="market-spread-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


class MemoryRun:
    """A running pipeline, in a session of `open_session` for the same mode; it ends with the `with` block."""

    _level: ClassVar[Any] = None  # of the JVM's log before a run fell silent

    def __init__(self, spark: SparkSession, pipeline: Pipeline, mode: str) -> None:
        """PipelineError if the mode cannot run the pipeline."""
        check(pipeline, mode)
        self._spark = spark
        self._jvm = cast(Any, spark._jvm)
        self._mode = BY_NAME[mode]
        self._pipeline = pipeline
        sql = self._jvm.org.apache.spark.sql
        memory, session = sql.execution.streaming.sources.LowLatencyMemoryStream, spark._jsparkSession
        self._streams: dict[str, Any] = {
            source.name: memory.apply(session, 1, sql.Encoders.BINARY()) for source in pipeline.sources
        }
        self._offsets = dict.fromkeys(self._streams, 0)

    def __enter__(self) -> Self:
        if MemoryRun._level is not None:
            self._log_level()[0].setRootLevel(MemoryRun._level)
            MemoryRun._level = None
        topics = {name: name for name in (*self._pipeline.ends, INVALID)}
        records = {name: self._records(name, stream) for name, stream in self._streams.items()}
        output = self._mode.compile(self._pipeline, records, topics)
        with ExitStack() as ending:
            # In the folder that goes last: RocksDB may upload a snapshot after the query has stopped.
            folder = ending.enter_context(
                tempfile.TemporaryDirectory(prefix="checkpoint-", dir=_temporary_folder(), ignore_cleanup_errors=True)
            )
            self._query = self._start(output, folder)
            ending.callback(self._stop)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def send(self, source: str, inputs: Iterable[Input]) -> None:
        """Add these records, or records with these values, to a source, all in its partition 0."""
        java_list = self._jvm.java.util.ArrayList()
        for given in inputs:
            record = given if isinstance(given, InputRecord) else InputRecord(given)
            headers = [{"key": name, "value": _base64(value)} for name, value in record.headers.items()]
            rest = {
                "offset": self._offsets[source], "key": _base64(record.key), "at_us": record.at_us, "headers": headers,
            }  # fmt: skip
            encoded = json.dumps(rest).encode()
            java_list.add(len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded + _bytes(record.value))
            self._offsets[source] += 1
        self._streams[source].addData(0, self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(java_list))

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is sent meanwhile comes in one batch, in a mode that has them."""
        with ExitStack() as locked:
            if self._mode.name != REAL_TIME:
                # The query plans no batch while this is held, as Spark's own tests do.
                lock = cast(Any, self._query)._jsq.streamingQuery().awaitProgressLock()
                lock.lock()
                locked.callback(lock.unlock)
            yield

    def process(self, *, within_s: float = 60.0) -> None:
        """Wait until everything sent is processed and committed. DeadlineError if that takes longer."""
        if self._mode.name != REAL_TIME:
            self._query.processAllAvailable()
            return
        for _ in polls(SystemClock(), within_s, every_s=_POLL_S):
            ends = (json.loads(source.endOffset) for source in getattr(self._query.lastProgress, "sources", ()))
            if sum(end["0"] for end in ends) == sum(self._offsets.values()):  # by partition; there is one
                return
            if (error := self._query.exception()) is not None:
                raise error
        raise DeadlineError(f"the input was not processed within {within_s:.0f} s")

    def received(self, sink: str) -> list[bytes]:
        """The values of the records that a sink, or `invalid`, has received so far, in their order."""
        rows = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(self._sink.allData())
        frame = DataFrame(self._spark._jsparkSession.createDataFrame(rows, self._columns), self._spark)
        return [bytes(row.value) for row in frame.collect() if row.topic == sink]  # at once: a call a row takes 0.2 ms

    def late(self) -> int:
        """How many rows came too late so far; those of the last 100 batches, which Spark keeps."""
        return sum(late_in(json.loads(progress.json)) for progress in self._query.recentProgress)

    def _start(self, output: DataFrame, folder: str) -> StreamingQuery:
        """Start the query as a writer does, except for the sink: a writer has no memory sink for Real-Time Mode."""
        spark, jvm = self._jvm.org.apache.spark, self._jvm
        sources = spark.sql.execution.streaming.sources
        self._columns = output._jdf.schema()
        self._sink = sources.ContinuousMemorySink() if self._mode.name == REAL_TIME else sources.MemorySink()
        streaming, trigger = spark.sql.streaming, self._mode.trigger
        manager = self._spark._jsparkSession.streams()
        none = jvm.scala.Option.empty()
        query = manager.startQuery(
            none, none, jvm.scala.Option.apply(folder), output._jdf,
            spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap()), self._sink,
            getattr(streaming.OutputMode, self._mode.output_mode.capitalize())(), False, True,
            getattr(streaming.Trigger, trigger[0].upper() + trigger[1:])(duration(_BATCH_S[self._mode.name])),
            getattr(manager, "startQuery$default$11")(), none, none,
        )  # fmt: skip
        return StreamingQuery(query)

    def _stop(self) -> None:
        """Stop the query. Real-Time Mode is always within a batch, whose end its tasks log as dozens of errors.

        They may do so until the session has ended, so the JVM is silent until the next run begins.
        """
        configurator, level = self._log_level()
        configurator.setRootLevel(self._jvm.org.apache.logging.log4j.Level.OFF)
        MemoryRun._level = MemoryRun._level or level
        self._query.stop()

    def _log_level(self) -> tuple[Any, Any]:
        """What sets the JVM's level, and the level."""
        log4j = self._jvm.org.apache.logging.log4j
        return log4j.core.config.Configurator, log4j.LogManager.getRootLogger().getLevel()

    def _records(self, name: str, stream: Any) -> DataFrame:
        """Records as Kafka's source has them."""
        length = F.conv(F.hex(F.substring("value", 1, _LENGTH_BYTES)), 16, 10).cast("int")
        rest = F.expr(f"cast(substring(value, {_LENGTH_BYTES + 1}, length) as string)")
        records = DataFrame(stream.toDF(), self._spark).withColumn("length", length)
        return records.withColumn("rest", F.from_json(rest, _REST)).select(
            F.expr(f"substring(value, {_LENGTH_BYTES + 1} + length)").alias("value"), F.lit(name).alias("topic"),
            F.lit(0).alias("partition"), "rest.*", F.timestamp_micros("rest.at_us").alias("timestamp"),
        )  # fmt: skip


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _base64(value: bytes | str | None) -> str | None:
    """What Spark reads as bytes in JSON."""
    return None if value is None else b64encode(_bytes(value)).decode()
