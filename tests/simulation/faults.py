"""The faults of a seed: what breaks, when, for how long."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.simulation.world import MS, S

# When a fault begins, after the start of the run: its loads and its drain are over after some 8 s.
FROM_NS, TO_NS = 1 * S, 9 * S
_FAULTS_MAX = 5
_PROCESSES = ("receiver", "job", "aggregator")
_PUSHING = ("sender", "receiver", "job")
_SENDER_DIES_SHARE = 0.05


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. at_ns: after the start; length_ns: how long it lasts; size: what it is of each kind, from 0 to 1."""

    at_ns: int
    kind: str
    target: str = ""
    length_ns: int = 0
    size: float = 0.0

    def __str__(self) -> str:
        return f"{self.at_ns / 1e9:.3f} s: {self.kind} {self.target} {self.length_ns / 1e9:.3f} s {self.size:.3f}"


# How often each kind comes, its targets, and how long it can last at most.
KINDS: tuple[tuple[str, int, tuple[str, ...], int], ...] = (
    ("kill", 5, _PROCESSES, 2 * S),
    ("tear", 3, ("receiver", "aggregator"), 2 * S),
    ("power_cut", 2, ("receiver",), 2 * S),
    ("stand_still", 2, ("broker",), 2 * S),
    ("crash", 2, ("broker",), 3 * S),
    ("lose_acknowledgements", 2, ("broker",), 2 * S),
    ("reset", 3, _PUSHING, 0),
    ("swallow", 1, _PUSHING, 0),
    ("twice", 2, ("network",), 3 * S),
    ("cut", 2, _PUSHING, 4 * S),
)


def drawn(random: Random) -> tuple[Fault, ...]:
    """The faults of a seed, in order of time."""
    weights = [kind[1] for kind in KINDS]
    faults = []
    for _ in range(random.randrange(1, _FAULTS_MAX + 1)):
        ((kind, _, targets, most_ns),) = random.choices(KINDS, weights)
        length_ns = random.randrange(50 * MS, most_ns) // MS * MS if most_ns else 0
        at_ns = random.randrange(FROM_NS, TO_NS) // MS * MS
        faults.append(Fault(at_ns, kind, random.choice(targets), length_ns, round(random.random(), 3)))
    if random.random() < _SENDER_DIES_SHARE:
        faults.append(Fault(random.randrange(FROM_NS, TO_NS) // MS * MS, "kill", "sender", 1 * S))
    return tuple(sorted(faults))


def shrunk(faults: tuple[Fault, ...], fails: Callable[[tuple[Fault, ...]], bool]) -> tuple[Fault, ...]:
    """The fewest of the faults that still fail, by delta debugging: leave out halves, quarters, and so on."""
    pieces = 2
    while len(faults) >= 2:
        size = -(-len(faults) // pieces)
        for begin in range(0, len(faults), size):
            rest = faults[:begin] + faults[begin + size :]
            if fails(rest):
                faults, pieces = rest, max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(faults), 2 * pieces)
    return () if faults and fails(()) else faults
