r"""Schemas of Avro: their fields, and records in its binary encoding, as Avro 1.12's specification has it.

A field that stands for a time is a number here, without its logical type, as it is in a message.

>>> fare = AvroSchema('{"type": "record", "name": "Fare", "fields": [{"name": "cents", "type": ["null", "int"]}]}')
>>> fare.encode({"cents": 5})
b'\x02\n'
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import cache
from io import BytesIO
from math import log10
from typing import Any, cast

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException, UnknownType
from fastavro.validation import ValidationError, validate

from market_spread.common.errors import usage_errors

Type = dict[str, Any]
_DECIMALS = Context(prec=999, Emax=999, Emin=-999, traps=[Inexact, InvalidOperation, Overflow])  # exact, or refused
# What fastavro raises for a schema or a record that is not what it should be.
_UNLIKE = (
    ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, ArithmeticError, RecursionError,
    SchemaParseException, UnknownType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """The schema of a record, from JSON. UsageError for any other text, when it is read."""

    text: str

    @property
    def members(self) -> Mapping[str, tuple[Type, ...]]:
        """The types that each field can have, named ones in full."""
        return {field["name"]: tuple(_options(field["type"])) for field in _read(self.text)["fields"]}

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that have a value in every record."""
        return tuple(name for name, of in self.members.items() if len(of) == 1 or {"type": "null"} not in of)

    def only(self, names: Iterable[str]) -> str:
        """A schema of these fields, as JSON: by Avro's rules a reader that has it skips the others."""
        members, defined, fields = self.members, set[str](), []
        for name in names:
            options = [of["name"] if of.get("name") in defined else _widest(of) for of in members[name]]
            defined.update(of["name"] for of in members[name] if "name" in of)
            fields.append({"name": name, "type": options if len(options) > 1 else options[0]})
        return json.dumps({"type": "record", "name": _read(self.text)["name"], "fields": fields})

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """The record's bytes; a decimal may be a text. UsageError if it is none of this schema."""
        message = BytesIO()
        with usage_errors(f"{record!r:.200} is no record of its Avro schema", kinds=_UNLIKE):
            decimals = [name for name, options in self.members.items() if any(map(is_decimal, options))]
            given = {name: record[name] for name in decimals if isinstance(record.get(name), str | Decimal)}
            numbers, schema = {name: _DECIMALS.create_decimal(it) for name, it in given.items()}, _read(self.text)
            try:
                validate({**record, **numbers}, schema)
            except ValidationError as error:
                raise ValueError("; ".join(map(str, error.errors))) from None
            schemaless_writer(message, schema, {**record, **numbers}, strict=True)
        return message.getvalue()

    def decode(self, message: bytes) -> dict[str, Any]:
        """The record with these bytes. UsageError if they are not one of this schema, and no more."""
        body = BytesIO(message)
        with usage_errors(f"{message!r:.200} is no record of its Avro schema", kinds=_UNLIKE):
            record = schemaless_reader(body, _read(self.text), None)
            if more := body.read():
                raise ValueError(f"{len(more)} bytes follow it")
            return cast(dict[str, Any], record)


@cache
def _read(text: str) -> Type:
    """The schema with every type in full. It is shared, and stays as it is."""
    with usage_errors(f"the Avro schema {text!r:.80} cannot be read", "give a record's, as JSON", _UNLIKE):
        schema: Any = parse_schema(json.loads(text), expand=True)
        names = [field["name"] for field in schema["fields"]]
        if schema["type"] != "record" or len({*names}) < len(names):
            raise ValueError(f"it is no record with each field once, but a {schema['type']} of {', '.join(names)}")
    for field in schema["fields"]:
        options = [it if isinstance(it, dict) else {"type": it} for it in _options(field["type"])]
        options = [{"type": of["type"]} if of["type"] in ("int", "long", "string") else of for of in options]
        field["type"] = options if isinstance(field["type"], list) else options[0]
    return cast(Type, schema)


def is_decimal(of: Type) -> bool:
    """Whether the type has decimals."""
    digits, behind = of.get("precision"), of.get("scale", 0)
    is_sound = isinstance(digits, int) and isinstance(behind, int) and digits > 0
    return of["type"] in ("bytes", "fixed") and of.get("logicalType") == "decimal" and is_sound


def _widest(of: Type) -> Type:
    """A decimal of as many digits as its bytes can hold: of one with up to 18 Spark takes the last 64 bits alone."""
    return of | {"precision": min(38, int((8 * of.get("size", 17) - 1) * log10(2)))} if is_decimal(of) else of


def _options(of: Any) -> list[Any]:
    return of if isinstance(of, list) else [of]
