"""Several small integers in one long: state and shuffle cost by the column, so rows carry few, well-filled ones."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

_USABLE_BITS = 63  # the sign stays clear, so that words compare as their highest part does


@dataclass(frozen=True, slots=True)
class Part:
    """An integer of a word: `bits` wide, stored plus `bias`, so that it may be negative down to -bias."""

    name: str
    bits: int
    bias: int = 0


class Word:
    """A layout of parts in a long, the first one highest. Values outside a part's range must not be packed."""

    def __init__(self, *parts: Part) -> None:
        """ValueError if the parts do not fit."""
        if sum(part.bits for part in parts) > _USABLE_BITS:
            raise ValueError(f"{sum(part.bits for part in parts)} bits do not fit in {_USABLE_BITS}")
        self._parts = {part.name: part for part in parts}
        self._shifts: dict[str, int] = {}
        shift = 0
        for part in reversed(parts):
            self._shifts[part.name] = shift
            shift += part.bits

    def pack(self, **values: Column) -> Column:
        """The word of these values; a part that is not given is 0. Null if one of them is."""
        return reduce(Column.bitwiseOR, (self._placed(self._parts[name], value) for name, value in values.items()))

    def unpack(self, word: Column, name: str) -> Column:
        """A part of the word."""
        part = self._parts[name]
        bits = F.shiftright(word, self._shifts[name]).bitwiseAND(F.lit(2**part.bits - 1).cast("bigint"))
        return bits - part.bias if part.bias else bits

    def _placed(self, part: Part, value: Column) -> Column:
        biased = value + F.lit(part.bias).cast("bigint") if part.bias else value.cast("bigint")
        return F.shiftleft(biased, self._shifts[part.name]) if self._shifts[part.name] else biased
