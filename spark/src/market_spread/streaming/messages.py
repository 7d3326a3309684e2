"""What a message is: a layout of fixed width (see `Layout`), a text, bytes, or a typed record as JSON, CSV or Avro.

>>> @dataclass
... class Trade:
...     account: str
...     side: Literal["buy", "sell"]
...     quantity: int
...     note: str | None
>>> [f"{field.name} {field.type}" for field in Json(Trade).typed_fields]
['account string', 'side string', 'quantity bigint', 'note string']
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from string import Formatter
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.layout import Kind, Layout
from market_spread.streaming.avro_schema import AvroSchema, is_decimal

Names = tuple[str, ...]

DECIMAL = "decimal(38,18)"
# Spark's types in a row and in a message, by Avro's names. What is not here a record cannot have.
_OF_AVRO = {
    "int": ("bigint", "int"), "long": ("bigint", "bigint"), "boolean": ("boolean", "boolean"),
    "float": ("double", "float"), "double": ("double", "double"),
    "string": ("string", "string"), "enum": ("string", "string"),
}  # fmt: skip
_SPARK_TYPES = {int: "bigint", float: "double", str: "string", bool: "boolean", Decimal: DECIMAL}


class PipelineError(UsageError):
    """A pipeline that cannot work."""


def each_once(names: Iterable[str]) -> Names:
    """The names in their order, without repetitions."""
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Text:
    """Messages that are UTF-8 text, one per record.

    A source reads one field, `text`. A sink writes the pattern, with fields in braces.

    >>> Text("{word} => {count}").fields
    ('word', 'count')
    """

    pattern: str = "{text}"

    def __post_init__(self) -> None:
        with usage_errors(f"the pattern {self.pattern!r} cannot be read", "write a brace as two", (ValueError,)):
            parts = [*Formatter().parse(self.pattern)]
        if any(name == "" or form or how for _, name, form, how in parts):
            raise PipelineError(f"the pattern {self.pattern!r} has more or less than a name in braces; write {{name}}")

    @property
    def fields(self) -> Names:
        """The fields of the pattern."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.pattern) if name)


@dataclass(frozen=True, slots=True)
class Bytes:
    """Messages of any bytes, one per record, such as Protobuf, which steps read and make.

    A source reads one field, of this name. A sink writes the field, which is bytes or a text.
    """

    field: str = "data"


class TypedField(NamedTuple):
    """A field of a record.

    type: Spark's, in a row; values: the only ones that it takes, if it takes only some; written: its type in a message.
    """

    name: str
    type: str
    is_nullable: bool
    values: Names
    written: str


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """Messages that are records, one per Kafka record, declared by a dataclass.

    record: its fields are int, float, str, bool, Decimal, an Enum or Literal of texts, or one of these or None. A
    message that lacks a field that cannot be None, or has a value of another type, is malformed. A sink without a
    record writes all fields that its rows have.
    """

    record: type | None = None

    @property
    def typed_fields(self) -> tuple[TypedField, ...]:
        """The fields in their order. PipelineError if there is no Spark type for one."""
        if self.record is None:
            return ()
        if not is_dataclass(self.record):
            raise PipelineError(f"{self.record!r} is no dataclass; declare the fields of a message by one")
        hints = get_type_hints(self.record)
        return tuple(self._written(self._typed(field.name, hints[field.name])) for field in fields(self.record))

    @property
    def fields(self) -> Names:
        """The names of the fields."""
        return tuple(field.name for field in self.typed_fields)

    @property
    def schema(self) -> str:
        """The fields as Spark's DDL."""
        return ", ".join(f"`{field.name}` {field.type}" for field in self.typed_fields)

    @property
    def _name(self) -> str:
        return getattr(self.record, "__name__", "")

    def _typed(self, name: str, hint: Any) -> TypedField:
        options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        of, *more = [option for option in options if option is not NoneType]
        texts: tuple[Any, ...] = ()
        if get_origin(of) is Literal:
            texts = get_args(of)
        elif isinstance(of, type) and issubclass(of, Enum):
            texts = tuple(member.value for member in of)
        kind = _SPARK_TYPES.get(str if texts else of)
        if more or kind is None or not all(isinstance(text, str) for text in texts):
            takes = "int, float, str, bool, Decimal, an Enum or Literal of texts, or one of these or None"
            raise PipelineError(f"{self._name}.{name} is a {hint}; a message has fields of {takes}")
        return TypedField(name, kind, NoneType in options, texts, kind)

    def _written(self, field: TypedField) -> TypedField:
        """The field as these messages have it."""
        return field


@dataclass(frozen=True, slots=True)
class Json(TypedRecord):
    """Messages that are JSON objects. Members that the record does not name are left out."""


@dataclass(frozen=True, slots=True)
class Csv(TypedRecord):
    """Messages that are lines of comma-separated values, in the order of the record's fields; empty is null."""


