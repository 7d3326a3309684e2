"""Tries inputs on targets: nothing may raise what is not meant, hang, or take memory without a bound."""

import asyncio
import atexit
import hashlib
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from market_spread.common.errors import MarketSpreadError

CORPUS = Path(__file__).with_name("corpus")
HANG_S = 10.0
GROWTH_KB = 400_000
# Of made inputs: how many more changes one may have than that it was made of.
_ROUNDS = 3


class WrongError(AssertionError):
    """A target did with an input what it must not."""


class HangError(BaseException):
    """Not an Exception: whatever a target suppresses, this ends it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What takes an input. weight: how many of a million inputs it gets, roughly.

    attempt: takes an input; raises `refuses` for what is bad, `WrongError` for a property that does not hold, and
    nothing else. seeds: valid inputs. mutate: makes another input of one.
    """

    name: str
    weight: int
    attempt: Callable[[bytes], object]
    seeds: Sequence[bytes]
    mutate: Callable[[Random, bytes], bytes]
    refuses: tuple[type[BaseException], ...] = (MarketSpreadError,)


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that a target did not stand."""

    target: str
    data: bytes
    what: str
    trace: str

    def keep(self, folder: Path) -> Path:
        """Put it into the corpus, by its hash."""
        path = folder / self.target / hashlib.sha256(self.data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


@dataclass
class Tried:
    """What came of a target's inputs. refused: those that were called bad; seconds: of CPU."""

    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The one in which all targets run that are coroutines."""
    made = asyncio.new_event_loop()
    atexit.register(made.close)
    return made


def inputs_of(target: Target, seed: int) -> Iterator[bytes]:
    """The seeds, then endless changed ones; the same for the same seed."""
    random = Random(f"{target.name}/{seed}")
    yield from target.seeds
    while True:
        data = random.choice(target.seeds)
        for _ in range(random.randint(1, _ROUNDS)):
            data = target.mutate(random, data)
        yield data


def kept(target: Target, folder: Path = CORPUS) -> list[bytes]:
    """What the corpus has for the target."""
    return [path.read_bytes() for path in sorted((folder / target.name).glob("*"))]


def attempt(target: Target, data: bytes) -> tuple[bool, Finding | None]:
    """Whether the input was refused; and the finding, if it was not stood."""
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _bounded_time():
            target.attempt(data)
    except target.refuses as error:
        if isinstance(error, MarketSpreadError) and not str(error).strip():
            return True, Finding(target.name, data, "refused without a sentence", "")
        return True, None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        text = traceback.format_exc(limit=-6)
        return False, Finding(target.name, data, f"{type(error).__name__}: {str(error)[:200]}", text)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    if grown_kb > GROWTH_KB:
        return False, Finding(target.name, data, f"it took {grown_kb:,} kB", "")
    return False, None


def tried(
    target: Target, inputs: Iterable[bytes], *, most: int, until_s: float = float("inf"), findings_max: int = 20
) -> Tried:
    """Try so many of the inputs; findings of one place in the code count once."""
    result, places = Tried(), set()
    begin_s = time.process_time()
    for data in inputs:
        if result.inputs >= most or time.monotonic() > until_s or len(result.findings) >= findings_max:
            break
        refused, finding = attempt(target, data)
        result.inputs += 1
        result.refused += refused
        if finding is not None:
            place = (finding.what.split(":")[0], finding.trace.strip().splitlines()[-3:-2] if finding.trace else "")
            if str(place) not in places:
                places.add(str(place))
                result.findings.append(finding)
    result.seconds = time.process_time() - begin_s
    return result


def shares(targets: Sequence[Target], inputs: int) -> dict[str, int]:
    """How many of the inputs each target gets."""
    whole = sum(target.weight for target in targets)
    return {target.name: max(1, round(inputs * target.weight / whole)) for target in targets}


@contextmanager
def _bounded_time() -> Iterator[None]:
    """HangError is raised if the body takes HANG_S. A timer that runs, such as a test's, goes on after it."""

    def hang(_number: int, _frame: Any) -> None:
        raise HangError(f"it took more than {HANG_S:g} s")

    handler = signal.signal(signal.SIGALRM, hang)
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s, every_s)
        signal.signal(signal.SIGALRM, handler)
