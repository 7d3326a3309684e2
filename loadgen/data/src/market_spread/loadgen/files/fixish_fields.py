"""Fields of the reference's binary format as columns of ours, with a check for everything that does not fit.

Where a check fails, the column holds some legal value; the message is not to be used.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Bytes2D
from market_spread.common.wire.layout import ORDER, PRICE_SCALE, SYMBOL_ALPHABET, SYMBOL_WIDTH, Field
from market_spread.loadgen.columns import Bools, Check

ACCOUNT_MAX = ORDER.field("account").highest

_BLANK = ord(" ")
_IS_SYMBOL_LETTER = np.isin(np.arange(256), list(SYMBOL_ALPHABET.encode()))
_IS_LETTER_OR_DIGIT: Bools = np.array([chr(byte).isascii() and chr(byte).isalnum() for byte in range(256)])
_SIDES = {1: ord("B"), 2: ord("S")}


@dataclass(frozen=True, slots=True)
class Column:
    """Values of a field, and the checks on it."""

    values: npt.NDArray[np.generic]
    checks: list[Check]


def types(cells: npt.NDArray[np.uint8], expected: int) -> Check:
    """The check that records are of the expected type."""
    wrong: Bools = cells != expected
    return Check(wrong, lambda i: f"the type is {cells[i]}, not {expected}")


def symbols(cells: Bytes2D) -> Column:
    """Symbols with blanks in front (n, 4), as they stand in our messages: uint8 (n, 6), blanks behind."""
    padded = np.full((len(cells), cells.shape[1] + SYMBOL_WIDTH), _BLANK, np.uint8)
    padded[:, : cells.shape[1]] = cells
    leading = np.argmax(cells != _BLANK, axis=1)
    left = np.take_along_axis(padded, leading[:, np.newaxis] + np.arange(SYMBOL_WIDTH), axis=1)

    is_blank = left == _BLANK
    broken = (is_blank[:, :-1] & ~is_blank[:, 1:]).any(axis=1)
    bad = is_blank[:, 0] | broken | ~(_IS_SYMBOL_LETTER[left] | is_blank).all(axis=1)
    return Column(left, [Check(bad, lambda i: f"{cells[i].tobytes()!r} is no symbol")])


def order_ids(cells: Bytes2D) -> Column:
    """Order ids of letters and digits, as they are."""
    bad = np.any(~_IS_LETTER_OR_DIGIT[cells], axis=1)
    return Column(cells, [Check(bad, lambda i: f"the order id {cells[i].tobytes()!r} is not of letters and digits")])


def sides(cells: npt.NDArray[np.uint8]) -> Column:
    """Sides 1 (buy) and 2 (sell) as letters."""
    letters = np.zeros(256, np.uint8)
    letters[list(_SIDES)] = list(_SIDES.values())
    values = letters[cells]
    return Column(values, [Check(values == 0, lambda i: f"the side is {cells[i]}, not 1 or 2")])


def accounts(cells: npt.NDArray[np.uint32]) -> Column:
    """Accounts of up to 6 digits."""
    values = cells.astype(np.int64)
    return Column(values, [Check(values > ACCOUNT_MAX, lambda i: f"the account {values[i]} is above {ACCOUNT_MAX}")])


def prices(name: str, dollars: npt.NDArray[np.float64]) -> Column:
    """Prices of either sign, rounded to 1/10,000 dollar."""
    return _numbers(name, dollars, scale=PRICE_SCALE, field=ORDER.field("price"))


def quantities(shares: npt.NDArray[np.float64]) -> Column:
    """Whole quantities of up to 8 digits and either sign."""
    broken = np.isfinite(shares) & (shares != np.rint(shares))
    column = _numbers("quantity", shares, scale=1, field=ORDER.field("quantity"))
    return Column(column.values, [*column.checks, Check(broken, _says("quantity", shares, "is not whole"))])


def _numbers(name: str, values: npt.NDArray[np.float64], *, scale: int, field: Field) -> Column:
    finite = np.isfinite(values)
    with np.errstate(over="ignore"):
        scaled = np.rint(np.where(finite, values, 0.0) * scale)
    too_large, too_small = scaled > field.highest, scaled < field.lowest
    reasons = [
        (~finite, "is no number"),
        (too_large, f"is too large: at most {field.highest / scale:.15g} fits"),
        (too_small, f"is too small: at least {field.lowest / scale:.15g} fits"),
    ]
    return Column(
        np.where(too_large | too_small, 0.0, scaled).astype(np.int64),
        [Check(failed, _says(name, values, reason)) for failed, reason in reasons],
    )


def _says(name: str, values: npt.NDArray[np.float64], reason: str) -> Callable[[int], str]:
    return lambda i: f"the {name} {float(values[i])!r} {reason}"
