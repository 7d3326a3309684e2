"""Sequence window: after every number, the last four numbers of its parity, so that every lost message shows.

The input is 1, 2, 3 and so on. A window is right if its numbers have one parity and are two apart, with zeros only in
front, and if it follows the previous one of its parity (after the reference's correctness test of the same name).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from market_spread.streaming import Map, Pipeline, Row, Sink, Source, StatefulMap, Text
from market_spread.streaming.applications.counting import NUMBER

SIZE = 4


def sequence_window() -> Pipeline:
    """The pipeline: numbers in, `[a,b,c,d]` out for each."""
    numbers = Source("numbers", NUMBER, sequence="sequence").to(Map("parity", {"parity": parity})).key_by("parity")
    window = StatefulMap(
        "window", takes=("value",), state={"last": "array<bigint>"}, gives={"window": "string"}, update=slide
    )
    return numbers.to(window).to_sink(Sink("windows", Text("{window}"), key="parity"), name="sequence_window")


def parity(row: Row) -> Any:
    """0 for even numbers, 1 for odd ones."""
    return row.value % 2


def slide(_parity: int, rows: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A window for each number, and the numbers of the last window."""
    numbers = np.concatenate((before["last"] if before else [0] * SIZE, rows.value)).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, SIZE)[1:]
    texts = [f"[{','.join(map(str, window))}]" for window in windows.tolist()]
    return {"window": texts}, {"last": numbers[-SIZE:]}
