"""The symbols of a synthetic market: their names, prices and buckets, which of them reject, and which are probes.

A universe depends on its size and the number of buckets alone, never on a seed: it is what a list of listed companies
is to a recorded load. The reject share and the tickers that reject are those of the reference's set of 350.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from string import ascii_uppercase
from zlib import crc32

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Bytes2D, Int64s
from market_spread.common.wire.layout import PRICE_SCALE, SYMBOL_WIDTH
from market_spread.loadgen.columns import symbol_codes

UInt32s = npt.NDArray[np.uint32]

_STATE_SEED = 42
SYMBOLS_MIN, SYMBOLS_MAX = 350, 100_000
PROBE_SYMBOLS_MIN = 100
HOT_SYMBOLS_SHARE = 0.20
REJECT_TICKERS = (
    *("INSM", "PPHM", "NYCB", "NFX", "TMO", "TGT", "GOOG", "SIAL"),
    *("GPS", "MYGN", "MDRX", "TTPH", "NI", "IVR", "SLH"),
)
_NAMES_OF_1_TO_4_LETTERS = 26 + 26**2 + 26**3 + 26**4
# Coprime to the number of names: its multiples visit every name once, in an order that looks drawn.
_NAME_STRIDE = 293_339
_SECOND_CLASS_EVERY, _NAMES_AT_ONCE = 50, 1000
# Cheap symbols are those below a dollar, where 5% of the mid is less than 5 cents. Of the probes more are cheap, as few
# of their orders meet a tight quote.
_CHEAP_EVERY, _CHEAP_PROBE_EVERY = 8, 4
_PRICE_KEY = 0x50524943
_HALF = np.uint64(32)
# Without what zlib does before the first byte and after the last one.
_CRC_OF_BYTE = np.array([crc32(bytes([255 - byte])) ^ 0xFF000000 for byte in range(256)], np.uint32)


def buckets_of(cells: Bytes2D, buckets: int) -> Int64s:
    """The Kafka partition of each symbol: CRC-32 of its padded name, uint8 (n, 6), modulo the number of partitions."""
    crc = np.full(len(cells), 0xFFFFFFFF, np.uint32)
    for column in cells.T:
        crc = _CRC_OF_BYTE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return (crc ^ np.uint32(0xFFFFFFFF)).astype(np.int64) % buckets


def state_partitions_of(cells: Bytes2D, partitions: int) -> Int64s:
    """The partition of a state that Spark groups by symbol: pmod(Murmur3(padded name, 42), partitions), int64 (n,)."""
    # MurmurHash3_x86_32 as Spark has it (Murmur3_x86_32.hashUnsafeBytes): a row's last bytes one by one.
    width = cells.shape[1]
    words = np.ascontiguousarray(cells[:, : width // 4 * 4]).view("<u4")
    hashes = np.full(len(cells), _STATE_SEED, np.uint32)
    for word in (*words.T, *cells[:, width // 4 * 4 :].view(np.int8).astype(np.int32).view(np.uint32).T):
        mixed = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashes = _rotated(hashes ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= np.uint32(width)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    return hashes.view(np.int32).astype(np.int64) % partitions


def _rotated(words: UInt32s, bits: int) -> UInt32s:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


@dataclass(frozen=True, slots=True)
class Universe:
    """A table of symbols by symbol id: first those that reject, then those that accept, then the probes.

    cells: names padded with blanks, uint8 (n, 6); price: in 1/10,000 dollar, int64 (n,), below 10,000 where 5% of the
    mid decides; bucket: Kafka partition, int64 (n,); the ids of each kind, int64. Of the accepting symbols and of the
    probes the first fifth is hot.
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
    def readiness_ids(self) -> Int64s:
        """The first probe of each bucket: those of which an alert is waited for before orders start, int64."""
        _, first = np.unique(self.bucket[self.probe_ids], return_index=True)
        return self.probe_ids[first]

    def is_hot(self, symbols: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bool_]:
        """Whether each name is one of those that have most orders of their kind, bool (n,); one not here is none."""
        hot_ids = [ids[: hot_count(ids)] for ids in (self.accepting_ids, self.probe_ids)]
        return np.isin(symbol_codes(symbols), symbol_codes(self.names[np.concatenate(hot_ids)]))


