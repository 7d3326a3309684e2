"""Fields of many messages at once, each read only when it is asked for: eight digits at a time, in one integer.

The digits are summed up pairwise inside a 64-bit word (Lemire, "Quickly parsing eight digits", 2018), for thousands of
messages with each numpy operation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.layout import Kind, Layout

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Bytes2D = npt.NDArray[np.uint8]

_WORD = 8
# Fits in the second-level cache with all its temporaries, and is long enough to hide what a numpy call costs.
_BLOCK = 16_384
_ZEROS = np.uint64(0x3030303030303030)


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of one length, one for each field of the dataclass."""

    def __len__(self) -> int:
        return len(self._arrays()[0])

    def __getitem__(self, index: slice | npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Self:
        """Those at the index: a slice (no copy), a mask or positions."""
        return type(self)(*(array[index] for array in self._arrays()))

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """All of the parts (at least one), in order."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*(part._arrays() for part in parts), strict=True)))

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]


class Fields:
    """Messages of one layout, concatenated, and their fields as columns of n values."""

    def __init__(self, layout: Layout, frames: Iterable[bytes | memoryview]) -> None:
        """ValueError if the frames are not a whole number of messages."""
        self.layout = layout
        # A word is read so that it ends with its field; for the first message it may begin before the data.
        self._data = b"".join((bytes(_WORD), *frames))
        size = len(self._data) - _WORD
        if size % layout.width:
            raise ValueError(f"{size} bytes are not a whole number of {layout.width}-byte {layout.name} messages")
        self.count = size // layout.width

    @staticmethod
    def of_rows(layout: Layout, rows: Bytes2D) -> "Fields":
        """Those of messages (n, layout.width)."""
        return Fields(layout, [np.ascontiguousarray(rows).reshape(-1).data])

    @property
    def rows(self) -> Bytes2D:
        """The messages, (n, width); a view."""
        return np.frombuffer(self._data, np.uint8, offset=_WORD).reshape(self.count, self.layout.width)

    def number(self, name: str) -> Int64s:
        """A DIGITS, INTEGER or SIGNED field of at most 19 bytes. Anything where a message is not readable."""
        field = self.layout.field(name)
        offset, width = self.layout.offset(name), field.width
        match field.kind:
            case Kind.DIGITS:
                return self._digits(offset, width)
            case Kind.SIGNED:
                magnitude = self._digits(offset + 1, width - 1)
                return np.where(self.rows[:, offset] == ord("-"), -magnitude, magnitude)
            case Kind.INTEGER:
                values, is_negative = self._digits(offset, width), self.rows[:, offset] == ord("-")
                if is_negative.any():
                    values[is_negative] = -self._digits(offset + 1, width - 1)[is_negative]
                return values
            case Kind.TEXT | Kind.LETTER:
                raise ValueError(f"{self.layout.name}.{name} is {field.kind.value}, and no number")

    def word(self, name: str) -> UInt64s:
        """A field of at most 8 bytes as an integer: equal texts have equal integers; the order means nothing."""
        offset, width = self.layout.offset(name), self.layout.field(name).width
        if width > _WORD:
            raise ValueError(f"{self.layout.name}.{name} has {width} bytes, and a word {_WORD}")
        shift = np.uint64(8 * (_WORD - width))
        return np.right_shift(self._words(offset + width - _WORD), shift)

    def unreadable(self) -> Bools | None:
        """Which messages have a wrong byte where a digit, a sign or a letter is to be; None if none has."""
        rows = self.rows
        found: Bools | None = None
        for offset, allowed in _letters(self.layout):
            wrong = ~np.isin(rows[:, offset], allowed)
            if wrong.any():
                found = wrong if found is None else found | wrong
        digits = _digit_columns(self.layout)
        minuses = [self.layout.offset(field.name) for field in self.layout.fields if field.kind is Kind.INTEGER]
        for begin in range(0, self.count, _BLOCK):
            block = rows[begin : begin + _BLOCK]
            wrong_bytes = (block - np.uint8(ord("0")) > 9) & digits
            if not wrong_bytes.any():
                continue
            wrong_bytes[:, minuses] &= block[:, minuses] != ord("-")
            if wrong_bytes.any():
                found = np.zeros(self.count, np.bool_) if found is None else found
                found[begin : begin + _BLOCK] |= wrong_bytes.any(axis=1)
        return found

    def _digits(self, offset: int, width: int) -> Int64s:
        values = self._eight_digits(offset + width - _WORD, min(width, _WORD))
        scale = 1
        for end in range(width - _WORD, 0, -_WORD):
            scale *= 10**_WORD
            values += scale * self._eight_digits(offset + end - _WORD, min(end, _WORD))
        return values

    def _eight_digits(self, offset: int, width: int) -> Int64s:
        """The last `width` digits of the eight bytes from the offset on."""
        words = self._words(offset)
        values = np.empty(self.count, np.int64)
        unused = np.uint64(8 * (_WORD - width))
        zeros = (_ZEROS >> unused) << unused
        for begin in range(0, self.count, _BLOCK):
            block = words[begin : begin + _BLOCK]
            if unused:
                block = (block >> unused) << unused  # before the zeros are taken away: no borrow from other bytes
            block = block - zeros
            block = block * np.uint64(10) + (block >> np.uint64(8))
            high = (block & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
            low = ((block >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
            values[begin : begin + _BLOCK] = (high + low) >> np.uint64(32)
        return values

    def _words(self, offset: int) -> UInt64s:
        """Eight bytes of each message from the offset on, which may be negative; a view."""
        if not self.count:
            return np.empty(0, np.uint64)
        return np.ndarray((self.count,), "<u8", self._data, _WORD + offset, (self.layout.width,))


@cache
def _letters(layout: Layout) -> list[tuple[int, npt.NDArray[np.uint8]]]:
    """Where a message has a letter or a sign, and which these may be."""
    allowed = {field.name: "+-" if field.kind is Kind.SIGNED else field.letters for field in layout.fields}
    return [
        (layout.offset(name), np.frombuffer(letters.encode(), np.uint8)) for name, letters in allowed.items() if letters
    ]


@cache
def _digit_columns(layout: Layout) -> Bools:
    """Which bytes of a message have to be digits, (width,)."""
    digits = np.zeros(layout.width, np.bool_)
    for field in layout.fields:
        offset = layout.offset(field.name)
        digits[offset + (field.kind is Kind.SIGNED) : offset + field.width] = field.is_number
    return digits
