"""Converts recorded files of Wallaroo ("fixish") to messages of ours, for `market-spread replay`.

What is no message is left out, and told.

Every record of such a file is big-endian, with a u32 in front that counts the bytes after it.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.codec import Bytes2D, Int64s, encode
from market_spread.common.wire.layout import NBBO, ORDER, PRICE_SCALE, SYMBOL_ALPHABET, SYMBOL_WIDTH, Field
from market_spread.loadgen.columns import Bools, Check, failed_any, map_bytes, sentence_of, write_native

_NBBO_TYPE = 2
_NBBO_RECORD = np.dtype(
    [("length", ">u4"), ("type", "u1"), ("symbol", "u1", 4), ("time", "u1", 21), ("bid", ">f8"), ("offer", ">f8")]
)

_ORDER_TYPE = 1
_ORDER_RECORD = np.dtype([
    ("length", ">u4"), ("type", "u1"), ("side", "u1"), ("account", ">u4"), ("order_id", "u1", 6), ("symbol", "u1", 4),
    ("quantity", ">f8"), ("price", ">f8"), ("time", "u1", 21),
])  # fmt: skip

_PREFIX_BYTES = 4
_KNOWN_LENGTHS = {42: "an NBBO record", 53: "an order record", 55: "an alert record"}

_BLOCK_RECORDS = 100_000

_IN_SYMBOL = np.isin(np.arange(256), list(f" {SYMBOL_ALPHABET}".encode()))
_IN_ORDER_ID = np.isin(np.arange(256), list(f"{ascii_letters}{digits}".encode()))
_SIDES = np.frombuffer(b"\0BS".ljust(256, b"\0"), np.uint8)

# Values of a field as our messages have it, and the checks on it. Where one fails, the value is not to be used.
_Column = tuple[npt.NDArray[Any], list[Check]]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that was left out, and why."""

    path: Path
    byte_offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, byte {self.byte_offset}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Converted:
    """The native files, how many messages they have, a CSV file of the original order ids, and what was left out."""

    nbbo: Path
    orders: Path
    order_ids: Path
    quote_count: int
    order_count: int
    problems: tuple[Problem, ...]


def convert_fixish(nbbo_path: Path, orders_path: Path, out_folder: Path) -> Converted:
    """Write `nbbo.messages`, `orders.messages` and `orders.messages.order-ids.csv` into the folder, made if need be.

    A quote's sequence and an order's id is the record's place in its file, from 1. Its time, whatever is written there,
    becomes 0: a replay gives every message that of its schedule. A record that is not right is left out and reported.
    UsageError if a file cannot be read or written.
    """
    problems: list[Problem] = []
    nbbo, orders = out_folder / "nbbo.messages", out_folder / "orders.messages"
    order_ids = out_folder / "orders.messages.order-ids.csv"
    with usage_errors(f"{out_folder} cannot be written"):
        out_folder.mkdir(parents=True, exist_ok=True)
        with order_ids.open("w", encoding="ascii") as side_file:
            quote_count = write_native(nbbo, _quotes(nbbo_path, problems))
            order_count = write_native(orders, _orders(orders_path, problems, side_file))
    return Converted(nbbo, orders, order_ids, quote_count, order_count, tuple(problems))


def _quotes(path: Path, problems: list[Problem]) -> Iterator[Bytes2D]:
    for block in _blocks(path, _NBBO_RECORD, problems):
        records = block.records
        read = {
            "symbol": _symbols(records["symbol"]),
            "bid": _numbers(records, NBBO.field("bid"), scale=PRICE_SCALE),
            "offer": _numbers(records, NBBO.field("offer"), scale=PRICE_SCALE),
        }
        ordinals, columns = _good(path, block, read, _NBBO_TYPE, problems)
        yield encode(NBBO, {**columns, "sequence": ordinals})


def _orders(path: Path, problems: list[Problem], side_file: TextIO) -> Iterator[Bytes2D]:
    side_file.write("ordinal,original\n")
    for block in _blocks(path, _ORDER_RECORD, problems):
        records = block.records
        read = {
            "symbol": _symbols(records["symbol"]),
            "side": _sides(records["side"]),
            "account": _accounts(records["account"]),
            "original": _order_ids(records["order_id"]),
            "quantity": _numbers(records, ORDER.field("quantity")),
            "price": _numbers(records, ORDER.field("price"), scale=PRICE_SCALE),
        }
        ordinals, columns = _good(path, block, read, _ORDER_TYPE, problems)
        originals = zip(ordinals.tolist(), columns.pop("original").astype(np.str_).tolist(), strict=True)
        side_file.writelines(f"{ordinal},{original}\n" for ordinal, original in originals)
        yield encode(ORDER, {**columns, "order_id": ordinals})


@dataclass(frozen=True, slots=True)
class _Block:
    """Records of the right length in the order of the file.

    ordinals: which record of the file each is, from 1; byte_offsets: where its length prefix stands. Both int64 (n,).
    """

    ordinals: Int64s
    byte_offsets: Int64s
    records: npt.NDArray[Any]


def _blocks(path: Path, record: np.dtype[Any], problems: list[Problem]) -> Iterator[_Block]:
    """All records of the type's length; what else is in the file is added to the problems."""
    data = map_bytes(path, "a fixish file")
    places = _places(path, data.data, record.itemsize, problems)
    while found := list(islice(places, _BLOCK_RECORDS)):
        ordinals, byte_offsets = np.array(found, np.int64).T
        cells = np.lib.stride_tricks.sliding_window_view(data, record.itemsize)[byte_offsets]
        yield _Block(ordinals, byte_offsets, cells.view(record)[:, 0])


