"""What a setting's file should hold: how it is written, when what is found there is right, and how both are shown."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from market_spread.common.processes import format_cpus
from market_spread.host_tuner.cpus import Cpus, format_mask, parse_list, parse_mask

# A file that offers words and marks the one in force: `always [madvise] never`.
_CHOICES = re.compile(r"[^\[\]]*\[([^\[\]\s]+)\][^\[\]]*")


@dataclass(frozen=True, slots=True)
class Value:
    """A wanted value. written: what is written to bring it about, without a newline.

    is_right, show: whether the text of the file is right, and what it says, for people; ValueError if the text cannot
    be such a value.
    """

    written: str
    is_right: Callable[[str], bool]
    show: Callable[[str], str] = str.strip

    def accepts(self, found: str) -> bool:
        """Whether the text of the file is right."""
        try:
            return self.is_right(found)
        except ValueError:
            return False

    def shown(self, found: str) -> str:
        """What the file says, for people."""
        try:
            return self.show(found)
        except ValueError:
            return found.strip()


def exactly(text: str) -> Value:
    """This text, whatever blanks are around it."""
    return Value(text, lambda found: found.split() == text.split())


def at_most(number: int) -> Value:
    """A whole number up to this one."""
    return Value(str(number), lambda found: int(found) <= number)


def chosen(word: str) -> Value:
    """This word of those that the file offers."""
    return Value(word, lambda found: in_force(found) == word, in_force)


def cpu_list(cpus: Cpus) -> Value:
    """These CPUs, as a list."""
    return Value(format_cpus(cpus), lambda found: parse_list(found) == cpus)


def cpu_mask(cpus: Cpus) -> Value:
    """These CPUs, as a mask."""
    return Value(
        format_mask(cpus), lambda found: parse_mask(found) == cpus, lambda found: format_cpus(parse_mask(found))
    )


def in_force(found: str) -> str:
    """What a file says in one word: the marked one if it offers several, else all of it."""
    match = _CHOICES.fullmatch(found)
    return match.group(1) if match else found.strip()


def to_restore(original: str) -> str:
    """What must be written into a file so that it reads as it did."""
    match = _CHOICES.fullmatch(original)
    return f"{match.group(1)}\n" if match else original
