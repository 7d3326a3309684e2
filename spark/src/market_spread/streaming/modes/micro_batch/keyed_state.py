"""State by key in Python, in Spark's workers: a key's output rows for a batch, and its new state."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql.streaming.state import GroupState

from market_spread.streaming.modes.rows import METADATA
from market_spread.streaming.operators.stateful import CountWindow, RowSchema, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import ORIGIN, Row

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

Array = npt.NDArray[Any]
KeyState = Mapping[str, Any]
# From the key, its rows and its state (None for a new key): the arrays of the output, and the new state.
Update = Callable[[Any, Row, KeyState | None], tuple[Mapping[str, Any], KeyState]]

_HIGHEST = "_newest"  # in the stored state: the highest sequence so far
_NEVER = -1


@dataclass(frozen=True, slots=True)
class KeyedWork:
    """A stateful step for `applyInPandasWithState`. `gives` and `state` map names to Spark types.

    sequence: the field that numbers a key's rows; a row whose number is not higher than the earlier ones is dropped.
    keeps_rows: whether each output row is an input row with more fields, which keeps its origin and stamps.
    """

    key: str
    takes: tuple[str, ...]
    gives: Mapping[str, str]
    state: Mapping[str, str]
    update: Update
    sequence: str | None
    keeps_rows: bool = False

    @classmethod
    def of(
        cls,
        step: RunningTotal | StatefulMap | CountWindow,
        *,
        key: str,
        schemas: Iterable[RowSchema],
        types: Mapping[str, str],
    ) -> "KeyedWork":
        """A step on rows of these types."""
        sequence = next((schema.sequence for schema in schemas if schema.sequence), None)
        fields = {name: kind for name, kind in types.items() if name not in METADATA}
        match step:
            case RunningTotal():
                gives, update = {**fields, step.into: "bigint"}, partial(_add_up, step)
                return cls(key, tuple(fields), gives, {"total": "bigint"}, update, sequence, keeps_rows=True)
            case CountWindow():
                waiting = {name: f"array<{types[name]}>" for name in step.takes}
                gives = {key: types[key], **step.gives}
                return cls(key, step.takes, gives, waiting, partial(_fill_windows, step), sequence)
            case StatefulMap():
                gives = {key: types[key], **step.gives}
                return cls(key, step.takes, gives, step.state, step.update, sequence)
            case never:
                assert_never(never)

    @property
    def stored_state(self) -> Mapping[str, str]:
        """The state as Spark stores it.

        Arrays are stored as JSON: Spark 4.3 passes the schema of a state to its workers in lower case, where they do
        not find `elementType`.
        """
        kept = {name: "string" if _is_array(kind) else kind for name, kind in self.state.items()}
        return {**kept, _HIGHEST: "bigint"} if self.sequence else kept

    def run(self, _key: object, chunks: "Iterable[DataFrameLike]", state: GroupState) -> "Iterator[DataFrameLike]":
        """One key's rows of a batch."""
        rows = pd.concat(list(chunks), ignore_index=True).sort_values(["_time", *ORIGIN], kind="stable")
        is_bad = rows["reason"].notna()
        if is_bad.any():
            yield rows_of(self.gives, {}, rows[is_bad])
        if not is_bad.all():
            yield self._update(rows[~is_bad], state)

    def _update(self, rows: pd.DataFrame, state: GroupState) -> pd.DataFrame:
        before = self._read(state)
        if self.sequence:
            rows = rows[_is_newer(rows[self.sequence].to_numpy(), before[_HIGHEST] if before else _NEVER)]
        if not len(rows):
            return rows_of(self.gives, {}, rows)
        key = rows[self.key].iloc[0]
        given, after = self.update(key, Row({name: rows[name].to_numpy() for name in self.takes}), before)
        if self.sequence:
            after = {**after, _HIGHEST: int(rows[self.sequence].iloc[-1])}
        state.update(tuple(self._stored(name, after[name]) for name in self.stored_state))
        if self.keeps_rows:
            return rows_of(self.gives, given, rows)
        count = len(next(iter(given.values()))) if given else 0
        return rows_of(self.gives, {self.key: np.full(count, key, object), **given}, None)

    def _read(self, state: GroupState) -> KeyState | None:
        if not state.exists:
            return None
        kept = dict(zip(self.stored_state, state.get, strict=True))
        return {
            name: json.loads(value) if _is_array(self.state.get(name, "")) else value for name, value in kept.items()
        }

    def _stored(self, name: str, value: Any) -> Any:
        """Spark's state takes Python's numbers, not numpy's."""
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return json.dumps(plain) if _is_array(self.state.get(name, "")) else plain


def rows_of(gives: Iterable[str], given: Mapping[str, Any], origin: pd.DataFrame | None) -> pd.DataFrame:
    """Rows for Spark: the given fields, null in the others, and the metadata of the input rows (null without them)."""
    count = len(next(iter(given.values()))) if origin is None else len(origin)
    nothing = np.full(count, None, object)
    values: dict[str, Any] = {name: given.get(name, nothing) for name in gives}
    for name in METADATA:
        values[name] = nothing if origin is None else _without_nan(origin[name])
    return pd.DataFrame(values)


def _without_nan(column: "pd.Series[Any]") -> Array:
    """Integers with nulls arrive as floats, which Spark would not take back."""
    present = column.notna().to_numpy()
    values = np.full(len(column), None, object)
    values[present] = [int(value) if isinstance(value, float) else value for value in column[present]]
    return values


def _add_up(step: RunningTotal, _key: Any, rows: Row, before: KeyState | None) -> tuple[Mapping[str, Any], KeyState]:
    count = len(next(iter(rows.values())))
    added = rows[step.of] if step.of else np.ones(count, np.int64)
    totals = np.cumsum(added) + (before["total"] if before else 0)
    return {**rows, step.into: totals}, {"total": int(totals[-1])}


def _fill_windows(
    step: CountWindow, key: Any, rows: Row, before: KeyState | None
) -> tuple[Mapping[str, Any], KeyState]:
    waiting = {
        name: np.concatenate((np.array(before[name] if before else (), rows[name].dtype), rows[name]))
        for name in step.takes
    }
    count = len(next(iter(waiting.values())))
    full = count // step.size * step.size
    made = [
        step.function(key, Row({name: values[begin : begin + step.size] for name, values in waiting.items()}))
        for begin in range(0, full, step.size)
    ]
    left = {name: values[full:].tolist() for name, values in waiting.items()}
    return {name: [one[name] for one in made] for name in step.gives}, left


def _is_newer(sequence: Array, newest: int) -> Array:
    """Which numbers are higher than all earlier ones."""
    before = np.maximum.accumulate(np.concatenate(([newest], sequence)))[:-1]
    return np.asarray(sequence > before)


def _is_array(kind: str) -> bool:
    return kind.startswith("array")
