"""What a setting's file should hold: how it is written, when what is found there is right, and how both are shown."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from market_spread.host_tuner.cpus import Cpus, format_list, format_mask, parse_list, parse_mask

# A file that offers words and marks the one in force: `always [madvise] never`.
_CHOICES = re.compile(r"[^\[\]]*\[([^\[\]\s]+)\][^\[\]]*")


class Value(ABC):
    """A wanted value."""

    __slots__ = ()

    @property
    @abstractmethod
    def written(self) -> str:
        """What is written to bring it about, without a newline."""

    @abstractmethod
    def _is_right(self, found: str) -> bool:
        """Whether the text of the file is right. ValueError if it is no such thing."""

    def accepts(self, found: str) -> bool:
        """Whether the text of the file is right."""
        try:
            return self._is_right(found)
        except ValueError:
            return False

    def shown(self, found: str) -> str:
        """What the file says, for people."""
        return found.strip()


@dataclass(frozen=True, slots=True)
class Exactly(Value):
    """This text, whatever blanks are around it."""

    text: str

    @property
    def written(self) -> str:
        return self.text

    def _is_right(self, found: str) -> bool:
        return found.split() == self.text.split()


@dataclass(frozen=True, slots=True)
class AtMost(Value):
    """A whole number up to this one."""

    number: int

    @property
    def written(self) -> str:
        return str(self.number)

    def _is_right(self, found: str) -> bool:
        return int(found) <= self.number


@dataclass(frozen=True, slots=True)
class Chosen(Value):
    """This word of those that the file offers."""

    word: str

    @property
    def written(self) -> str:
        return self.word

    def _is_right(self, found: str) -> bool:
        return in_force(found) == self.word

    def shown(self, found: str) -> str:
        return in_force(found)


@dataclass(frozen=True, slots=True)
class CpuList(Value):
    """These CPUs, as a list."""

    cpus: Cpus

    @property
    def written(self) -> str:
        return format_list(self.cpus)

    def _is_right(self, found: str) -> bool:
        return parse_list(found) == self.cpus


@dataclass(frozen=True, slots=True)
class CpuMask(Value):
    """These CPUs, as a mask."""

    cpus: Cpus

    @property
    def written(self) -> str:
        return format_mask(self.cpus)

    def _is_right(self, found: str) -> bool:
        return parse_mask(found) == self.cpus

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
