"""Several integers in few longs: state and shuffle cost by the column, so rows carry few, well-filled ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

_USABLE_BITS = 63  # the sign stays clear, so that words compare as their highest part does


@dataclass(frozen=True, slots=True)
class Part:
    """An integer: `bits` wide, stored plus `bias`, so that it may be negative down to -bias."""

    name: str
    bits: int
    bias: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bits of a part: `bits` of them, from `from_bit` of its value on, at `at_bit` of the word."""

    part: Part
    word: int
    at_bit: int
    from_bit: int
    bits: int

    @property
    def whole(self) -> bool:
        return self.bits == self.part.bits


class Packing:
    """Where parts stand in words (longs). Values outside a part's range must not be packed."""

    def __init__(self, parts: Sequence[Part], *, head: Part | None = None, on_top: Part | None = None) -> None:
        """Parts stay whole if that takes no more words than cutting them would; a cut part costs more to unpack.

        head: a part that stands highest in the first word, so that packings which share their words are told apart;
        on_top: a part that stands highest in every word, so that words compare as it does.
        """
        capacity = _USABLE_BITS - (on_top.bits if on_top else 0)
        first = capacity - (head.bits if head else 0)
        pieces = _whole(parts, first, capacity)
        cut = _cut(parts, first, capacity)
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
        """Where each part stands, as text: words of another form cannot be unpacked."""
        return " ".join(
            f"{piece.part.name}{piece.part.bias:+d}/{piece.from_bit}+{piece.bits}@{piece.word}.{piece.at_bit}"
            for piece in self._pieces
        )

    def pack(self, values: Mapping[str, Column]) -> list[Column]:
        """The words of these values; a part that is not given is 0. A word with a null in it is null."""
        words: list[list[Column]] = [[] for _ in range(self.words)]
        for piece in self._pieces:
            if piece.part.name in values:
                words[piece.word].append(_placed(piece, values[piece.part.name]))
        return [reduce(Column.bitwiseOR, word) if word else _long(0) for word in words]

    def unpack(self, words: Sequence[Column], name: str) -> Column:
        """A part of the words."""
        pieces = [piece for piece in self._pieces if piece.part.name == name]
        if pieces[0].whole:  # one that stands on top stands in every word
            pieces = pieces[:1]
        value = reduce(Column.bitwiseOR, (_taken(piece, words[piece.word]) for piece in pieces))
        bias = pieces[0].part.bias
        return value - _long(bias) if bias else value


def _whole(parts: Sequence[Part], first: int, capacity: int) -> list[_Piece] | None:
    """First fit, the widest first, no part cut. None if one does not fit in a word."""
    free = [first]
    pieces = []
    for part in sorted(parts, key=lambda part: -part.bits):
        if part.bits > capacity:
            return None
        word = next((i for i, bits in enumerate(free) if bits >= part.bits), len(free))
        if word == len(free):
            free.append(capacity)
        free[word] -= part.bits
        pieces.append(_Piece(part, word, free[word], 0, part.bits))
    return pieces


def _cut(parts: Sequence[Part], first: int, capacity: int) -> list[_Piece]:
    """Every word full before the next is begun, parts cut where it ends."""
    pieces = []
    word, free = 0, first
    for part in parts:
        left = part.bits
        while left:
            if not free:
                word, free = word + 1, capacity
            bits = min(left, free)
            left, free = left - bits, free - bits
            pieces.append(_Piece(part, word, free, left, bits))
    return pieces


def _words(pieces: Sequence[_Piece]) -> int:
    return 1 + max((piece.word for piece in pieces), default=0)


def _placed(piece: _Piece, value: Column) -> Column:
    bits = value + _long(piece.part.bias) if piece.part.bias else value.cast("bigint")
    if piece.from_bit:
        bits = F.shiftright(bits, piece.from_bit)
    if piece.from_bit + piece.bits < piece.part.bits:
        bits = bits.bitwiseAND(_long(2**piece.bits - 1))
    return F.shiftleft(bits, piece.at_bit) if piece.at_bit else bits


def _taken(piece: _Piece, word: Column) -> Column:
    bits = (F.shiftright(word, piece.at_bit) if piece.at_bit else word).bitwiseAND(_long(2**piece.bits - 1))
    return F.shiftleft(bits, piece.from_bit) if piece.from_bit else bits


def _long(value: int) -> Column:
    return F.lit(value).cast("bigint")
