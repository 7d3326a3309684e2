"""State by key in Python, in Spark's workers: what a key's rows of a batch become, and what it remembers."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql.streaming.state import GroupState

from market_spread.streaming.modes.rows import CARRIED
from market_spread.streaming.operators.stateful import CountWindow, Inflow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import ORIGIN, Row

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

Array = npt.NDArray[Any]
Memory = Mapping[str, Any]
# From the key, its rows and what it remembers (None for a new one): arrays of what it gives, and the new memory.
Update = Callable[[Any, Row, Memory | None], tuple[Mapping[str, Any], Memory]]

_NEWEST = "_newest"  # in the state: the highest sequence so far
_NEVER = -1


@dataclass(frozen=True, slots=True)
class KeyedWork:
    """A state step for `applyInPandasWithState`. Names in `gives` and `memory` go with their Spark types.

    sequence: the field that numbers a key's rows; a row whose number is not higher than those before is left out.
    keeps_rows: whether each row of the result is the row that it was made of, with its origin and stamps.
    """

    key: str
    takes: tuple[str, ...]
    gives: Mapping[str, str]
    memory: Mapping[str, str]
    update: Update
    sequence: str | None
    keeps_rows: bool = False

    @classmethod
    def of(
        cls,
        step: RunningTotal | StatefulMap | CountWindow,
        *,
        key: str,
        inflows: Iterable[Inflow],
        types: Mapping[str, str],
    ) -> "KeyedWork":
        """The work of a step on rows of these types."""
        sequence = next((inflow.sequence for inflow in inflows if inflow.sequence), None)
        fields = {name: kind for name, kind in types.items() if name not in CARRIED}
        match step:
            case RunningTotal():
                gives = {**fields, step.into: "bigint"}
                return cls(key, tuple(fields), gives, {"total": "bigint"}, _adding_up(step), sequence, keeps_rows=True)
            case CountWindow():
                waiting = {name: f"array<{types[name]}>" for name in step.takes}
                gives = {key: types[key], **step.gives}
                return cls(key, step.takes, gives, waiting, _filling(step), sequence)
            case StatefulMap():
                gives = {key: types[key], **step.gives}
                return cls(key, step.takes, gives, step.state, step.update, sequence)
            case never:
                assert_never(never)

    @property
    def state(self) -> Mapping[str, str]:
        """What Spark keeps for a key.

        Arrays are kept as JSON: Spark 4.3 tells its workers the schema of state in small letters, in which they do not
        find `elementType`.
        """
        kept = {name: "string" if _is_array(kind) else kind for name, kind in self.memory.items()}
        return {**kept, _NEWEST: "bigint"} if self.sequence else kept

    def run(self, _key: object, chunks: "Iterable[DataFrameLike]", state: GroupState) -> "Iterator[DataFrameLike]":
        """One key's rows of a batch."""
        rows = pd.concat(list(chunks), ignore_index=True).sort_values(["_time", *ORIGIN], kind="stable")
        is_bad = rows["reason"].notna()
        if is_bad.any():
            yield rows_of(self.gives, {}, rows[is_bad])
        if not is_bad.all():
            yield self._remember(rows[~is_bad], state)

    def _remember(self, rows: pd.DataFrame, state: GroupState) -> pd.DataFrame:
        before = self._read(state)
        if self.sequence:
            rows = rows[_is_newer(rows[self.sequence].to_numpy(), before[_NEWEST] if before else _NEVER)]
        if not len(rows):
            return rows_of(self.gives, {}, rows)
        key = rows[self.key].iloc[0]
        given, after = self.update(key, Row({name: rows[name].to_numpy() for name in self.takes}), before)
        if self.sequence:
            after = {**after, _NEWEST: int(rows[self.sequence].iloc[-1])}
        state.update(tuple(self._kept(name, after[name]) for name in self.state))
        if self.keeps_rows:
            return rows_of(self.gives, given, rows)
        count = len(next(iter(given.values()))) if given else 0
        return rows_of(self.gives, {self.key: np.full(count, key, object), **given}, None)

    def _read(self, state: GroupState) -> Memory | None:
        if not state.exists:
            return None
        kept = dict(zip(self.state, state.get, strict=True))
        return {
            name: json.loads(value) if _is_array(self.memory.get(name, "")) else value for name, value in kept.items()
        }

    def _kept(self, name: str, value: Any) -> Any:
        """Spark's state takes Python's own numbers, and no numpy."""
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return json.dumps(plain) if _is_array(self.memory.get(name, "")) else plain


def rows_of(gives: Iterable[str], given: Mapping[str, Any], origin: pd.DataFrame | None) -> pd.DataFrame:
    """Rows for Spark: the fields that are given, nothing in the others, and origin and stamps of the rows before."""
    count = len(next(iter(given.values()))) if origin is None else len(origin)
    nothing = np.full(count, None, object)
    values: dict[str, Any] = {name: given.get(name, nothing) for name in gives}
    for name in CARRIED:
        values[name] = nothing if origin is None else _without_nan(origin[name])
    return pd.DataFrame(values)


def _without_nan(column: "pd.Series[Any]") -> Array:
    """Numbers that may be missing come as floats, which Spark would not take back."""
    present = column.notna().to_numpy()
    values = np.full(len(column), None, object)
    values[present] = [int(value) if isinstance(value, float) else value for value in column[present]]
    return values


def _adding_up(step: RunningTotal) -> Update:
    def update(_key: Any, rows: Row, before: Memory | None) -> tuple[Mapping[str, Any], Memory]:
        count = len(next(iter(rows.values())))
        added = rows[step.of] if step.of else np.ones(count, np.int64)
        totals = np.cumsum(added) + (before["total"] if before else 0)
        return {**rows, step.into: totals}, {"total": int(totals[-1])}

    return update


def _filling(step: CountWindow) -> Update:
    def update(key: Any, rows: Row, before: Memory | None) -> tuple[Mapping[str, Any], Memory]:
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

    return update


def _is_newer(sequence: Array, newest: int) -> Array:
    """Which are higher than all before them."""
    before = np.maximum.accumulate(np.concatenate(([newest], sequence)))[:-1]
    return np.asarray(sequence > before)


def _is_array(kind: str) -> bool:
    return kind.startswith("array")
