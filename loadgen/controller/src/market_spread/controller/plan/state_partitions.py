"""In which partition of the job's state a symbol is: for latencies by partition, and for what comes in order.

Spark puts a row into the partition `pmod(Murmur3(key, 42), partitions)` of what it is grouped by (HashPartitioning).
"""

import numpy as np
import numpy.typing as npt

from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.wire.codec import Bytes2D, Int64s
from market_spread.common.wire.layout import SYMBOL_WIDTH
from market_spread.loadgen.columns import Texts, symbol_codes
from market_spread.loadgen.market.symbols import buckets_of

UInt32s = npt.NDArray[np.uint32]

_SEED = 42


def state_partition_of(symbols: Texts, *, mode: str, buckets: int, partitions: int) -> Int64s:
    """The state partition of each symbol, int64 (n,), where the state has so many and each topic so many buckets.

    Real-Time Mode groups by the symbol as it stands in the message, blanks included. Micro-batch mode groups by the
    Kafka partition, as a number chosen such that partition p is in the state partition p % partitions
    (streaming/modes/micro_batch/as_of_join.py).
    """
    cells = symbol_codes(symbols).view(np.uint8).reshape(-1, 8)[:, :SYMBOL_WIDTH]
    if mode == MICRO_BATCH:
        return buckets_of(cells, buckets) % partitions
    return _murmur3(cells).view(np.int32).astype(np.int64) % partitions


def path_of(symbols: Texts, *, mode: str, buckets: int, partitions: int) -> Int64s:
    """A number for each symbol (n,): orders of one come through the same partitions of topic and state, so in order."""
    cells = symbol_codes(symbols).view(np.uint8).reshape(-1, 8)[:, :SYMBOL_WIDTH]
    state = state_partition_of(symbols, mode=mode, buckets=buckets, partitions=partitions)
    return buckets_of(cells, buckets) * partitions + state


def _murmur3(cells: Bytes2D) -> UInt32s:
    """MurmurHash3_x86_32 of each row as Spark has it (Murmur3_x86_32.hashUnsafeBytes): its last bytes one by one."""
    width = cells.shape[1]
    words = np.ascontiguousarray(cells[:, : width // 4 * 4]).view("<u4")
    hashes = np.full(len(cells), _SEED, np.uint32)
    for word in (*words.T, *cells[:, width // 4 * 4 :].view(np.int8).astype(np.int32).view(np.uint32).T):
        mixed = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashes = _rotated(hashes ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= np.uint32(width)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    return hashes


def _rotated(words: UInt32s, bits: int) -> UInt32s:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
