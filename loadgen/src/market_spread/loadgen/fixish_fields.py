"""Fields of the reference's binary format as columns of ours, with a check for everything that does not fit.

Where a check fails, the column holds some legal value; the message is not to be used.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from market_spread.common.codec import Bytes2D, Int64s
from market_spread.common.layout import ORDER, PRICE_SCALE, SYMBOL_ALPHABET, SYMBOL_WIDTH
from market_spread.loadgen.checks import Bools, Check

PRICE_MAX = 10 ** ORDER.field("price").width - 1
QUANTITY_MAX = 10 ** (ORDER.field("quantity").width - 1) - 1
ACCOUNT_MAX = 10 ** ORDER.field("account").width - 1
TIME_US_MAX = 10 ** ORDER.field("intended_us").width - 1

_BLANK = ord(" ")
_IS_SYMBOL_LETTER = np.isin(np.arange(256), list(SYMBOL_ALPHABET.encode()))
_IS_LETTER_OR_DIGIT: Bools = np.array([chr(byte).isascii() and chr(byte).isalnum() for byte in range(256)])
_SIDES = {1: ord("B"), 2: ord("S")}
_TIME_PATTERN = b"00000000-00:00:00.000"


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
    """Prices, rounded to 1/10,000 dollar."""
    return _numbers(name, dollars, scale=PRICE_SCALE, limit=PRICE_MAX, refused=(dollars < 0, "is negative"))


def quantities(shares: npt.NDArray[np.float64]) -> Column:
    """Whole quantities of up to 8 digits and either sign."""
    broken = np.isfinite(shares) & (shares != np.rint(shares))
    return _numbers("quantity", shares, scale=1, limit=QUANTITY_MAX, refused=(broken, "is not whole"))


def _numbers(
    name: str, values: npt.NDArray[np.float64], *, scale: int, limit: int, refused: tuple[Bools, str]
) -> Column:
    finite = np.isfinite(values)
    with np.errstate(over="ignore"):
        scaled = np.rint(np.where(finite, values, 0.0) * scale)
    too_large = np.abs(scaled) > limit
    reasons = [(~finite, "is no number"), (too_large, f"is too large: at most {limit / scale:.15g} fits"), refused]
    return Column(
        np.where(too_large, 0.0, scaled).astype(np.int64),
        [Check(failed, _says(name, values, reason)) for failed, reason in reasons],
    )


def _says(name: str, values: npt.NDArray[np.float64], reason: str) -> Callable[[int], str]:
    return lambda i: f"the {name} {float(values[i])!r} {reason}"


def times(cells: Bytes2D) -> Column:
    """Times `YYYYMMDD-HH:MM:SS.mmm` (n, 21), in UTC, as Unix microseconds."""
    pattern = np.frombuffer(_TIME_PATTERN, np.uint8)
    is_digit = pattern == ord("0")
    digits = cells - np.uint8(ord("0"))
    written = np.where(is_digit, digits <= 9, cells == pattern).all(axis=1)

    year, month, day = _number(digits, 0, 4), _number(digits, 4, 6), _number(digits, 6, 8)
    hour, minute = _number(digits, 9, 11), _number(digits, 12, 14)
    second, millisecond = _number(digits, 15, 17), _number(digits, 18, 21)
    month_days, month_begin = _month(year, month)
    exists = (month >= 1) & (month <= 12) & (day >= 1) & (day <= month_days)
    exists &= (hour <= 23) & (minute <= 59) & (second <= 59)

    seconds = ((month_begin + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    values = seconds * 1_000_000 + millisecond * 1_000
    fits = (values >= 0) & (values <= TIME_US_MAX)
    return Column(
        np.where(written & exists & fits, values, 0),
        [
            Check(~(written & exists), lambda i: f"{cells[i].tobytes()!r} is no time YYYYMMDD-HH:MM:SS.mmm"),
            Check(written & exists & ~fits, lambda i: f"the time {cells[i].tobytes()!r} does not fit: 1970 to 2286"),
        ],
    )


def _number(digits: Bytes2D, begin: int, end: int) -> Int64s:
    powers = 10 ** np.arange(end - begin - 1, -1, -1, dtype=np.int64)
    number: Int64s = digits[:, begin:end].astype(np.int64) @ powers
    return number


def _month(year: Int64s, month: Int64s) -> tuple[Int64s, Int64s]:
    """Days of each month, and days from 1970 to its first."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    begin = months.astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[D]").astype(np.int64)
    return end - begin, begin
