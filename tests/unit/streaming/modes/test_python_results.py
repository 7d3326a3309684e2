"""What Python of the user's gives in micro-batch mode, as Spark's worker runs it: each mistake is one sentence."""

import re
from collections.abc import Mapping
from typing import Any, cast

import pandas as pd
import pytest
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupState

from market_spread.streaming.modes.micro_batch.compile import KeyedWork, rows_of
from market_spread.streaming.modes.rows import METADATA_TYPES

WRONG_VALUES = [
    (1.5, "bigint"), ("x", "bigint"), (2**63, "bigint"), ("x", "double"), (1, "boolean"), (2**31, "int"),
    (1.5, "LONG"), (128, "tinyint"), (5, "array<bigint>"), ([1], "map<string,bigint>"),
    ((1, 2), "struct<n: int>"), ({1: 2}, "map<string,bigint>"), (0.5, "date"),
]  # fmt: skip
# As Spark reads them, which takes a session.
TYPES: Mapping[str, T.DataType] = {
    "bigint": T.LongType(), "LONG": T.LongType(), "int": T.IntegerType(), "tinyint": T.ByteType(),
    "double": T.DoubleType(), "boolean": T.BooleanType(), "date": T.DateType(),
    "array<bigint>": T.ArrayType(T.LongType()), "map<string,bigint>": T.MapType(T.StringType(), T.LongType()),
    "struct<n: int>": T.StructType([T.StructField("n", T.IntegerType())]),
}  # fmt: skip
# In place of the output and the state with the field `it`.
NO_STATES = [({"was": [1]}, after) for after in (None, {}, {"ti": 1}, {"it": 1, "more": 2}, 5)] + [None]


class NoState:
    """That of a key which is new."""

    exists = hasTimedOut = False  # noqa: N815

    def update(self, value: tuple[Any, ...]) -> None:
        raise AssertionError(f"{value} must not be stored")


def work(returned: Any, kind: str) -> None:
    """One row of one key, for which the function returns this."""
    declared = {"it": TYPES[kind].json()}
    step = KeyedWork(
        ("name",),
        ("n",),
        {"name": "string", "was": "bigint"},
        {"it": kind},
        lambda *_: returned,
        None,
        declared=declared,
    )
    row = dict.fromkeys(METADATA_TYPES, 0) | {"reason": None, "name": "x", "n": 1, "_time": 0}
    list(step.run(("x",), [pd.DataFrame([row])], cast(GroupState, NoState())))


@pytest.mark.parametrize(("value", "kind"), WRONG_VALUES)
def test_state_of_another_type_is_told_with_its_value_and_the_type(value: Any, kind: str) -> None:
    said = re.escape(f"the new state has {value!r} as 'it'; let it be of the type {kind}")
    with pytest.raises(TypeError, match=said):
        work(({"was": [1]}, {"it": value}), kind)


@pytest.mark.parametrize("returned", NO_STATES)
def test_what_is_no_state_of_the_names_that_are_declared_is_told(returned: Any) -> None:
    said = re.escape(f"a function returned {returned!r}; let it return the output, and the state with it")
    with pytest.raises(TypeError, match=said):
        work(returned, "bigint")


@pytest.mark.parametrize("returned", [{"uot": [1]}, {"out": "gold"}, {"out": 1}, {"out": {1, 2}}])
def test_result_that_is_no_array_of_its_name_is_told(returned: Mapping[str, Any]) -> None:
    said = re.escape(f"a function returned {returned!r}; let it return an array or list of 'out'")
    with pytest.raises(TypeError, match=said):
        rows_of(("out",), returned, None)
