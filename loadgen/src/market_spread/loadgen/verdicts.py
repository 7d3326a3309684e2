"""What the oracle found: counts, and the first faults of each kind as sentences."""

from collections.abc import Mapping
from dataclasses import dataclass

UNDECIDED_SHARE_MAX = 0.01
SENTENCES_MAX = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """The oracle's judgement of a run's alerts.

    orders: in the input. expected: orders that are rejected for certain. received: orders with an alert. missing:
    expected, but without alert. unexpected: orders with an alert that are accepted for certain, or not in the input.
    wrong: alerts that say something else than the input. duplicated: alerts after an order's first. disagreeing: those
    of them that name another quote. undecided: orders on which either verdict is right, as quotes and orders race.
    delay_us: the longest that a message is taken to need from its intended send to the job.
    sentences: for `missing`, `unexpected`, `duplicated` and `wrong` the first ten, readable.
    """

    orders: int
    expected: int
    received: int
    missing: int
    unexpected: int
    duplicated: int
    disagreeing: int
    wrong: int
    undecided: int
    delay_us: int
    duplicates_allowed: bool
    sentences: Mapping[str, tuple[str, ...]]

    @property
    def undecided_share(self) -> float:
        """Undecided orders as a share of all."""
        return self.undecided / self.orders if self.orders else 0.0

    @property
    def void_reason(self) -> str | None:
        """Why the input allows no judgement, as a sentence; None if it does."""
        if not self.orders:
            return "the input has no orders"
        if self.undecided_share > UNDECIDED_SHARE_MAX:
            return (
                f"{self.undecided} of {self.orders} orders ({self.undecided_share:.1%}) cannot be decided with delays "
                f"up to {self.delay_us} us; at most {UNDECIDED_SHARE_MAX:.0%} may be; let verdicts change less often"
            )
        return None

    @property
    def ok(self) -> bool:
        """Whether the alerts can be judged and have no fault. Duplicates are one unless they were allowed."""
        duplicates = 0 if self.duplicates_allowed else self.duplicated
        return self.void_reason is None and not (self.missing or self.unexpected or self.wrong or duplicates)
