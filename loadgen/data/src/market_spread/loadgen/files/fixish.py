"""Converts the reference's recorded files ("fixish") to native files, and loses nothing without a word."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from market_spread.common.errors import usage_errors
from market_spread.common.wire.codec import Bytes2D, Int64s, encode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.loadgen.columns import failed_any, sentence_of
from market_spread.loadgen.files import fixish_fields as fields
from market_spread.loadgen.files.fixish_records import (
    NBBO_RECORD,
    NBBO_TYPE,
    ORDER_RECORD,
    ORDER_TYPE,
    FixishBlock,
    Problem,
    read_records,
)
from market_spread.loadgen.files.native import write_native


@dataclass(frozen=True, slots=True)
class Converted:
    """The native files, how many messages they have, and everything that was left out.

    order_ids: a CSV file with the original of each order id.
    """

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
    for block in read_records(path, NBBO_RECORD, problems):
        records = block.records
        read = {
            "symbol": fields.symbols(records["symbol"]),
            "bid": fields.prices("bid", records["bid"]),
            "offer": fields.prices("offer", records["offer"]),
        }
        good, columns = _good(path, block, read, NBBO_TYPE, problems)
        sequence = block.ordinals[good]
        yield encode(NBBO, {**columns, "intended_us": np.zeros_like(sequence), "sequence": sequence})


def _orders(path: Path, problems: list[Problem], side_file: TextIO) -> Iterator[Bytes2D]:
    side_file.write("ordinal,original\n")
    for block in read_records(path, ORDER_RECORD, problems):
        records = block.records
        read = {
            "symbol": fields.symbols(records["symbol"]),
            "side": fields.sides(records["side"]),
            "account": fields.accounts(records["account"]),
            "original": fields.order_ids(records["order_id"]),
            "quantity": fields.quantities(records["quantity"]),
            "price": fields.prices("price", records["price"]),
        }
        good, columns = _good(path, block, read, ORDER_TYPE, problems)
        ordinals = block.ordinals[good]
        side_file.writelines(_order_id_lines(ordinals, columns.pop("original")))
        yield encode(ORDER, {**columns, "intended_us": np.zeros_like(ordinals), "order_id": ordinals})


def _good(
    path: Path, block: FixishBlock, columns: dict[str, fields.Column], record_type: int, problems: list[Problem]
) -> tuple[npt.NDArray[np.bool_], dict[str, npt.NDArray[Any]]]:
    """Which records are right, and their values; the others are added to the problems."""
    of_type = fields.types(block.records["type"], record_type)
    checks = [check for column in columns.values() for check in column.checks]
    bad = of_type.failed | failed_any(checks)
    for place in np.flatnonzero(bad).tolist():
        reason = of_type.sentence(place) if of_type.failed[place] else sentence_of(checks, place)
        problems.append(Problem(path, int(block.byte_offsets[place]), reason))
    return ~bad, {name: column.values[~bad] for name, column in columns.items()}


def _order_id_lines(ordinals: Int64s, originals: Bytes2D) -> Iterator[str]:
    width = originals.shape[1]
    text = originals.tobytes().decode("ascii")
    return (f"{ordinal},{text[i * width : (i + 1) * width]}\n" for i, ordinal in enumerate(ordinals.tolist()))
