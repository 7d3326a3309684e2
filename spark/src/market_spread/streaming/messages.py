"""What a message is: a layout of fixed width (see `Layout`), a text, or a record of typed fields as JSON or CSV.

>>> @dataclass
... class Trade:
...     account: str
...     side: Literal["buy", "sell"]
...     quantity: int
...     note: str | None
>>> [f"{field.name} {field.type}" for field in Json(Trade).typed_fields]
['account string', 'side string', 'quantity bigint', 'note string']
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from string import Formatter
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.layout import Kind, Layout

Names = tuple[str, ...]

DECIMAL = "decimal(38,18)"
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


class TypedField(NamedTuple):
    """A field of a record. type: Spark's; values: the only ones that it takes, if it takes only some."""

    name: str
    type: str
    is_nullable: bool
    values: Names


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
        return tuple(self._typed(field.name, hints[field.name]) for field in fields(self.record))

    @property
    def fields(self) -> Names:
        """The names of the fields."""
        return tuple(field.name for field in self.typed_fields)

    @property
    def schema(self) -> str:
        """The fields as Spark's DDL."""
        return ", ".join(f"`{field.name}` {field.type}" for field in self.typed_fields)

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
            raise PipelineError(
                f"{getattr(self.record, '__name__', '')}.{name} is a {hint}; a message has fields of {takes}"
            )
        return TypedField(name, kind, NoneType in options, texts)


@dataclass(frozen=True, slots=True)
class Json(TypedRecord):
    """Messages that are JSON objects. Members that the record does not name are left out."""


@dataclass(frozen=True, slots=True)
class Csv(TypedRecord):
    """Messages that are lines of comma-separated values, in the order of the record's fields; empty is null."""


Messages = Layout | Text | Json | Csv


def typed_fields_of(messages: Messages) -> tuple[TypedField, ...]:
    """The fields of a message, without the letter that names a layout's kind."""
    if isinstance(messages, TypedRecord):
        return messages.typed_fields
    if isinstance(messages, Text):
        return tuple(TypedField(name, "string", False, ()) for name in messages.fields)
    numbers = {field.name: "bigint" if field.is_number else "string" for field in messages.fields[1:]}
    return tuple(TypedField(name, kind, False, ()) for name, kind in numbers.items())


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