def universe(symbols: int, buckets: int, state_partitions: int = 1) -> Universe:
    """The universe of that many symbols, with a tenth as many probes more: at least 100, and one wherever symbols are.

    That is in each bucket, and in each partition of a state by symbol that has symbols. 15 of 350 symbols reject, and
    the same share, rounded down, of more. symbols: 350 to 100,000; buckets: 1 to 1024.
    """
    rejecting = symbols - accepting_count(symbols)
    names = list(islice(_names(), symbols))
    names += _probe_names(names, max(PROBE_SYMBOLS_MIN, symbols // 10), buckets, state_partitions)
    cells = _cells(names)
    return Universe(
        cells=cells, price=_prices(symbols, len(names) - symbols), bucket=buckets_of(cells, buckets),
        rejecting_ids=np.arange(rejecting), accepting_ids=np.arange(rejecting, symbols),
        probe_ids=np.arange(symbols, len(names)),
    )  # fmt: skip


def hot_count(ids: Int64s) -> int:
    """How many of the accepting symbols or of the probes are hot: the first ones."""
    return max(1, int(len(ids) * HOT_SYMBOLS_SHARE))


def accepting_count(symbols: int) -> int:
    """How many symbols of a universe of that many accept orders."""
    return symbols - symbols * len(REJECT_TICKERS) // SYMBOLS_MIN


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
    before = _letters(number // 26 - 1) if number >= 26 else ""
    return before + ascii_uppercase[number % 26]


def _probe_names(symbols: Sequence[str], probes: int, buckets: int, state_partitions: int) -> list[str]:
    """So many names, and then the next ones in places without any; a slash keeps them apart from the symbols."""
    names = ["/" + _letters(number) for number in range(probes)]
    with_symbols = set(state_partitions_of(_cells(symbols), state_partitions).tolist())
    for places_of, places, wanted in (
        (buckets_of, buckets, set(range(buckets))),
        (state_partitions_of, state_partitions, with_symbols),
    ):
        missing = wanted.difference(places_of(_cells(names), places).tolist())
        numbers = count(len(names))
        while missing:
            further = ["/" + _letters(number) for number in islice(numbers, _NAMES_AT_ONCE)]
            for name, place in zip(further, places_of(_cells(further), places).tolist(), strict=True):
                if place in missing:
                    missing.remove(place)
                    names.append(name)
    return names


def _cells(names: Sequence[str]) -> Bytes2D:
    """Names padded with blanks, uint8 (n, 6)."""
    padded = "".join(name.ljust(SYMBOL_WIDTH) for name in names).encode()
    return np.frombuffer(padded, np.uint8).reshape(-1, SYMBOL_WIDTH)


def _prices(symbols: int, probes: int) -> Int64s:
    """Whole cents: 5 to 94 for cheap symbols, else $1 to $999, as many below $10 as from there to $100 and above."""
    words = np.random.Philox(key=_PRICE_KEY).random_raw(symbols + probes)
    digits = 100 + (words >> _HALF) % np.uint64(900)
    cents = digits * np.array([1, 10, 100], np.uint64)[words % np.uint64(3)]
    places = np.concatenate((np.arange(symbols) % _CHEAP_EVERY, np.arange(probes) % _CHEAP_PROBE_EVERY))
    is_cheap = places == np.repeat((_CHEAP_EVERY - 1, _CHEAP_PROBE_EVERY - 1), (symbols, probes))
    cents[is_cheap] = 5 + digits[is_cheap] % np.uint64(90)
    prices: Int64s = cents.astype(np.int64) * (PRICE_SCALE // 100)
    return prices
