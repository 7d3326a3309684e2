"""Sets of CPUs in the two forms that the kernel writes them: lists (`0,9-11`) and masks (`00000e01`)."""

import re
from collections.abc import Iterable

Cpus = frozenset[int]

CPU_MAX = 4095
_WORD_BITS = 32
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})*|[0-9a-f]+")


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
