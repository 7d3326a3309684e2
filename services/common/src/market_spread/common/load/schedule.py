"""Intended send times for an open-loop load: which message is due when, known before the first one is sent.

Message number i of a profile has an offset from the start in whole nanoseconds. Offsets ascend strictly, and `due` is
their exact inverse. Nothing here knows of a clock, so nothing can slow the schedule down.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from market_spread.common.schema import number
from market_spread.common.wire.codec import Int64s

NS_PER_S = 1_000_000_000
RATE_PER_S_MAX = 10_000_000
DURATION_S_MIN, DURATION_S_MAX = 0.001, 7 * 24 * 3600


def _rate(meaning: str, name: str) -> Any:
    return number(0, RATE_PER_S_MAX, meaning, name=name)


def _seconds(meaning: str) -> Any:
    return number(DURATION_S_MIN, DURATION_S_MAX, meaning)


class Profile(ABC):
    """A rate over time, and the messages that it calls for. duration_s: how long it is, unless it adds that up."""

    __slots__ = ()
    duration_s: float

    @property
    def duration_ns(self) -> int:
        """Length of the profile; every offset is below it."""
        return round(self.duration_s * NS_PER_S)

    @property
    @abstractmethod
    def highest_per_s(self) -> int:
        """The highest rate in it, messages a second."""

    @abstractmethod
    def due(self, offset_ns: int) -> int:
        """How many messages have an offset below the given one; 0 before the start, `total()` after the end."""

    @abstractmethod
    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        """Offsets of the messages with these numbers, each from 0 to below total()."""

    def total(self) -> int:
        return self.due(self.duration_ns)

    def offsets_ns(self, first: int, count: int) -> Int64s:
        """Offsets of the messages first to first + count - 1. ValueError if there are no such messages."""
        if not 0 <= first <= first + count <= self.total():
            raise ValueError(f"messages {first} to {first + count - 1} are not in 0 to {self.total() - 1}")
        return self._offsets_ns(np.arange(first, first + count, dtype=np.int64))

    def _within_ns(self, offset_ns: int) -> int:
        return min(max(0, offset_ns), self.duration_ns)


@dataclass(frozen=True, slots=True)
class Constant(Profile):
    """One rate. Message i is due i / rate after the start, rounded down. A rate of 0 is a pause."""

    profile: Literal["constant"] = field(default="constant", kw_only=True)
    rate_per_s: Annotated[int, _rate("Messages a second; 0 in a step is a pause.", "messages_per_s")]
    duration_s: Annotated[float, _seconds("Length.")]

    @staticmethod
    def of_messages(count: int, *, rate_per_s: int) -> "Constant":
        return Constant(rate_per_s, count * NS_PER_S // rate_per_s / NS_PER_S)

    @property
    def highest_per_s(self) -> int:
        return self.rate_per_s

    def due(self, offset_ns: int) -> int:
        return -(-self._within_ns(offset_ns) * self.rate_per_s // NS_PER_S)

    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        return _evenly_ns(numbers, np.int64(self.rate_per_s))


@dataclass(frozen=True, slots=True)
class Steps(Profile):
    """Constant rates, one after the other; each begins its count of time anew."""

    profile: Literal["steps"] = field(default="steps", kw_only=True)
    steps: Annotated[tuple[Constant, ...], Field(min_length=1)]

    @property
    def duration_ns(self) -> int:
        return sum(step.duration_ns for step in self.steps)

    @property
    def highest_per_s(self) -> int:
        return max(step.rate_per_s for step in self.steps)

    def due(self, offset_ns: int) -> int:
        return sum(step.due(offset_ns - begin_ns) for step, begin_ns in zip(self.steps, self._begins_ns(), strict=True))

    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        firsts = np.array([0, *accumulate(step.total() for step in self.steps)][:-1], np.int64)
        step = np.searchsorted(firsts, numbers, side="right") - 1
        rates_per_s = np.array([step.rate_per_s for step in self.steps], np.int64)
        begins_ns = np.array(self._begins_ns(), np.int64)
        return begins_ns[step] + _evenly_ns(numbers - firsts[step], rates_per_s[step])

    def _begins_ns(self) -> list[int]:
        return [0, *accumulate(step.duration_ns for step in self.steps)][:-1]


@dataclass(frozen=True, slots=True)
class Ramp(Profile):
    """A rate that changes linearly. Its calls are the integral of the rate, `a t + (b - a) t^2 / 2 T` messages by t."""

    profile: Literal["ramp"] = field(default="ramp", kw_only=True)
    from_per_s: Annotated[int, _rate("Rate at the start.", "from_messages_per_s")]
    to_per_s: Annotated[int, _rate("Rate at the end.", "to_messages_per_s")]
    duration_s: Annotated[float, _seconds("Length.")]

    @property
    def highest_per_s(self) -> int:
        return max(self.from_per_s, self.to_per_s)

    def total(self) -> int:
        return -(-(self.from_per_s + self.to_per_s) * self.duration_ns // (2 * NS_PER_S))

    def due(self, offset_ns: int) -> int:
        if offset_ns >= self.duration_ns:
            return self.total()
        return bisect_left(
            range(self.total()), offset_ns, key=lambda number: int(self._offsets_ns(np.array([number], np.int64))[0])
        )

    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        # The root of the integral in the form that does not cancel: its error is far below the distance of messages.
        twice = 2.0 * numbers
        per_s2 = (self.to_per_s - self.from_per_s) / (self.duration_ns / NS_PER_S)
        root_per_s = np.sqrt(np.maximum(0.0, float(self.from_per_s) ** 2 + per_s2 * twice))
        offsets_s = np.divide(twice, self.from_per_s + root_per_s, out=np.zeros_like(twice), where=numbers > 0)
        offsets_ns: Int64s = np.minimum((offsets_s * NS_PER_S).astype(np.int64), self.duration_ns - 1)
        return offsets_ns


@dataclass(frozen=True, slots=True)
class Burst(Profile):
    """A base rate, and a burst at the end of every period."""

    profile: Literal["burst"] = field(default="burst", kw_only=True)
    base_per_s: Annotated[int, _rate("Rate between bursts.", "messages_per_s")]
    burst_per_s: Annotated[int, _rate("Rate in a burst.", "burst_messages_per_s")]
    period_s: Annotated[float, _seconds("From one burst's end to the next one's.")]
    burst_s: Annotated[float, _seconds("Length of a burst, less than the period.")]
    duration_s: Annotated[float, _seconds("Length of the load.")]

    @model_validator(mode="after")
    def _leaves_time_between(self) -> Self:
        if self.burst_s >= self.period_s:
            raise ValueError(f"burst_s={self.burst_s:g}; use less than period_s={self.period_s:g}")
        return self

    @property
    def highest_per_s(self) -> int:
        return max(self.base_per_s, self.burst_per_s)

    def due(self, offset_ns: int) -> int:
        period = self._period()
        periods, rest_ns = divmod(self._within_ns(offset_ns), period.duration_ns)
        return periods * period.total() + period.due(rest_ns)

    def _offsets_ns(self, numbers: Int64s) -> Int64s:
        period = self._period()
        periods, rest = np.divmod(numbers, period.total())
        return periods * period.duration_ns + period._offsets_ns(rest)

    def _period(self) -> Steps:
        base = Constant(self.base_per_s, self.period_s - self.burst_s)
        return Steps((base, Constant(self.burst_per_s, self.burst_s)))


_Kind = Constant | Steps | Ramp | Burst


def calls_for_messages(profile: _Kind) -> _Kind:
    """The profile. ValueError if it calls for none."""
    if not profile.total():
        only = f"messages_per_s=0; use a whole number from 1 to {RATE_PER_S_MAX}"
        raise ValueError(only if isinstance(profile, Constant) else f"profile={profile.profile!r}; give a rate above 0")
    return profile


# What a schema reads: `profile` says which one it is. Rates are whole numbers; seconds may have a fraction.
AnyProfile = Annotated[
    _Kind,
    Field(discriminator="profile", description="The rate over time, quotes and orders together."),
    AfterValidator(calls_for_messages),
]


def _evenly_ns(numbers: Int64s, rate_per_s: np.int64 | Int64s) -> Int64s:
    # Whole seconds apart, so that the product stays within 64 bits for any number of messages.
    seconds: Int64s = numbers // rate_per_s
    fractions_ns: Int64s = (numbers - seconds * rate_per_s) * NS_PER_S // rate_per_s
    return seconds * NS_PER_S + fractions_ns
