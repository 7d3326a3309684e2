"""What a setting's file should hold: how it is written, when what is found there is right, and how both are shown."""

import re
from dataclasses import dataclass
from typing import Protocol

from market_spread.host_tuner.cpus import Cpus, format_list, format_mask, parse_list, parse_mask

# A file that offers words and marks the one in force: `always [madvise] never`.
_CHOICES = re.compile(r"[^\[\]]*\[([^\[\]\s]+)\][^\[\]]*")


class Value(Protocol):
    """A wanted value."""

    @property
    def written(self) -> str:
        """What is written to bring it about, without a newline."""

    def accepts(self, found: str) -> bool:
        """Whether the text of the file is right."""

    def shown(self, found: str) -> str:
        """What the file says, for people."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """This text, whatever blanks are around it."""

    text: str

    @property
    def written(self) -> str:
        return self.text

    def accepts(self, found: str) -> bool:
        return found.split() == self.text.split()

    def shown(self, found: str) -> str:
        return found.strip()


@dataclass(frozen=True, slots=True)
class AtMost:
    """A whole number up to this one."""

    number: int

    @property
    def written(self) -> str:
        return str(self.number)

    def accepts(self, found: str) -> bool:
        try:
            return int(found) <= self.number
        except ValueError:
            return False

    def shown(self, found: str) -> str:
        return found.strip()


@dataclass(frozen=True, slots=True)
class Chosen:
    """This word of those that the file offers."""

    word: str

    @property
    def written(self) -> str:
        return self.word

    def accepts(self, found: str) -> bool:
        return in_force(found) == self.word

    def shown(self, found: str) -> str:
        return in_force(found)


@dataclass(frozen=True, slots=True)
class CpuList:
    """These CPUs, as a list."""

    cpus: Cpus

    @property
    def written(self) -> str:
        return format_list(self.cpus)

    def accepts(self, found: str) -> bool:
        try:
            return parse_list(found) == self.cpus
        except ValueError:
            return False

    def shown(self, found: str) -> str:
        return found.strip()


@dataclass(frozen=True, slots=True)
class CpuMask:
    """These CPUs, as a mask."""

    cpus: Cpus

    @property
    def written(self) -> str:
        return format_mask(self.cpus)

    def accepts(self, found: str) -> bool:
        try:
            return parse_mask(found) == self.cpus
        except ValueError:
            return False

    def shown(self, found: str) -> str:
        try:
            return format_list(parse_mask(found))
        except ValueError:
            return found.strip()


def in_force(found: str) -> str:
    """What a file says in one word: the marked one if it offers several, else all of it."""
    match = _CHOICES.fullmatch(found)
    return match.group(1) if match else found.strip()


def to_restore(original: str) -> str:
    """What must be written into a file so that it reads as it did."""
    match = _CHOICES.fullmatch(original)
    return f"{match.group(1)}\n" if match else original
