"""The interval logs of a run, read back: HdrHistogram's log format."""

from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path

from market_spread.common.hdr.histogram import HdrCounts

# A cookie and the length stand before the compressed histogram.
_WRAPPER_BYTES = 8


def read_interval_log(path: Path) -> dict[float, HdrCounts]:
    """The histograms by when their intervals began, Unix seconds."""
    rows = (line.split(",") for line in path.read_text().splitlines() if line[0].isdigit())
    return {float(start_s): HdrCounts.decode(b64decode(encoded)[_WRAPPER_BYTES:]) for start_s, _, _, encoded in rows}


def merged(histograms: Iterable[HdrCounts]) -> HdrCounts:
    """All values of the histograms."""
    total = HdrCounts()
    for histogram in histograms:
        total.merge(histogram)
    return total
