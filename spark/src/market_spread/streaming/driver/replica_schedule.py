"""When replicas begin their batches: at different times, so that while one commits, another one answers."""

from dataclasses import dataclass

# A batch takes longer than planned by its commit, so batches drift. A replica realigns when it has drifted by more than
# this share of the time between the starts of two replicas.
_DRIFT_MAX = 0.35
# To realign, a query is ended and started again, which takes about this long.
_RESTART_NS = 3_000_000_000
_BATCH_NS_MIN = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ReplicaSchedule:
    """When one of several replicas begins its batches: by the clock alone, so they need not know of each other.

    Replica k of n starts a batch k/n of the batch's length after each multiple of that length since 1970.
    """

    batch_s: float
    replica: int = 0
    replicas: int = 1

    def has_drifted(self, unix_ns: int) -> bool:
        """Whether a batch that begins now is so far from its scheduled start that it nears another replica's."""
        period_ns = self._period_ns
        if self.replicas == 1 or period_ns == 0:
            return False
        late_ns = (unix_ns - self._first_ns) % period_ns
        return min(late_ns, period_ns - late_ns) > _DRIFT_MAX * period_ns / self.replicas

    def next_batch_s(self, unix_ns: int) -> float:
        """The batch length of a query that starts now: up to the next scheduled start if it has drifted."""
        if not self.has_drifted(unix_ns):
            return self.batch_s
        left_ns = (self._first_ns - unix_ns - _RESTART_NS) % self._period_ns
        return (left_ns if left_ns >= _BATCH_NS_MIN else left_ns + self._period_ns) / 1e9

    @property
    def _period_ns(self) -> int:
        return round(self.batch_s * 1e9)

    @property
    def _first_ns(self) -> int:
        return self._period_ns * self.replica // self.replicas
