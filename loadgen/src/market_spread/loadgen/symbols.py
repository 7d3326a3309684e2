"""The symbols of a synthetic market: their names, prices and buckets, and which of them reject.

A universe depends on its size and the number of buckets alone, never on a seed: it is what a list of listed companies
is to a recorded load. The reject share and the tickers that reject are those of the reference's set of 350.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
import numpy.typing as npt

from market_spread.common.codec import Bytes2D, Int64s
from market_spread.common.layout import PRICE_SCALE, SYMBOL_WIDTH, bucket_of

SYMBOLS_MIN = 350
SYMBOLS_MAX = 100_000
BUCKETS_MAX = 1024
REJECT_TICKERS = (
    *("INSM", "PPHM", "NYCB", "NFX", "TMO", "TGT", "GOOG", "SIAL"),
    *("GPS", "MYGN", "MDRX", "TTPH", "NI", "IVR", "SLH"),
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAMES_OF_1_TO_4_LETTERS = 26 + 26**2 + 26**3 + 26**4
# Coprime to the number of names: its multiples visit every name once, in an order that looks drawn.
_NAME_STRIDE = 293_339
_SECOND_CLASS_EVERY = 50
_PRICE_KEY = 0x50524943
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Universe:
    """A table of symbols by symbol id: first those that reject, then those that accept, then one probe a bucket.

    cells: names padded with blanks, uint8 (n, 6); price: in 1/10,000 dollar, at least 10,000, int64 (n,);
    bucket: Kafka partition, int64 (n,); the ids of each kind, and of each bucket's probe, int64.
    """

    cells: Bytes2D
    price: Int64s
    bucket: Int64s
    rejecting_ids: Int64s
    accepting_ids: Int64s
    probe_ids: Int64s

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def names(self) -> npt.NDArray[np.bytes_]:
        """Names padded with blanks, S6 (n,)."""
        return self.cells.view(f"S{SYMBOL_WIDTH}").reshape(-1)

    @property
    def rejecting(self) -> npt.NDArray[np.bool_]:
        """Whether an order on the symbol is always rejected, probes included, bool (n,)."""
        flags = np.zeros(len(self), np.bool_)
        flags[self.rejecting_ids] = True
        flags[self.probe_ids] = True
        return flags


def universe(symbols: int, buckets: int) -> Universe:
    """The universe of that many symbols, with a probe symbol more for each bucket.

    15 of 350 symbols reject, and the same share, rounded down, of more. symbols: 350 to 100,000; buckets: 1 to 1024.
    """
    rejecting = symbols - accepting_count(symbols)
    names = [*islice(_names(), symbols), *_probe_names(buckets)]
    padded = "".join(name.ljust(SYMBOL_WIDTH) for name in names)
    return Universe(
        cells=np.frombuffer(padded.encode(), np.uint8).reshape(-1, SYMBOL_WIDTH),
        price=_prices(len(names)),
        bucket=np.array([bucket_of(name, buckets) for name in names], np.int64),
        rejecting_ids=np.arange(rejecting),
        accepting_ids=np.arange(rejecting, symbols),
        probe_ids=np.arange(symbols, symbols + buckets),
    )


def accepting_count(symbols: int) -> int:
    """How many symbols of a universe of that many accept orders."""
    return symbols - symbols * len(REJECT_TICKERS) // SYMBOLS_MIN


def buckets_of(cells: Bytes2D, buckets: int) -> Int64s:
    """`bucket_of` of many names at once: cells are the padded names, uint8 (n, 6)."""
    crc = np.full(len(cells), 0xFFFFFFFF, np.uint32)
    for column in cells.T:
        crc = _CRC_OF_BYTE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    found: Int64s = (crc ^ np.uint32(0xFFFFFFFF)).astype(np.int64) % buckets
    return found


def _crc_of_byte() -> npt.NDArray[np.uint32]:
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, np.uint32(0xEDB88320), np.uint32(0)) ^ (crc >> np.uint32(1))
    return crc


_CRC_OF_BYTE = _crc_of_byte()


def _names() -> Iterator[str]:
    yield from REJECT_TICKERS
    for number in count():
        name = _letters(number * _NAME_STRIDE % _NAMES_OF_1_TO_4_LETTERS)
        if number % _SECOND_CLASS_EVERY == 0:
            yield name + ".A"
        elif name not in REJECT_TICKERS:
            yield name


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB, ...: another name for every number."""
    name = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        name = _LETTERS[letter] + name
    return name


def _probe_names(buckets: int) -> list[str]:
    """A name for each bucket, in order of the buckets; a slash keeps them apart from the symbols."""
    found: dict[int, str] = {}
    for number in count():
        name = "/" + _letters(number)
        found.setdefault(bucket_of(name, buckets), name)
        if len(found) == buckets:
            break
    return [found[bucket] for bucket in range(buckets)]


def _prices(symbols: int) -> Int64s:
    """Prices from $1 to $999, as many below $10 as from there to $100 and above; no tight spread is 5% of one."""
    words = np.random.Philox(key=_PRICE_KEY).random_raw(symbols)
    digits = 100 + (words >> _HALF) % np.uint64(900)
    cents = digits * np.array([1, 10, 100], np.uint64)[words % np.uint64(3)]
    prices: Int64s = cents.astype(np.int64) * (PRICE_SCALE // 100)
    return prices
