"""A workload for a system that is not ours: what is started, where its Kafka is, what it reads, what it is to write."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from market_spread.common.errors import UsageError
from market_spread.common.kafka.access import BY_NUMBER, BrokerKeys, Finds
from market_spread.common.schema import Schema, choice, exactly_one_of, number, text
from market_spread.common.wire.layout import OUTPUT_TOPICS_MAX
from market_spread.controller.plan.workload import FrameKeys, JobKeys, MarketKeys, Workload
from market_spread.loadgen.market.symbols import SYMBOLS_MIN
from market_spread.loadgen.message_files import InputKeys
from market_spread.loadgen.messages import MessageProfile
from market_spread.loadgen.recorded import OF_THE_FILES, Recorded

ONE, ANY = "one", "any"
KINDS = COMMAND, PIPELINE, SPARK, ATTACHED = "command", "pipeline", "spark", "attached"
# Records of so long leave at the same moment, and so in one request: what a request costs is most of what one costs.
LINGER_MS = 5
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# Keys of a workload that only our own application has; a pipeline has a job, too.
_OF_THE_MARKET, _JOB = ("market", "frames", "decisions"), "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedKeys:
    """A system that runs already."""

    group: Annotated[str, text("The consumer group by whose offsets its progress is seen.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkKeys:
    """A program of PySpark's."""

    script: Annotated[
        str,
        text(
            "Its file. It finds in its environment what a command finds; `spark-submit` gives it the Kafka connector, "
            "and Spark's own `spark.sql.streaming.checkpointLocation`, which it must not override."
        ),
    ]
    submit: Annotated[tuple[str, ...], Field(description="Options of `spark-submit`, as `[--conf, a=b]`.")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemKeys:
    """The system under test; exactly one of the four kinds."""

    command: Annotated[
        tuple[str, ...] | None,
        Field(
            description="The words of the command that starts it. Its environment has "
            "`MARKET_SPREAD_BOOTSTRAP_SERVERS`, `MARKET_SPREAD_GROUP`, and the topics as `MARKET_SPREAD_INPUT` and "
            "`MARKET_SPREAD_OUTPUT`. It commits its offsets to the group. `python` is the one that runs this.",
            min_length=1,
        ),
    ] = None
    pipeline: Annotated[
        str | None, text("`file.py:function`, which returns a pipeline of our API. `job` says how it is run.")
    ] = None
    spark: SparkKeys | None = None
    attached: AttachedKeys | None = None
    folder: Annotated[str, text("Where the command is started; by default in the workload's folder.")] = "."

    _is_one = exactly_one_of(*KINDS)

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaKeys(BrokerKeys):
    """The broker of the run."""

    prefix: Annotated[
        str,
        text(
            "Goes before each topic that does not begin with it, and before the group of what the run starts.",
            pattern="(?:[A-Za-z0-9._-]*[._-])?", remedy="use letters and digits, and one of . - _ at its end",
        ),
    ] = ""  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputKeys:
    """A topic that the system writes."""

    topic: Annotated[str, text("Name of the topic.")]
    partitions: Annotated[int, number(1, 1024, "Its partitions.")] = 1
    finds: Annotated[Finds, Field(description="How an output names the message that caused it.")] = BY_NUMBER
    reads: Annotated[str | None, text("`file.py:function` that turns a value into what the check yields.")] = None
    expects: Annotated[
        str, choice((ONE, ANY), f"`{ONE}`: each message causes one output; `{ANY}`: none, one or several.")
    ] = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemWorkload(Workload):
    """A workload that names its system. It is offered messages of the user's own."""

    load: MessageProfile  # type: ignore[assignment]  # that of the files, too
    market: MarketKeys = field(default_factory=lambda: MarketKeys(symbols=SYMBOLS_MIN, partitions=1))
    frames: FrameKeys = field(default_factory=lambda: FrameKeys(messages=1, linger_ms=LINGER_MS))
    job: JobKeys = field(default_factory=JobKeys)
    system: SystemKeys
    kafka: KafkaKeys = field(default_factory=KafkaKeys)
    input: Annotated[tuple[InputKeys, ...], Field(min_length=1)]
    output: Annotated[tuple[OutputKeys, ...], Field(min_length=1, max_length=OUTPUT_TOPICS_MAX)]
    check: Annotated[
        str | None,
        text("`file.py:function`: called with all messages in the order of their sends, it yields the right outputs."),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _has_none_of_the_market(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        wrong = [f".{name} is our own application's; leave it out" for name in _OF_THE_MARKET if name in given]
        system = given.get("system")
        if _JOB in given and isinstance(system, dict) and PIPELINE not in system:
            wrong.append(f".{_JOB} is of a pipeline; leave it out beside another system")
        if wrong:
            raise ValueError("\n".join(wrong))
        return given

    @model_validator(mode="after")
    def _can_be_told_apart(self) -> Self:
        topics = [each.topic for each in self.input] + [each.topic for each in self.output]
        twice = sorted({name for name in topics if topics.count(name) > 1})
        wrong = [f".output: the topic {name} stands twice; name each once" for name in twice]
        if self.kafka.bootstrap is None:
            if self.system.attached is not None:
                wrong.append(".kafka.bootstrap is missing; name the broker of the attached system")
            if self.kafka.security is not None:
                wrong.append(".kafka.security is of a broker of yours; name that in kafka.bootstrap")
        sources = [each.source for each in self.input]
        if any(it.topic and not (it.kafka or self.kafka).bootstrap for it in sources):
            wrong.append(".input: from.topic is on a broker of yours; name it in kafka.bootstrap or from.kafka")
        untimed = [it.topic for it in self.input if it.source.repeat or not (it.source.time or it.source.topic)]
        if isinstance(self.load, Recorded) and untimed:
            wrong.append(f".input: {untimed[0]} is to be sent at recorded times; name a file, its time, and no repeat")
        if self.job.drivers > 1:
            wrong.append(".job.replicas, .job.standby; a pipeline under load is one job, so leave them out")
        if wrong:
            raise ValueError("\n".join(wrong))
        return self

    def to_mapping(self) -> dict[str, Any]:
        """What its file holds: nothing of what it has because our own application has it."""
        mapping = SYSTEM_WORKLOAD.to_mapping(self)
        for name in OF_THE_FILES:
            mapping["load"].pop(name, None)
        without = _OF_THE_MARKET if self.system.kind == PIPELINE else (*_OF_THE_MARKET, _JOB)
        return {name: value for name, value in mapping.items() if name not in without}

    @property
    def group(self) -> str:
        """The consumer group in which it commits."""
        attached = self.system.attached
        return f"{self.kafka.prefix}market-spread-system" if attached is None else attached.group

    def plain(self, topic: str) -> str:
        """A topic without the prefix: what a pipeline calls it."""
        return topic.removeprefix(self.kafka.prefix)

    @property
    def untouchable(self) -> Mapping[str, str]:
        job = {"job": "the system is attached, so end its processes yourself"} if self.system.attached else {}
        broker = {"broker": "the broker of kafka.bootstrap is not the run's"} if self.kafka.bootstrap else {}
        return job | broker

    @property
    def subject(self) -> str:
        return self.job.mode if self.system.kind == PIPELINE else self.system.kind

    @property
    def state_partitions(self) -> int:
        return 1  # nobody knows in which partition of its state a message is

    @property
    def invalid_topic(self) -> str:
        """Where a pipeline reports the messages that it cannot read; empty for other systems."""
        return f"{self.output[0].topic}-invalid" if self.system.kind == PIPELINE else ""

    @property
    def topics(self) -> dict[str, int]:
        """All topics that it reads and writes, and how many partitions each has."""
        outputs = {each.topic: each.partitions for each in self.output}
        invalid = {self.invalid_topic: 1} if self.invalid_topic else {}
        return {each.topic: each.partitions for each in self.input} | outputs | invalid

    def finds(self, of: InputKeys) -> Finds:
        """How a message of an input tells its id: as it says, or by the field that an output has, or by its number."""
        return of.id or next((each.finds for each in self.output if each.finds.field is not None), BY_NUMBER)


SYSTEM_WORKLOAD = Schema(SystemWorkload)


def resolved(workload: SystemWorkload, folder: Path) -> SystemWorkload:
    """The workload with all names whole: files, which are relative to its own file's folder, and topics."""

    def whole(reference: str | None) -> str | None:
        # Links stay: those of a ConfigMap lead into a folder that has another name in each pod.
        return None if reference is None else os.path.abspath(folder / reference)

    def of(finds: Finds | None) -> Finds | None:
        return None if finds is None else replace(finds, function=whole(finds.function))

    def named(topic: str) -> str:
        return topic if topic.startswith(workload.kafka.prefix) else workload.kafka.prefix + topic

    inputs = tuple(
        replace(each, topic=named(each.topic), id=of(each.id), source=each.source.resolved(whole, workload.kafka))
        for each in workload.input
    )
    outputs = tuple(
        replace(each, topic=named(each.topic), finds=of(each.finds) or BY_NUMBER, reads=whole(each.reads))
        for each in workload.output
    )
    kafka = workload.kafka.with_files(whole)
    load = workload.load
    if isinstance(load, Recorded):
        load = load.between(workload.warm_up.duration_s, 0, inputs)
        if workload.warm_up.settle_s * 1e9 >= load.duration_ns:
            raise UsageError(
                f"warm_up.settle_s={workload.warm_up.settle_s:g}; use less than the load's {load.duration_ns / 1e9:g} s"
            )
        if wrong := workload.faults.wrong(load.duration_ns / 1e9, workload.untouchable) if workload.faults else []:
            raise UsageError("; ".join(f"faults.{sentence}" for sentence in wrong))
    system, spark = workload.system, workload.system.spark
    system = replace(
        system,
        folder=whole(system.folder) or "",
        pipeline=whole(system.pipeline),
        spark=spark and replace(spark, script=whole(spark.script) or ""),
    )
    check = whole(workload.check)
    found = replace(workload, load=load, system=system, kafka=kafka, input=inputs, output=outputs, check=check)
    for source in (each.source for each in inputs):
        if source.topic in found.topics and source.kafka and source.kafka.bootstrap == kafka.bootstrap:
            raise UsageError(f"input: {source.topic} is read for what it holds, and written to; name another topic")
    return found


def require_allowed(workload: SystemWorkload, allowed: tuple[str, ...]) -> None:
    """UsageError if load would go to another machine that the user has not named."""
    for server in (workload.kafka.bootstrap or "").split(","):
        host = server.strip().rpartition(":")[0]
        if host and host not in (*_LOOPBACK, *allowed):
            raise UsageError(f"the load would go to {host}, which is not this machine; allow it with --yes-load {host}")
