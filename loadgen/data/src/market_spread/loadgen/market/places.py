"""Where symbols lie: in which partition of a topic, and in which one of a state that is grouped by symbol."""

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Bytes2D, Int64s

UInt32s = npt.NDArray[np.uint32]

_SEED = 42


def buckets_of(cells: Bytes2D, buckets: int) -> Int64s:
    """The Kafka partition of each symbol: CRC-32 of its padded name, uint8 (n, 6), modulo the number of partitions."""
    crc = np.full(len(cells), 0xFFFFFFFF, np.uint32)
    for column in cells.T:
        crc = _CRC_OF_BYTE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    found: Int64s = (crc ^ np.uint32(0xFFFFFFFF)).astype(np.int64) % buckets
    return found


def state_partitions_of(cells: Bytes2D, partitions: int) -> Int64s:
    """The partition of a state that Spark groups by symbol: pmod(Murmur3(padded name, 42), partitions), int64 (n,)."""
    return _murmur3(cells).view(np.int32).astype(np.int64) % partitions


def _crc_of_byte() -> npt.NDArray[np.uint32]:
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, np.uint32(0xEDB88320), np.uint32(0)) ^ (crc >> np.uint32(1))
    return crc


_CRC_OF_BYTE = _crc_of_byte()


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
