"""How a record names a message of a run: by a header, a field of its JSON, or a function of the user's own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import model_validator

from market_spread.common.errors import UsageError
from market_spread.common.kafka.client import Record
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, text
from market_spread.common.user_functions import load_function, user_errors
from market_spread.common.wire.layout import ID_HEADER

Finder = Callable[[Record], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finds:
    """Where the id is; exactly one of the three."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    header: Annotated[str | None, text(f"A header of the record. Every message has its number in `{ID_HEADER}`.")] = (
        None
    )
    field: Annotated[str | None, text("A field of the record's JSON object; `order.id` is one within another.")] = None
    function: Annotated[str | None, text("`file.py:function`, called with the record; returns the id.")] = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(each is not None for each in (self.header, self.field, self.function)) != 1:
            raise ValueError("header, field, function; give exactly one of them")
        return self

    def finder(self, raised: Callable[[UsageError], object] | None = None) -> Finder:
        """Reads the id of a record as text; None if it has none. UsageError if the user's function raises.

        raised: is told that error instead, and the record has no id.
        """
        if self.header is not None:
            header = self.header
            return lambda record: next((_text(value) for name, value in record.headers if name == header), None)
        if self.field is not None:
            steps = self.field.split(".")
            return lambda record: _field(record.value, steps)
        assert self.function is not None
        reference, function = self.function, load_function(self.function)

        def found(record: Record) -> str | None:
            told = None
            with user_errors(reference, raised):
                told = function(record)
            return None if told is None else _text(told)

        return found


FINDS = Schema(Finds)
BY_NUMBER = Finds(header=ID_HEADER)


def _field(value: bytes, steps: list[str]) -> str | None:
    try:
        found = json.loads(value)
        for step in steps:
            found = found[step]
    except (ValueError, LookupError, TypeError):
        return None
    return None if found is None else _text(found)


def _text(told: object) -> str:
    return told.decode("utf-8", "backslashreplace") if isinstance(told, bytes) else str(told)
