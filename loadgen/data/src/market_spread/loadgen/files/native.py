"""Native files: messages of one layout, one after the other, nothing between them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.codec import Bytes2D, Decoded, decode
from market_spread.common.wire.layout import Layout

_CHUNK = 250_000


def write_native(path: Path, parts: Iterable[Bytes2D]) -> int:
    """Write encoded messages, each part (n, width), to a new file, and return how many. UsageError if that fails."""
    count = 0
    try:
        with path.open("wb") as file:
            for rows in parts:
                file.write(np.ascontiguousarray(rows).data)
                count += len(rows)
    except OSError as error:
        raise UsageError(f"{path} cannot be written after {count} messages: {error.strerror or error}") from error
    return count


def map_native(path: Path, layout: Layout) -> Bytes2D:
    """The file's messages, uint8 (n, layout.width), read only when used, and not looked into.

    UsageError if the file cannot be read, or ends within a message.
    """
    data = map_bytes(path, f"a native {layout.name} file")
    if left := len(data) % layout.width:
        raise UsageError(
            f"{path} is cut short: the message at byte {len(data) - left} has {left} of the {layout.width} bytes "
            f"of an {layout.name} message; cut the file there, or write it again"
        )
    return data.reshape(-1, layout.width)


def read_native(path: Path, layout: Layout) -> Iterator[Decoded]:
    """The file's messages in order, decoded, some 100,000 at a time.

    UsageError if the file cannot be read or ends within a message, or, on the way, for the first that is malformed.
    """
    rows = map_native(path, layout)
    for begin in range(0, len(rows), _CHUNK):
        chunk = rows[begin : begin + _CHUNK]
        decoded = decode(layout, chunk.reshape(-1).data)
        if not decoded.readable.all():
            place = int(np.argmin(decoded.readable))
            raise UsageError(
                f"{path} has no {layout.name} message at byte {(begin + place) * layout.width}: "
                f"{chunk[place].tobytes()!r}; take it out, or write the file again"
            )
        yield decoded


def map_bytes(path: Path, wanted: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A file's bytes, read only when used. UsageError that asks for what is wanted if it cannot be read."""
    with usage_errors(f"{path} cannot be read", f"name {wanted}"):
        return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
