"""CPU time a message, from looks at which time and messages were read for the same moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# Of a load there are not many more looks than this.
LOOKS_MAX = 120


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

    broker_us: of the broker, a message sent. None is what cannot be told.
    """

    whole_us: float | None = None
    second_half_us: float | None = None
    broker_us: float | None = None


def cpu_per_message(looks: Sequence[CpuReading]) -> CpuPerMessage:
    """CPU time a message of the judged part of a load, of which the looks are, in order of time.

    The middle look is the one nearest to half of the time. Not known with less than three looks, if a process of the
    job was started again in between, since what it had used is gone with it, or if its executors' time cannot be told.
    """
    if len(looks) < 3:
        return CpuPerMessage()
    first, *between, last = looks
    half_ns = (first.unix_ns + last.unix_ns) // 2
    middle = min(between, key=lambda look: abs(look.unix_ns - half_ns))
    broker_us = _per_message(last.messages_sent - first.messages_sent, (first.broker_cpu_us, last.broker_cpu_us))
    whole_us, second_half_us = _of_job(first, last), _of_job(middle, last)
    if whole_us is None or second_half_us is None:
        return CpuPerMessage(broker_us=broker_us)
    return CpuPerMessage(whole_us, second_half_us, broker_us)


def cpu_us_by_look(looks: Sequence[CpuReading]) -> tuple[list[float], list[float]]:
    """CPU time a message between each two looks that follow each other, and when each ended, Unix seconds.

    What cannot be told is left out.
    """
    used = [(_of_job(before, look), look.unix_ns / 1e9) for before, look in pairwise(looks)]
    known = [(used_us, unix_s) for used_us, unix_s in used if used_us is not None]
    return [used_us for used_us, _ in known], [unix_s for _, unix_s in known]


def _of_job(before: CpuReading, after: CpuReading) -> float | None:
    own, executors = (before.job_cpu_us, after.job_cpu_us), (before.executors_cpu_us, after.executors_cpu_us)
    messages = after.messages_processed - before.messages_processed
    return _per_message(messages, own, executors) if after.restarts == before.restarts else None


def _per_message(messages: int, *counts_us: tuple[int | None, int | None]) -> float | None:
    """None, too, if a count is less than before: what had used it is gone, and no one knows what it used last."""
    used_us = [after - before for before, after in counts_us if before is not None and after is not None]
    known = messages > 0 and len(used_us) == len(counts_us) and min(used_us) >= 0
    return sum(used_us) / messages if known else None
