"""Faults as part of a workload: what is done to which process, and when; and what of the system is to survive it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from market_spread.common.schema import choice, number

STOP, KILL, RESTART = _OF_PROCESSES = ("stop", "kill", "restart")
LINK, PARTITION, LOSE_ACKS = OF_LINKS = ("link", "partition", "lose_acks")
JOB, BROKER, RECEIVER = TARGETS = ("job", "broker", "receiver")
CLIENTS = ("sender", JOB, RECEIVER)  # of the broker; each has a link of its own to it
# Of a fault's keys those that say more of it, and whose they are.
_ONLY_OF = {
    "delay_ms": LINK, "jitter_ms": LINK, "bytes_per_s": LINK, "reset_share": LINK, "share": LOSE_ACKS,
}  # fmt: skip
_AT_S_MAX, _LASTS_S_MAX = 1_000_000, 3600
# Of the time between two random faults, how late the next may begin, and how long one lasts at most.
_JITTER_SHARE, _LASTS_SHARE_MAX = 0.3, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A planned fault. After `for_s` what it stopped goes on, and what it ended is started again."""

    at_s: Annotated[float, number(0, _AT_S_MAX, "When it begins, after the begin of the measured load.")]
    do: Annotated[
        str,
        choice(
            (*_OF_PROCESSES, *OF_LINKS),
            f"`{STOP}` suspends the processes (SIGSTOP) and lets them go on (SIGCONT), `{KILL}` ends them at once "
            f"(SIGKILL), `{RESTART}` asks them to end (SIGTERM); what was ended is started again as it was. `{LINK}` "
            f"makes connections to the broker slow or unsteady, `{PARTITION}` lets nothing through, `{LOSE_ACKS}` "
            "resets them where the broker has written records and says so.",
        ),
    ]
    target: Annotated[str | None, choice(TARGETS, "Whose processes; of several drivers, the oldest one's.")] = None
    between: Annotated[
        tuple[Annotated[str, choice((*CLIENTS, BROKER), "An end.")], ...],
        Field(description=f"The link's ends: one of {', '.join(CLIENTS)}, then {BROKER}, as `[job, {BROKER}]`."),
    ] = ()
    for_s: Annotated[float, number(0, _LASTS_S_MAX, "How long it is suspended or down, or the link disturbed.")] = 0.0
    delay_ms: Annotated[float, number(0, 60_000, f"`{LINK}`: What each way takes longer.")] = 0.0
    jitter_ms: Annotated[float, number(0, 60_000, f"`{LINK}`: At most so much more, drawn; the order stays.")] = 0.0
    bytes_per_s: Annotated[float | None, number(1, 1e12, f"`{LINK}`: What goes through each way.")] = None
    reset_share: Annotated[
        float, number(0, 1, f"`{LINK}`: Of the requests, at how many the connection is reset; they do not arrive.")
    ] = 0.0
    share: Annotated[float, number(0, 1, f"`{LOSE_ACKS}`: How many of the acknowledgements are lost.")] = 0.0

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        given = [key for key in _ONLY_OF if getattr(self, key)]
        if foreign := [f"{key} is of {_ONLY_OF[key]}; leave it out" for key in given if _ONLY_OF[key] != self.do]:
            raise ValueError("\n".join(foreign))
        if self.do not in OF_LINKS and (self.target is None or self.between):
            raise ValueError(f"target is missing; a {self.do} is of a process, so name one, and no link")
        if self.do in OF_LINKS:
            clients = CLIENTS[:2] if self.do == LOSE_ACKS else CLIENTS  # the receiver writes no records
            if self.target or self.between not in {(client, BROKER) for client in clients}:
                raise ValueError(f"between={list(self.between)}; name one of {', '.join(clients)}, then {BROKER}")
            if (keys := [key for key, do in _ONLY_OF.items() if do == self.do]) and not given:
                raise ValueError(f"{', '.join(keys)}; say what becomes of the link by one of them")
        if self.do not in (KILL, RESTART) and not self.for_s:
            raise ValueError(f"for_s is missing; say how long the {self.do} lasts")
        return self

    @property
    def meets(self) -> tuple[str, ...]:
        """Whom it disturbs: its target, or both ends of its link. There is one fault at a time of each."""
        return self.between or (self.target or "",)

    @property
    def text(self) -> str:
        """It, for people: `stop of the job for 5 s`."""
        given = ", ".join(f"{key} {getattr(self, key):g}" for key in _ONLY_OF if getattr(self, key))
        of = f"of the {self.target}" if self.target else f"between {' and '.join(self.between)}"
        return f"{self.do}{given and f' ({given})'} {of}{f' for {self.for_s:g} s' if self.for_s else ''}"


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """A fault as it was carried out. Unix nanoseconds; the end is when what it ended could be started again."""

    fault: Fault
    began_unix_ns: int
    ended_unix_ns: int
    resets: int = 0  # of connections; each of `lose_acks` is an acknowledgement that was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFaults:
    """Faults drawn by the seed, about evenly apart."""

    per_minute: Annotated[float, number(0.01, 60, "How many a minute.")]
    of: Annotated[
        tuple[Annotated[str, choice(_OF_PROCESSES, "A kind of fault.")], ...],
        Field(description="Which kinds are drawn, as `[kill, stop]`.", min_length=1),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKeys:
    """What goes wrong on purpose while the load is measured."""

    seed: Annotated[int, number(0, 2**63 - 1, "The same seed draws the same faults.")] = 1
    recovers_within_s: Annotated[
        float,
        number(0.1, _LASTS_S_MAX, "Objective: an order due after a fault's end is answered in time again within this."),
    ]
    loses: Annotated[int, number(0, 2**53, "Objective: messages that may have no output.")] = 0
    schedule: Annotated[tuple[Fault, ...], Field(description="Faults at their times.")] = ()
    random: RandomFaults | None = None

    def planned(self, load_s: float, without: Mapping[str, str]) -> tuple[Fault, ...]:
        """All faults of a load of this length, by their begin; without: targets that random ones leave alone."""
        if self.random is None:
            return tuple(sorted(self.schedule, key=lambda fault: fault.at_s))
        drawn, count = np.random.default_rng(self.seed), self._count(load_s)
        apart_s = (load_s - self.recovers_within_s) / max(count, 1)
        targets, faults = [each for each in TARGETS if each not in without], []
        for slot in range(count):
            at_s, do = apart_s * (slot + 0.2 + _JITTER_SHARE * drawn.random()), str(drawn.choice(self.random.of))
            lasts_s = max(0.1, round(min(5.0, _LASTS_SHARE_MAX * apart_s) * drawn.random(), 1))
            faults.append(Fault(at_s=round(at_s, 1), do=do, target=str(drawn.choice(targets)), for_s=lasts_s))
        return tuple(faults)

    def wrong(self, load_s: float, without: Mapping[str, str]) -> list[str]:
        """A sentence for each fault that a load of this length has no room for, or that another one overlaps.

        without: targets that cannot be had, and why.
        """
        if (self.random is None) == (not self.schedule):
            return ["schedule, random; give exactly one of them"]
        if self.random is not None:
            few = f"random.per_minute={self.random.per_minute:g}; use more, as none comes in {load_s:g} s"
            return [] if self._count(load_s) else [few]
        found, busy_until_s = list[str](), dict[tuple[str, ...], tuple[float, str]]()
        for at, fault in sorted(enumerate(self.schedule), key=lambda each: each[1].at_s):
            key, end_s = f"schedule[{at}]", fault.at_s + fault.for_s
            at_key = f"between={list(fault.between)}" if fault.between else f"target={fault.target!r}"
            found += [f"{key}.{at_key}; {without[met]}" for met in fault.meets if met in without]
            if end_s > (latest_s := load_s - self.recovers_within_s):
                end = f"recovers_within_s before the load does, by {latest_s:g} s" if latest_s > 0 else "have more load"
                found.append(f"{key}.at_s={fault.at_s:g}; let it end {end}")
            until_s, other = busy_until_s.get(fault.meets, (-1.0, ""))
            if fault.at_s <= until_s:
                found.append(f"{key}.at_s={fault.at_s:g}; begin after {until_s:g} s, when {other} is over")
            busy_until_s[fault.meets] = max((until_s, other), (end_s, key))
        return found

    def _count(self, load_s: float) -> int:
        """How many random faults a load has room for: after each it may recover."""
        assert self.random is not None
        return max(0, int((load_s - self.recovers_within_s) * self.random.per_minute / 60))