@dataclass(frozen=True, slots=True)
class Avro(TypedRecord):
    r"""Messages that are a record in Avro's binary encoding, without the header of a file.

    avro_schema: that of the writer, as JSON; without it one is made of the record. What the record does not name is
    left out by a source; in a sink's schema it must be nullable, and is null. registry_id: the number of the schema in
    a registry, if each message begins with it (a zero byte and four, as Confluent's serializers write them); a message
    with another number is malformed.

    >>> @dataclass
    ... class Fare:
    ...     cents: int | None
    >>> Avro(Fare, registry_id=7).encode({"cents": 5})
    b'\x00\x00\x00\x00\x07\x02\n'
    """

    avro_schema: str | None = None
    registry_id: int | None = None

    def __post_init__(self) -> None:
        if self.record is None:
            raise PipelineError("Avro() names no record; declare its fields by a dataclass")
        if not (self.registry_id is None or (isinstance(self.registry_id, int) and 0 <= self.registry_id < 2**31)):
            raise PipelineError(
                f"registry_id={self.registry_id!r} is no number of a schema; give one from 0 to 2**31 - 1"
            )
        fields_of(self)  # refuses what the schema has otherwise

    @property
    def avro(self) -> AvroSchema:
        """The schema of the messages."""
        if self.avro_schema is not None:
            return AvroSchema(str(self.avro_schema))
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18}
        names: dict[str, Any] = {"bigint": "long", DECIMAL: decimal}
        types = {it.name: names.get(it.type, it.type) for it in self.typed_fields}
        nullable = {it.name: ["null", types[it.name]] for it in self.typed_fields if it.is_nullable}
        members = [{"name": name, "type": of} for name, of in (types | nullable).items()]
        return AvroSchema(json.dumps({"type": "record", "name": self._name, "fields": members}))

    @property
    def prefix(self) -> bytes:
        """What each message begins with."""
        return b"" if self.registry_id is None else b"\0" + self.registry_id.to_bytes(4, "big")

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """The message with these values of the schema's fields. UsageError if it cannot hold them."""
        return self.prefix + self.avro.encode(record)

    def decode(self, message: bytes) -> dict[str, Any]:
        """The fields of a message. UsageError if it is malformed."""
        if not message.startswith(self.prefix):
            raise UsageError(f"{message!r:.200} does not begin with the schema's number, {self.registry_id}")
        return self.avro.decode(message[len(self.prefix) :])

    def _written(self, field: TypedField) -> TypedField:
        """As the writer's schema has it. PipelineError if that has no such field, or one of another type."""
        if self.avro_schema is None:
            return field
        members, where = self.avro.members, f"{self._name}.{field.name}"
        if field.name not in members:
            raise PipelineError(f"{where} is not in its Avro schema, which has {', '.join(members)}")
        of, *more = [of for of in members[field.name] if of["type"] != "null"] or [{"type": "null"}]
        kind, written = _OF_AVRO.get(str(of["type"]), ("", ""))
        if is_decimal(of) and of["precision"] - (behind := of.get("scale", 0)) <= 20 and behind <= 18:
            kind, written = DECIMAL, f"decimal({of['precision']},{behind})"
        if more or kind != field.type:
            raise PipelineError(
                f"{where} is {field.type} to Spark, and in its Avro schema {json.dumps(members[field.name])}; an int "
                "is Avro's int or long, a float its float or double, a str its string or enum, a bool its boolean, and "
                "a Decimal its decimal of up to 20 digits before the point and 18 behind it"
            )
        symbols = of.get("symbols", field.values)
        if unknown := [value for value in field.values if value not in symbols]:
            raise PipelineError(f"{where} takes {unknown[0]!r}, and its Avro schema only {', '.join(symbols)}")
        is_nullable = field.is_nullable and field.name not in self.avro.required
        return field._replace(is_nullable=is_nullable, values=field.values or tuple(symbols), written=written)


Messages = Layout | Text | Bytes | Json | Csv | Avro


def typed_fields_of(messages: Messages) -> tuple[TypedField, ...]:
    """The fields of a message, without the letter that names a layout's kind."""
    if isinstance(messages, TypedRecord):
        return messages.typed_fields
    if isinstance(messages, Text):
        return tuple(TypedField(name, "string", False, (), "string") for name in messages.fields)
    if isinstance(messages, Bytes):
        return (TypedField(messages.field, "binary", False, (), "binary"),)
    numbers = {field.name: "bigint" if field.is_number else "string" for field in messages.fields[1:]}
    return tuple(TypedField(name, kind, False, (), kind) for name, kind in numbers.items())


def fields_of(messages: Messages) -> Names:
    """The names of its fields."""
    return tuple(field.name for field in typed_fields_of(messages))


def nullable_fields(messages: Messages) -> Names:
    """The fields that may be null in a good message."""
    return tuple(field.name for field in typed_fields_of(messages) if field.is_nullable)


def whole_numbers(messages: Messages, *, signed: bool = False) -> Names:
    """The fields that are whole numbers, so that they can be a time or a sequence; or also those with a sign."""
    if isinstance(messages, Layout) and not signed:
        return tuple(field.name for field in messages.fields if field.kind is Kind.DIGITS)
    return tuple(field.name for field in typed_fields_of(messages) if field.type == _SPARK_TYPES[int])
