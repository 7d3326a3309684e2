"""Turns of replicas: jobs that read the same topics begin their batches at different times, so one always answers."""

from dataclasses import dataclass

# A batch takes longer than planned by what its commit takes, so batches drift. A replica goes back to its turn when it
# has drifted by this share of the time between two turns.
_DRIFT_MAX = 0.35
# A query is ended and started again around the batch that leads back: that takes about so long.
_START_NS = 3_000_000_000
_LEADING_NS_MIN = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Turns:
    """When one of some replicas begins its batches: by the clock alone, so they need not know of each other.

    The turn of replica k of n comes k/n of a batch after each multiple of the batch's length since 1970.
    """

    batch_s: float
    replica: int = 0
    replicas: int = 1

    def missed(self, unix_ns: int) -> bool:
        """Whether a batch that begins now is so far from the turn that it nears another replica's."""
        if self._alone:
            return False
        after_ns = (unix_ns - self._first_ns) % self._period_ns
        return min(after_ns, self._period_ns - after_ns) > _DRIFT_MAX * self._period_ns / self.replicas

    def next_batch_s(self, unix_ns: int) -> float:
        """How long the batches of a query are to be that is started now: if the turn is missed, up to the next one."""
        if not self.missed(unix_ns):
            return self.batch_s
        left_ns = (self._first_ns - unix_ns - _START_NS) % self._period_ns
        return (left_ns if left_ns >= _LEADING_NS_MIN else left_ns + self._period_ns) / 1e9

    @property
    def _alone(self) -> bool:
        return self.replicas == 1 or self._period_ns == 0

    @property
    def _period_ns(self) -> int:
        return round(self.batch_s * 1e9)

    @property
    def _first_ns(self) -> int:
        return self._period_ns * self.replica // self.replicas