def _places(path: Path, data: memoryview, record_bytes: int, problems: list[Problem]) -> Iterator[tuple[int, int]]:
    """The ordinal and the first byte of each record of that length.

    A record of another known length is passed over, and has its ordinal. Where a prefix is no known length, or the file
    ends within a record, reading ends, as nothing says where the next record would begin.
    """
    ordinal, begin = 1, 0
    while begin < len(data):
        passed = _PREFIX_BYTES + int.from_bytes(data[begin : begin + _PREFIX_BYTES], "big")
        if passed == record_bytes <= len(data) - begin:
            yield ordinal, begin
        elif (passed := _irregular(path, data, begin, problems)) == 0:
            return
        ordinal += 1
        begin += passed


def _irregular(path: Path, data: memoryview, begin: int, problems: list[Problem]) -> int:
    """Report what stands at the byte, and return how many bytes to pass over; 0 if the rest is lost."""
    left, passed = len(data) - begin, 0
    length = int.from_bytes(data[begin : begin + _PREFIX_BYTES], "big")
    if left < _PREFIX_BYTES:
        reason = f"the file ends within a length prefix; its last {left} bytes are left out"
    elif length not in _KNOWN_LENGTHS:
        reason = f"the length prefix says {length}, which no record has; the {left} bytes from here on are left out"
    elif left < _PREFIX_BYTES + length:
        reason = f"the file ends within {_KNOWN_LENGTHS[length]}, after {left} of its {_PREFIX_BYTES + length} bytes"
    else:
        reason, passed = f"{_KNOWN_LENGTHS[length]} does not belong into this file", _PREFIX_BYTES + length
    problems.append(Problem(path, begin, reason))
    return passed


def _good(
    path: Path, block: _Block, read: Mapping[str, _Column], record_type: int, problems: list[Problem]
) -> tuple[Int64s, dict[str, npt.NDArray[Any]]]:
    """The ordinals and values of the records that are right; the others are added to the problems."""
    types = block.records["type"]
    checks = [check for _, checks_of_field in read.values() for check in checks_of_field]
    of_other_type = types != record_type
    bad = of_other_type | failed_any(checks)
    for place in np.flatnonzero(bad).tolist():
        wrong_type = f"the type is {types[place]}, not {record_type}"
        reason = wrong_type if of_other_type[place] else sentence_of(checks, place)
        problems.append(Problem(path, int(block.byte_offsets[place]), reason))
    ordinals = block.ordinals[~bad]
    columns = {name: column[~bad] for name, (column, _) in read.items()}
    return ordinals, {**columns, "intended_us": np.zeros_like(ordinals)}


def _symbols(cells: Bytes2D) -> _Column:
    """Symbols with blanks in front (n, 4), as they stand in our messages: `S6` (n,), blanks behind."""
    names = np.char.strip(cells.view(f"S{cells.shape[1]}")[:, 0], b" ")
    bad = (names == b"") | (np.char.find(names, b" ") >= 0) | ~_IN_SYMBOL[cells].all(axis=1)
    return np.char.ljust(names, SYMBOL_WIDTH), [Check(bad, lambda i: f"{cells[i].tobytes()!r} is no symbol")]


def _order_ids(cells: Bytes2D) -> _Column:
    bad = np.logical_or.reduce(~_IN_ORDER_ID[cells], axis=1)
    return cells.view(f"S{cells.shape[1]}")[:, 0], [
        Check(bad, lambda i: f"the order id {cells[i].tobytes()!r} is not of letters and digits")
    ]


def _sides(cells: npt.NDArray[np.uint8]) -> _Column:
    """Sides 1 (buy) and 2 (sell) as letters."""
    letters = _SIDES[cells]
    return letters, [Check(letters == 0, lambda i: f"the side is {cells[i]}, not 1 or 2")]


def _accounts(cells: npt.NDArray[np.uint32]) -> _Column:
    highest = ORDER.field("account").highest
    return cells, [Check(cells > highest, lambda i: f"the account {cells[i]} is above {highest}")]


def _numbers(records: npt.NDArray[Any], field: Field, *, scale: int = 1) -> _Column:
    """Numbers of either sign, rounded to 1/scale; with a scale of 1 they must be whole."""
    values = records[field.name]
    finite = np.isfinite(values)
    with np.errstate(over="ignore"):
        scaled = np.rint(np.where(finite, values, 0.0) * scale)
    too_large, too_small = scaled > field.highest, scaled < field.lowest

    def check(failed: Bools, reason: str) -> Check:
        return Check(failed, lambda i: f"the {field.name} {float(values[i])!r} {reason}")

    return np.where(too_large | too_small, 0.0, scaled).astype(np.int64), [
        check(~finite, "is no number"),
        check(too_large, f"is too large: at most {field.highest / scale:.15g} fits"),
        check(too_small, f"is too small: at least {field.lowest / scale:.15g} fits"),
        check(finite & (scale == 1) & (scaled != values), "is not whole"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert what the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("nbbo", type=Path, help="a recorded file of quotes")
    parser.add_argument("orders", type=Path, help="a recorded file of orders")
    parser.add_argument("into", type=Path, help="a folder for nbbo.messages, orders.messages and problems.txt")
    given = parser.parse_args(arguments)
    try:
        converted = convert_fixish(given.nbbo, given.orders, given.into)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    problems = [f"{problem}\n" for problem in converted.problems]
    (given.into / "problems.txt").write_text("".join(problems), "utf-8")
    print(f"converted {converted.quote_count:,} quotes and {converted.order_count:,} orders")
    if problems:
        print(f"left out {len(problems):,} records, as problems.txt says; the first: {problems[0]}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
