"""What the aggregator measures of itself."""

import psutil

from market_spread.common.hdr.histogram import HdrCounts


class Own:
    """The aggregator's measurements of itself; histograms in microseconds.

    push: from a push's arrival to its acknowledgement, without gRPC's share; merge: of that, adding it to the series;
    lag: from the end of a push's interval to its arrival, by two clocks; push_failures: pushes and notes that could not
    be written down; clients: event streams that are open.
    """

    def __init__(self) -> None:
        self.push, self.merge, self.lag = HdrCounts(), HdrCounts(), HdrCounts()
        self.lag_newest_ns = 0
        self.push_failures = 0
        self.clients = 0

    def arrived(self, end_unix_ns: int, now_unix_ns: int) -> None:
        """Note how old a push was when it came."""
        self.lag_newest_ns = now_unix_ns - end_unix_ns
        self.lag.record_few([self.lag_newest_ns // 1000])

    @property
    def memory_bytes(self) -> int:
        """Resident memory of this process."""
        return int(psutil.Process().memory_info().rss)
