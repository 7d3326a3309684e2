"""The user's messages: what they are, and how they are read from a generator in Python, a file or a topic.

    def trips(seed):                       # my_load.py, named as my_load.py:trips
        while True:
            yield {"trip_id": ..., "city": ...}

A generator yields what `Message` takes as its value, or a `Message`, for as long as the load goes on.
"""

import csv
import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.kafka.access import BrokerKeys, Finds
from market_spread.common.kafka.client import KafkaBroker, Partition
from market_spread.common.schema import choice, flag, number, text
from market_spread.common.user_functions import load_function, user_errors
from market_spread.common.wire.layout import OUR_HEADERS

LINES, CSV, PARQUET, BINARY = "lines", "csv", "parquet", "binary"
UNITS_NS: Mapping[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
ISO = "iso"

Value = bytes | str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: bytes, a text, or a mapping, which becomes JSON.

    topic, number: of one that was sent, which topic it went to, and which one of the run it is. recorded_ms: of one
    that was read from a topic, the time of its record.
    """

    value: Value
    key: bytes | str | None = None
    headers: Sequence[tuple[str, bytes]] = ()
    topic: str = ""
    number: int = -1
    recorded_ms: int = -1

    @property
    def encoded(self) -> bytes:
        """The value as it is sent."""
        match self.value:
            case bytes(value):
                return value
            case str(value):
                return value.encode()
        return json.dumps(self.value, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class FromKeys:
    """Where the messages come from; a generator, a file or a topic."""

    generator: Annotated[
        str | None, text("`file.py:function`: called with the seed, it yields bytes, texts, mappings or Messages.")
    ] = None
    file: Annotated[str | None, text("A file of messages.")] = None
    topic: Annotated[str | None, text("A topic: all it holds at the run's begin, with keys, headers and times.")] = None
    kafka: Annotated[BrokerKeys | None, Field(description="The broker of that topic; by default the run's.")] = None
    format: Annotated[
        str,
        choice(
            (LINES, CSV, PARQUET, BINARY),
            f"How a file holds them: a line each, of text or JSON; rows of `{CSV}` or `{PARQUET}`, which become JSON; "
            f"`{BINARY}`, of `record_bytes` each.",
        ),
    ] = LINES
    record_bytes: Annotated[int | None, number(1, 1_000_000, "Bytes of a message of a binary file.")] = None
    time: Annotated[str | None, text("Field of a mapping or JSON object with its recorded time.")] = None
    time_unit: Annotated[str, choice((*UNITS_NS, ISO), f"Of its Unix time; `{ISO}`: a text of ISO 8601.")] = "us"
    repeat: Annotated[bool, flag("Whether a file begins anew at its end.")] = False

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(each is not None for each in (self.generator, self.file, self.topic)) != 1:
            raise ValueError("generator, file, topic; give exactly one of them")
        if (self.record_bytes is None) == (self.format == BINARY):
            raise ValueError(f"record_bytes; give it for the format {BINARY}, and for no other")
        return self

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        return self.generator or self.file or str(self.topic)

    def resolved(self, whole: Callable[[str | None], str | None], kafka: BrokerKeys) -> "FromKeys":
        """The same with the whole paths of its files, and the broker of its topic, which is the run's by default."""
        broker = self.kafka or BrokerKeys(bootstrap=kafka.bootstrap, security=kafka.security)
        found = None if self.topic is None else broker.with_files(whole)
        return replace(self, generator=whole(self.generator), file=whole(self.file), kafka=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputKeys:
    """A topic that the system reads."""

    topic: Annotated[str, text("Name of the topic.")]
    source: Annotated[FromKeys, Field(alias="from")]
    partitions: Annotated[int, number(1, 1024, "Its partitions.")] = 1
    key: Annotated[str | None, text("Field of a mapping or JSON object that is the record's key.")] = None
    id: Annotated[Finds | None, Field(description="How a message tells its id; by default by its number.")] = None
    share: Annotated[float, number(0.000_001, 1_000_000, "Its part of the load, against others' shares.")] = 1.0


def messages_of(of: InputKeys, seed: int) -> Iterator[Message]:
    """The messages of an input with their keys, as they are needed."""
    source = of.source
    if source.generator is not None:
        found = _generated(source.generator, seed)
    else:
        path, rounds = source.file, cycle((None,)) if source.repeat else (None,)
        found = chain.from_iterable(_of_file(Path(path), source) if path else _of_topic(source) for _ in rounds)
    return found if of.key is None else (_keyed(message, of.key, of.topic) for message in found)


def _generated(reference: str, seed: int) -> Iterator[Message]:
    function = load_function(reference)
    with user_errors(reference):
        given = iter(function(seed))
    while True:
        with user_errors(reference):
            try:
                value = next(given)
            except StopIteration:
                return
        message = value if isinstance(value, Message) else Message(value)
        of_value: object = message.value
        if not isinstance(of_value, bytes | str | Mapping):
            kind = type(of_value).__name__
            raise UsageError(f"{reference} yields a {kind}; yield bytes, a text, a mapping or a Message")
        yield message


def _of_file(path: Path, keys: FromKeys) -> Iterator[Message]:
    with usage_errors(f"the messages in {path} cannot be read", "name a file that is there"):
        match keys.format:
            case "csv":
                with path.open(encoding="utf-8", newline="") as file:
                    yield from (Message(row) for row in csv.DictReader(file))
            case "parquet":
                from pyarrow import parquet

                for batch in parquet.ParquetFile(path).iter_batches():
                    yield from (Message(row) for row in batch.to_pylist())
            case "binary":
                assert keys.record_bytes is not None
                with path.open("rb") as binary:
                    while piece := binary.read(keys.record_bytes):
                        if len(piece) < keys.record_bytes:
                            rest = f"{path} ends with {len(piece)} bytes, and record_bytes is {keys.record_bytes}"
                            raise UsageError(f"{rest}; correct it")
                        yield Message(piece)
            case _:
                with path.open("rb") as lines:
                    yield from (Message(line.rstrip(b"\r\n")) for line in lines)


def _of_topic(keys: FromKeys) -> Iterator[Message]:
    """All that the topic holds now, in the order of the records' times."""
    assert keys.kafka is not None
    broker = KafkaBroker(str(keys.kafka.bootstrap), "recording", keys.kafka.read_security)
    ends = broker.end_offsets([keys.name], committed=True)
    partitions = (_of_partition(broker, place, end) for place, end in ends.items() if end)
    return heapq.merge(*partitions, key=lambda message: message.recorded_ms)


def _of_partition(broker: KafkaBroker, place: Partition, end: int) -> Iterator[Message]:
    """In the order of the log. A time before that of an earlier record counts as that one: producers' clocks differ."""
    time_ms = 0
    for _, record in broker.records({place: end}):
        headers = tuple((name, value) for name, value in record.headers if name not in OUR_HEADERS)
        time_ms = max(time_ms, record.timestamp_ms)
        yield Message(record.value, record.key, headers, recorded_ms=time_ms)


def _keyed(message: Message, field: str, topic: str) -> Message:
    """With the field as its key, unless it has one."""
    if message.key is not None:
        return message
    try:
        value = message.value if isinstance(message.value, Mapping) else json.loads(message.value)
        return replace(message, key=str(value[field]))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UsageError(
            f"a message for {topic} has no field {field!r} to be its key: {message.encoded[:80]!r}; correct key:"
        ) from error
