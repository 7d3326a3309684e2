"""What the aggregator measures of itself."""

import numpy as np
import psutil

from market_spread.common.clock import Clock
from market_spread.common.hdr.histogram import HdrCounts

_PENDING_MAX = 512
_MEMORY_EVERY_NS = 1_000_000_000


class Times:
    """Durations as a histogram of microseconds. Cheap to add to: they are recorded many at a time."""

    def __init__(self) -> None:
        self._recorded = HdrCounts()
        self._pending_ns: list[int] = []

    def add_ns(self, duration_ns: int) -> None:
        """Record a duration."""
        self._pending_ns.append(duration_ns)
        if len(self._pending_ns) >= _PENDING_MAX:
            self._record()

    @property
    def recorded(self) -> HdrCounts:
        """All of them; not to be changed."""
        self._record()
        return self._recorded

    def _record(self) -> None:
        self._recorded.record(np.array(self._pending_ns, np.int64) // 1000)
        self._pending_ns.clear()


class Own:
    """The aggregator's measurements of itself.

    push: from a push's arrival to its acknowledgement, without gRPC's share; merge: of that, adding it to the series;
    lag: from the end of a push's interval to its arrival, by two clocks; push_failures: pushes and notes that could not
    be written down; clients: event streams that are open.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.push = Times()
        self.merge = Times()
        self.lag = Times()
        self.lag_newest_ns = 0
        self.push_failures = 0
        self.clients = 0
        self._memory_bytes = 0
        self._memory_read_ns: int | None = None

    def arrived(self, end_unix_ns: int, now_unix_ns: int) -> None:
        """Note how old a push was when it came."""
        self.lag_newest_ns = now_unix_ns - end_unix_ns
        self.lag.add_ns(self.lag_newest_ns)

    @property
    def memory_bytes(self) -> int:
        """Resident memory of this process, read once a second at most."""
        now_ns = self._clock.monotonic_ns()
        if self._memory_read_ns is None or now_ns - self._memory_read_ns >= _MEMORY_EVERY_NS:
            self._memory_read_ns = now_ns
            self._memory_bytes = psutil.Process().memory_info().rss
        return self._memory_bytes
