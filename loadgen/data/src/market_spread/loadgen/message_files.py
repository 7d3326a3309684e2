"""The user's messages: what they are, and how they are read from a generator in Python, a file or a topic."""

import csv
import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from itertools import chain, cycle
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.kafka.access import BrokerKeys, Finds
from market_spread.common.kafka.client import RECORD_BYTES_MAX, KafkaBroker, Partition
from market_spread.common.schema import choice, exactly_one_of, flag, number, text
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
        """The value as it is sent. TypeError, ValueError or RecursionError if it cannot be JSON, or UTF-8."""
        match self.value:
            case bytes(value):
                return value
            case str(value):
                return value.encode()
        return json.dumps(self.value, separators=(",", ":"), default=_as_text, allow_nan=False).encode()


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

    _is_one = exactly_one_of("generator", "file", "topic")

    @model_validator(mode="after")
    def _has_a_size_if_it_needs_one(self) -> Self:
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


def _as_text(value: object) -> str:
    """Of a value that JSON lacks: a decimal's digits, a time in ISO 8601. TypeError for others."""
    if not isinstance(value, Decimal | date | time):
        raise TypeError(f"JSON has no {type(value).__name__}, as {value!r}")
    return str(value) if isinstance(value, Decimal) else value.isoformat()


def messages_of(of: InputKeys, seed: int) -> Iterator[Message]:
    """The messages of an input with their keys, as they are needed."""
    source = of.source
    if source.generator is not None:
        found = _generated(source.generator, seed)
    else:
        read = partial(_of_file, Path(source.file), source) if source.file else partial(_of_topic, source)
        repeats = source.repeat and next(read(), None) is not None  # else there would be no end of nothing
        found = chain.from_iterable(read() for _ in (cycle((None,)) if repeats else (None,)))
    return found if of.key is None else (_keyed(message, of.key, of.topic) for message in found)


def _generated(reference: str, seed: int) -> Iterator[Message]:
    function = load_function(reference)
    with user_errors(reference):
        given = iter(function(seed))
    while True:
        with user_errors(reference):
            value = next(given, given)
        if value is given:
            return
        message = value if isinstance(value, Message) else Message(value)
        if not isinstance(message.value, bytes | str | Mapping):
            raise UsageError(f"{reference} yields {message.value!r:.60}; yield bytes, a text, a mapping or a Message")
        yield message


def _of_file(path: Path, keys: FromKeys) -> Iterator[Message]:
    kinds = OSError, ValueError, csv.Error
    with usage_errors(f"the messages in {path} cannot be read", "correct file: or format:", kinds):
        match keys.format:
            case "csv":
                csv.field_size_limit(RECORD_BYTES_MAX)
                with path.open(encoding="utf-8-sig", newline="") as file:
                    for row in (rows := csv.DictReader(file, strict=True)):
                        if None in row or None in row.values():
                            raise ValueError(f"line {rows.line_num} has more or fewer fields than the first")
                        yield Message(row)
            case "parquet":
                from pyarrow import parquet

                for batch in parquet.ParquetFile(path).iter_batches():
                    yield from (Message(row) for row in batch.to_pylist())
            case "binary":
                assert keys.record_bytes is not None
                with path.open("rb") as binary:
                    while piece := binary.read(keys.record_bytes):
                        if len(piece) < keys.record_bytes:
                            raise ValueError(f"it ends with {len(piece)} bytes; record_bytes={keys.record_bytes}")
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
    """With the field as its key, unless it has one, or the field is null."""
    if message.key is not None:
        return message
    try:
        value = message.value if isinstance(message.value, Mapping) else json.loads(message.value)
        return message if value[field] is None else replace(message, key=str(value[field]))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UsageError(
            f"a message for {topic} has no field {field!r} to be its key: {message.value!r:.80}; correct key:"
        ) from error
