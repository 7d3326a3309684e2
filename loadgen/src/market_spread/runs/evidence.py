"""Verdicts with their evidence: what was looked at, what was found, what would have been allowed."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was looked at. holds: None if there was nothing to look at; text: a sentence for people."""

    check: str
    holds: bool | None
    text: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Assessment:
    """A verdict and all its evidence. holds: False if anything fails, None if nothing could be said."""

    evidence: tuple[Evidence, ...] = ()
    known: bool = True

    @property
    def holds(self) -> bool | None:
        """Whether it does."""
        if any(each.holds is False for each in self.evidence):
            return False
        return True if self.known and any(each.holds for each in self.evidence) else None

    @property
    def failing(self) -> tuple[Evidence, ...]:
        """What does not hold."""
        return tuple(each for each in self.evidence if each.holds is False)

    def to_mapping(self) -> dict[str, Any]:
        """For the result."""
        return {"holds": self.holds, "evidence": [asdict(each) for each in self.evidence]}

    @staticmethod
    def from_mapping(values: Mapping[str, Any]) -> "Assessment":
        """What `to_mapping` made."""
        return Assessment(tuple(Evidence(**each) for each in values["evidence"]), values["holds"] is not None)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The three verdicts of a run."""

    correct: Assessment = Assessment()
    valid: Assessment = Assessment()
    objectives: Assessment = Assessment()

    def to_mapping(self) -> dict[str, Any]:
        """For the result."""
        return {name: getattr(self, name).to_mapping() for name in ("correct", "valid", "objectives")}


def at_most(check: str, value: float | None, limit: float, *, unit: str, text: str) -> Evidence:
    """Evidence that a value is not above its limit; None is a value that there is not."""
    return Evidence(check, None if value is None else value <= limit, text, value, limit, unit)


def sentences(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Their texts."""
    return tuple(each.text for each in evidence)
