"""A page as data: sentences, tables and pictures, in the order in which they are shown."""

from dataclasses import dataclass

# Words that mean good or bad news wherever they are a whole cell or a headline's verdict.
TONES = {
    "better": "good",
    "held": "good",
    "confirmed": "good",
    "worse": "bad",
    "broken": "bad",
    "undecided": "unsure",
    "void": "unsure",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first text_columns columns are text and stand to the left, the others are numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


@dataclass(frozen=True, slots=True)
class Sentences:
    """Things said, each by itself."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as SVG, and what it shows in words."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page. verdict: one word, with which its headline begins; empty for none."""

    verdict: str
    headline: str
    parts: tuple[Table | Sentences | Picture, ...]
