"""Symbols of a market by their ids, as tests ask for them."""

import numpy as np
import numpy.typing as npt

from market_spread.loadgen.columns import symbol_codes
from market_spread.loadgen.market.symbols import Universe


def ids_in(universe: Universe, symbols: npt.NDArray[np.bytes_]) -> npt.NDArray[np.int64]:
    """The id of each name, padded with blanks or not, of the universe that has them all."""
    codes = symbol_codes(universe.names)
    by_code = np.argsort(codes)
    return by_code[np.searchsorted(codes[by_code], symbol_codes(symbols))]
