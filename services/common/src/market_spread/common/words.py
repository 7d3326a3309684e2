"""Numbers with their nouns, and rows of words in columns."""

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """`1 run`, `2,000 runs`: the noun in the singular is given."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each of the rows (at least one), whose cells stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
