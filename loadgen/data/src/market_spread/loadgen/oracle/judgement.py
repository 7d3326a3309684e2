"""What the oracle found: counts, and the first faults of each kind as sentences."""

from collections.abc import Mapping
from dataclasses import dataclass

UNCHECKED_SHARE_MAX = 2 / 3
# Where more than so many and so large a share are undecided, some other order must be accepted for certain: else a job
# that never accepts would pass.
_UNDECIDED_SHARE = 1 / 2
_UNDECIDED_FEW = 100
SENTENCES_MAX = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """The oracle's judgement of a run's alerts.

    orders: in the input. expected: orders that are rejected for certain; accepted: those that are accepted for certain,
    of symbols that reject at other times or have an alert. received: orders with an alert. missing:
    expected, but without alert. unexpected: orders with an alert that are accepted for certain, or not in the input.
    wrong: alerts that say something else than the input. duplicated: alerts after an order's first, without a replay
    that explains them; replayed: those with one. disagreeing: those of either that name another quote. stale: faults
    by the delays around their time only; they are among the other faults if they are many.
    belated: ids of the orders, ascending, that one of several jobs alerted after another one can have accepted them.
    undecided: orders on which either verdict is right, as quotes and orders race; unchecked: those of them without an
    alert, of which nothing can be said. delay_us: the longest that an order took from its intended send to the receipt
    of its alert, or what was given as the longest delay.
    sentences: for `missing`, `unexpected`, `duplicated` and `wrong` the first ten, readable.
    """

    orders: int
    expected: int
    accepted: int
    received: int
    missing: int
    unexpected: int
    duplicated: int
    replayed: int
    disagreeing: int
    wrong: int
    stale: int
    undecided: int
    unchecked: int
    delay_us: int
    sentences: Mapping[str, tuple[str, ...]]
    belated: tuple[int, ...] = ()

    @property
    def void_reason(self) -> str | None:
        """Why the input allows no judgement, as a sentence; None if it does."""
        if not self.orders:
            return "the input has no orders"
        rejectable = self.expected + self.undecided
        if self.unchecked > UNCHECKED_SHARE_MAX * rejectable:
            return (
                f"nothing can be said of {self.unchecked} of the {rejectable} orders that can be rejected: their "
                f"verdict changed within the delays, of up to {self.delay_us} us, and they have no alert; "
                f"at most {UNCHECKED_SHARE_MAX:.0%} may be so; let verdicts change less often"
            )
        if not self.accepted and self.undecided > max(_UNDECIDED_SHARE * rejectable, _UNDECIDED_FEW):
            return (
                f"a job that never accepts could pass: {self.undecided} of the {rejectable} orders that can be rejected"
                f" can be accepted as well, as their verdict changed within the delays, of up to {self.delay_us} us,"
                " and no other order of their symbols is certain to be accepted; let verdicts change less often"
            )
        return None

    @property
    def faulty(self) -> bool:
        """Whether there is a fault, which is one for certain, whatever else cannot be judged."""
        return bool(self.missing or self.unexpected or self.wrong or self.duplicated)

    @property
    def ok(self) -> bool:
        """Whether the alerts can be judged and have no fault."""
        return self.void_reason is None and not self.faulty
