"""CPU time a message, from looks at which time and messages were read for the same moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_LOOKS_MAX = 120


@dataclass(frozen=True, slots=True)
class CpuReading:
    """What was used and done by a moment of the measured load.

    unix_ns: the job's clock when messages_processed changed, for which job_cpu_us holds; what others have used was read
    within a poll after it, None where it cannot be told. restarts: of the job so far.
    """

    unix_ns: int
    messages_processed: int
    messages_sent: int
    job_cpu_us: int
    executors_cpu_us: int | None
    broker_cpu_us: int | None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class CpuPerMessage:
    """CPU time a message, microseconds, from the first look to the last, and from the middle one on.

    broker_us: of the broker, a message sent; None if it cannot be told. unknown: why there is no figure of the job.
    """

    whole_us: float | None = None
    second_half_us: float | None = None
    broker_us: float | None = None
    unknown: str = ""


def interval_ns(judged_ns: int) -> int:
    """How far looks are to be apart at least, so that there are not more than some hundred."""
    return judged_ns // _LOOKS_MAX


def cpu_per_message(looks: Sequence[CpuReading]) -> CpuPerMessage:
    """CPU time a message of the judged part of a load, of which the looks are, in order of time.

    The middle look is the one nearest to half of the time. Not known with less than three looks, if a process of the
    job was started again in between, since what it had used is gone with it, or if its executors' time cannot be told.
    """
    if len(looks) < 3:
        return CpuPerMessage(unknown=f"the load was looked at {len(looks)} times after settling; make it longer")
    first, last = looks[0], looks[-1]
    half_ns = (first.unix_ns + last.unix_ns) // 2
    middle = min(looks[1:-1], key=lambda look: abs(look.unix_ns - half_ns))
    broker_us = _share(_grown(first.broker_cpu_us, last.broker_cpu_us), last.messages_sent - first.messages_sent)
    if last.restarts != first.restarts:
        return CpuPerMessage(broker_us=broker_us, unknown="the job was started again")
    whole_us, second_half_us = _of_job(first, last), _of_job(middle, last)
    if whole_us is None or second_half_us is None:
        silent = any(look.executors_cpu_us is None for look in (first, middle, last))
        unknown = "the executors' CPU time cannot be told" if silent else "the counts of time or messages went back"
        return CpuPerMessage(broker_us=broker_us, unknown=unknown)
    return CpuPerMessage(whole_us, second_half_us, broker_us)


def cpu_us_by_look(looks: Sequence[CpuReading]) -> tuple[list[float], list[float]]:
    """CPU time a message between each two looks that follow each other, and when each ended, Unix seconds.

    What cannot be told is left out.
    """
    found = [
        (look.unix_ns / 1e9, used_us)
        for before, look in pairwise(looks)
        if look.restarts == before.restarts and (used_us := _of_job(before, look)) is not None
    ]
    return [used_us for _, used_us in found], [unix_s for unix_s, _ in found]


def _of_job(before: CpuReading, after: CpuReading) -> float | None:
    executors_us = _grown(before.executors_cpu_us, after.executors_cpu_us)
    own_us = _grown(before.job_cpu_us, after.job_cpu_us)
    if executors_us is None or own_us is None:
        return None
    return _share(own_us + executors_us, after.messages_processed - before.messages_processed)


def _grown(before: int | None, after: int | None) -> int | None:
    """None, too, if it is less than before: what had used it is gone, and no one knows what it used last."""
    return None if before is None or after is None or after < before else after - before


def _share(used_us: int | None, messages: int) -> float | None:
    return None if used_us is None or messages <= 0 else used_us / messages
