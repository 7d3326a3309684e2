"""Bit fields packed into few longs ("words"): state and shuffle cost by the column, so rows have few, full ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.streaming.modes.rows import long

_USABLE_BITS = 63  # the sign stays clear, so words compare as their highest bit field does


@dataclass(frozen=True, slots=True)
class BitField:
    """An integer of `bits` bits, stored plus `bias`, so it may be as low as -bias."""

    name: str
    bits: int
    bias: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """`bits` bits of a bit field, starting at `from_bit` of its value and at `at_bit` of the word."""

    field: BitField
    word: int
    at_bit: int
    from_bit: int
    bits: int

    def placed(self, value: Column) -> Column:
        bits = value + long(self.field.bias) if self.field.bias else value.cast("bigint")
        if self.from_bit:
            bits = F.shiftright(bits, self.from_bit)
        if self.from_bit + self.bits < self.field.bits:
            bits = bits.bitwiseAND(long(2**self.bits - 1))
        return F.shiftleft(bits, self.at_bit) if self.at_bit else bits

    def taken(self, word: Column) -> Column:
        bits = (F.shiftright(word, self.at_bit) if self.at_bit else word).bitwiseAND(long(2**self.bits - 1))
        return F.shiftleft(bits, self.from_bit) if self.from_bit else bits


class BitPacking:
    """Where bit fields are in words. A value outside its bit field's range must not be packed."""

    def __init__(
        self, fields: Sequence[BitField], *, head: BitField | None = None, on_top: BitField | None = None
    ) -> None:
        """Bit fields stay whole unless cutting them saves a word; a cut one costs more to unpack.

        head: the highest bit field of the first word, which tells apart packings that share their words; on_top: the
        highest bit field of every word, so words compare as it does.
        """
        capacity = _USABLE_BITS - (on_top.bits if on_top else 0)
        first = capacity - (head.bits if head else 0)
        pieces = _whole(fields, first, capacity)
        cut = _cut(fields, first, capacity)
        if pieces is None or _words(pieces) > _words(cut):
            pieces = cut
        self.words = _words(pieces)
        if head:
            pieces.append(_Piece(head, 0, first, 0, head.bits))
        if on_top:
            pieces += [_Piece(on_top, word, capacity, 0, on_top.bits) for word in range(self.words)]
        self._pieces = tuple(pieces)

    @property
    def form(self) -> str:
        """Where each bit field is, as text: words of another form cannot be unpacked."""
        return " ".join(
            f"{piece.field.name}{piece.field.bias:+d}/{piece.from_bit}+{piece.bits}@{piece.word}.{piece.at_bit}"
            for piece in self._pieces
        )

    def pack(self, values: Mapping[str, Column]) -> list[Column]:
        """The words of these values; a bit field without a value is 0. A word with a null in it is null."""
        words: list[list[Column]] = [[] for _ in range(self.words)]
        for piece in self._pieces:
            if piece.field.name in values:
                words[piece.word].append(piece.placed(values[piece.field.name]))
        return [reduce(Column.bitwiseOR, word) if word else long(0) for word in words]

    def unpack(self, words: Sequence[Column], name: str) -> Column:
        pieces = [piece for piece in self._pieces if piece.field.name == name]
        if pieces[0].bits == pieces[0].field.bits:  # the one on top is in every word
            pieces = pieces[:1]
        value = reduce(Column.bitwiseOR, (piece.taken(words[piece.word]) for piece in pieces))
        bias = pieces[0].field.bias
        return value - long(bias) if bias else value


def _whole(fields: Sequence[BitField], first: int, capacity: int) -> list[_Piece] | None:
    """First fit, the widest first, none cut. None if one does not fit in a word."""
    free = [first, *(capacity for _ in fields)]
    pieces = []
    for field in sorted(fields, key=lambda field: -field.bits):
        if field.bits > capacity:
            return None
        word = next(i for i, bits in enumerate(free) if bits >= field.bits)
        free[word] -= field.bits
        pieces.append(_Piece(field, word, free[word], 0, field.bits))
    return pieces


def _cut(fields: Sequence[BitField], first: int, capacity: int) -> list[_Piece]:
    """Every word filled before the next, bit fields cut where it ends."""
    pieces = []
    word, free = 0, first
    for field in fields:
        left = field.bits
        while left:
            if not free:
                word, free = word + 1, capacity
            bits = min(left, free)
            left, free = left - bits, free - bits
            pieces.append(_Piece(field, word, free, left, bits))
    return pieces


def _words(pieces: Sequence[_Piece]) -> int:
    return 1 + max((piece.word for piece in pieces), default=0)
