"""What a setting's file should hold: how it is written, when what is found there is right, and how both are shown.

Sets of CPUs have the two forms in which the kernel writes them: lists (`0,9-11`) and masks (`00000e01`).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from market_spread.common.processes import format_cpus

Cpus = frozenset[int]

CPU_MAX = 4095
_WORD_BITS = 32
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})*|[0-9a-f]+")
# A file that offers words and marks the one in force: `always [madvise] never`.
_CHOICES = re.compile(r"[^\[\]]*\[([^\[\]\s]+)\][^\[\]]*")


def parse_list(text: str) -> Cpus:
    """The CPUs of a list; an empty text is the empty set. ValueError if it is not a list."""
    if not text.strip():
        return frozenset()
    if not _LIST.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a list of CPUs")
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not begin <= end <= CPU_MAX:
            raise ValueError(f"{part!r} is not a range of CPUs up to {CPU_MAX}")
        cpus.update(range(begin, end + 1))
    return frozenset(cpus)


def parse_mask(text: str) -> Cpus:
    """The CPUs of a mask in hexadecimal words of 32. ValueError if it is not a mask."""
    if not _MASK.fullmatch(text.strip().lower()):
        raise ValueError(f"{text!r} is not a mask of CPUs")
    mask = int(text.strip().replace(",", ""), 16)
    return frozenset(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def format_mask(cpus: Iterable[int]) -> str:
    """The mask, in as many words as it needs."""
    mask = sum(1 << cpu for cpu in set(cpus))
    words = [mask >> shift & 0xFFFFFFFF for shift in range(0, max(mask.bit_length(), 1), _WORD_BITS)]
    return ",".join(f"{word:08x}" if place else f"{word:x}" for place, word in enumerate(reversed(words)))


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
        try:
            return self.is_right(found)
        except ValueError:
            return False

    def shown(self, found: str) -> str:
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
    return Value(format_mask(cpus), lambda mask: parse_mask(mask) == cpus, lambda mask: format_cpus(parse_mask(mask)))


def in_force(found: str) -> str:
    """What a file says in one word: the marked one if it offers several, else all of it."""
    match = _CHOICES.fullmatch(found)
    return match.group(1) if match else found.strip()


def to_restore(original: str) -> str:
    """What must be written into a file so that it reads as it did."""
    match = _CHOICES.fullmatch(original)
    return f"{match.group(1)}\n" if match else original
