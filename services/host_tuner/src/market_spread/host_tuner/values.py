"""What a setting's file should hold, when what is found there is right, and how it is told: to people, on the node.

Sets of CPUs have the two forms in which the kernel writes them: lists (`0,9-11`) and masks (`00000e01`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from market_spread.common.processes import format_cpus
from market_spread.common.words import in_columns

Cpus = frozenset[int]

CPU_MAX = 4095
_WORD_BITS = 32
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})*|[0-9a-f]+")
# A file that offers words and marks the one in force: `always [madvise] never`.
_CHOICES = re.compile(r"[^\[\]]*\[([^\[\]\s]+)\][^\[\]]*")

APPLIED, AT_LAUNCH, BY_KUBELET = "by the tuner", "at launch", "by the kubelet"

# A condition's message is read by people, on one line; the report has everything.
_MESSAGE_CHARACTERS_MAX = 1000


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


@dataclass(frozen=True, slots=True)
class SettingOutcome:
    """A setting as it was found. how: who sets it; errors: what went wrong, a sentence each."""

    setting: str
    wanted: str
    found: str
    how: str
    ok: bool
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """One look at the whole host. exclusive: containers, as namespace/pod/container, and the CPUs that they have."""

    outcomes: tuple[SettingOutcome, ...]
    exclusive: Mapping[str, Cpus] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return all(outcome.ok for outcome in self.outcomes)

    def message(self) -> str:
        """What is wrong, in a line."""
        if self.ok:
            return f"all {len(self.outcomes)} settings are as wanted"
        wrong = (outcome for outcome in self.outcomes if not outcome.ok)
        text = "; ".join(f"{outcome.setting}: wanted {outcome.wanted}, found {outcome.found}" for outcome in wrong)
        return text if len(text) <= _MESSAGE_CHARACTERS_MAX else f"{text[: _MESSAGE_CHARACTERS_MAX - 1]}…"

    def to_mapping(self) -> dict[str, object]:
        """The short report that the node is annotated with; it changes only when the host does."""
        return {
            "ok": self.ok,
            "wrong": {outcome.setting: outcome.found for outcome in self.outcomes if not outcome.ok},
            "exclusive": {name: format_cpus(cpus) for name, cpus in sorted(self.exclusive.items())},
        }

    def table(self) -> str:
        rows = [(each.setting, each.wanted, each.found, each.how, "yes" if each.ok else "NO") for each in self.outcomes]
        lines = in_columns([("setting", "wanted", "found", "set", "ok"), *rows])
        lines += [f"{outcome.setting}: {error}" for outcome in self.outcomes for error in outcome.errors]
        lines += [f"exclusive: {name} has {format_cpus(cpus)}" for name, cpus in sorted(self.exclusive.items())]
        wrong = sum(not outcome.ok for outcome in self.outcomes)
        lines.append(f"{wrong} of {len(rows)} settings are not as wanted" if wrong else self.message())
        return "\n".join(lines)


def shown_together(values: Iterable[tuple[str, str]]) -> str:
    """What several files say, by their labels: `2 on 15, 0 on cpu3`, the most frequent first."""
    labels: dict[str, list[str]] = {}
    for label, value in values:
        labels.setdefault(value, []).append(label)
    groups = sorted(labels.items(), key=lambda group: -len(group[1]))
    if len(groups) <= 1:
        return "".join(value for value, _ in groups)
    few = {value: " ".join(names) if len(names) <= 3 else str(len(names)) for value, names in groups}
    return ", ".join(f"{value} on {names}" for value, names in few.items())
