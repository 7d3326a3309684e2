"""The Kafka partition of a symbol, one at a time and by the standard library."""

import zlib

from market_spread.common.wire.layout import SYMBOL_WIDTH


def bucket_of(symbol: str, buckets: int) -> int:
    """CRC-32 of its padded name, modulo the number of partitions."""
    return zlib.crc32(symbol.ljust(SYMBOL_WIDTH).encode("ascii")) % buckets
