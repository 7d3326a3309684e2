"""A pipeline as a query of micro-batch mode: steps of columns run in Spark, Python and its state on arrays.

The as-of join works on whole frames, which makes this mode fast (as_of_join.py). All other Python gets pandas frames of
rows, and keeps its state by key.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from market_spread.common.job_contract import duration
from market_spread.common.wire.layout import InvalidReason
from market_spread.streaming.messages import Names
from market_spread.streaming.modes import rows as row_ops
from market_spread.streaming.modes.micro_batch.as_of_join import join_frames
from market_spread.streaming.modes.support import why_by_row
from market_spread.streaming.operators import stateful
from market_spread.streaming.operators.stateful import AsOfJoin, ByTime, CountWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import ORIGIN, Computation, MapBatches, OnError, Row
from market_spread.streaming.pipeline import Pipeline, Stream

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

Array = npt.NDArray[Any]
KeyState = Mapping[str, Any]
# From the key, its rows and its state (None for a new key): the arrays of the output, and the new state.
Updated = tuple[Mapping[str, Any], KeyState]
Update = Callable[[Any, Row, KeyState | None], Updated]

_HIGHEST = "_newest"  # in the stored state: the highest sequence so far
_LAST, _KEY = "_last", "_key_"  # there, too: the time of the key's last row, and the fields of the key
_NEVER = -1
_NULLS = "_nulls"  # of a row that only passes through Python: for each field, whether it is null
_CERTAINLY_64_BITS = 2.0**62
_COLUMNS = (list, tuple, np.ndarray, pd.Series)
_NUMBERS = {"byte": int, "short": int, "integer": int, "long": int, "float": float, "double": float, "decimal": Decimal}
# JSON keeps the elements as they are, whatever they are; so does Spark's verifier of a string.
_ANY = T.StringType()
_OF_ANY = {"array": T.ArrayType(_ANY), "map": T.MapType(_ANY, _ANY), "struct": T.StructType([])}
_MICROSECONDS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def compile_pipeline(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """See `Mode.compile`."""
    rows = reduce(_apply_step, pipeline.stream.computations, _after_state(pipeline, records))
    output = row_ops.output_records(rows, pipeline, topics)
    if pipeline.late is None:
        return output
    late = _late_rows(pipeline, row_ops.branch_rows(pipeline, records, _apply_step, is_counted=False))
    return row_ops.union_all([output, row_ops.output_records(late, pipeline.late, topics)])


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    stream, branches = pipeline.stream, partial(row_ops.branch_rows, pipeline, records, _apply_step)
    match stream.state:
        case AsOfJoin() as state if why_by_row(pipeline) is None:
            return join_frames(pipeline, state, records)
        case stateful.TimeWindow() | stateful.Deduplicate() | stateful.IntervalJoin() as state:
            # Malformed rows bypass what drops late rows: they have no time.
            malformed = row_ops.union_all(branches(is_counted=False)).where(~row_ops.is_good())
            return row_ops.union_all([_by_time(stream, state, branches()), malformed.select(*row_ops.METADATA_TYPES)])
        case AsOfJoin() | RunningTotal() | StatefulMap() | CountWindow() as state:
            return _keyed(pipeline, state, branches())
        case None:
            return row_ops.union_all(branches())


def _apply_step(rows: DataFrame, step: Computation) -> DataFrame:
    return _map_batches(rows, step) if isinstance(step, MapBatches) else row_ops.apply_step(rows, step)


def _map_batches(rows: DataFrame, step: MapBatches) -> DataFrame:
    """The function's output for the good rows, which has no origin any more, and the malformed rows.

    A row without a value in a field that the function takes is malformed.
    """

    def call(good: pd.DataFrame) -> pd.DataFrame:
        return rows_of(step.gives, step.function(Row({name: good[name].to_numpy() for name in step.takes})), None)

    def work(chunks: "Iterable[DataFrameLike]") -> "Iterator[DataFrameLike]":
        for chunk in chunks:
            is_bad = chunk["reason"].notna()
            if not is_bad.all():
                yield from _attempted(chunk[~is_bad], call, step.gives, step.on_error)
            if is_bad.any():
                yield rows_of(step.gives, {}, chunk[is_bad])

    taken = _filled(row_ops.with_values(rows, step.takes), step.takes)
    return taken.select(*step.takes, *row_ops.METADATA_TYPES).mapInPandas(work, _ddl(step.gives))


def _ddl(fields: Mapping[str, str]) -> str:
    """These fields and the metadata, as Spark's DDL."""
    return ", ".join(f"`{name}` {kind}" for name, kind in {**fields, **row_ops.METADATA_TYPES}.items())


def _attempted(
    rows: pd.DataFrame, call: Callable[[pd.DataFrame], pd.DataFrame], gives: Iterable[str], on_error: OnError
) -> Iterator[pd.DataFrame]:
    """What becomes of the rows: see OnError."""
    try:
        made = call(rows)
    except Exception:
        if on_error == "fail":
            raise
        if len(rows) > 1:
            half = len(rows) // 2
            for part in (rows[:half], rows[half:]):
                yield from _attempted(part, call, gives, on_error)
            return
        made = rows_of(gives, {}, rows.assign(reason=InvalidReason.FUNCTION_RAISED.value))
    yield made


def rows_of(gives: Iterable[str], given: Mapping[str, Any], origin: pd.DataFrame | None) -> pd.DataFrame:
    """Rows for Spark: the given fields, null in the others, and the metadata of the input rows (null without them)."""
    if wrong := [name for name in gives if origin is None and not isinstance(given.get(name), _COLUMNS)]:
        raise TypeError(f"a function returned {given!r}; let it return an array or list of {wrong[0]!r}, too")
    nothing = np.full(len(next(iter(given.values()), ())) if origin is None else len(origin), None, object)
    fields = {name: given.get(name, nothing) for name in gives}
    # numpy would make floats of integers among which there is None.
    lists = {name: it for name, it in fields.items() if isinstance(it, list | tuple) and any(v is None for v in it)}
    metadata = {name: nothing if origin is None else origin[name].to_numpy() for name in row_ops.METADATA_TYPES}
    return pd.DataFrame({**fields, **{name: pd.Series(it, dtype=object) for name, it in lists.items()}, **metadata})


def _filled(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows with a zero for nulls in these fields, and for whatever a malformed row has there.

    pandas would turn integers with nulls into floats, and stop at bytes that are not valid UTF-8.
    """
    kinds = {name: rows.schema[name].dataType for name in names if isinstance(rows.schema[name].dataType, T.AtomicType)}
    good = {name: F.when(row_ops.is_good(), F.col(name)) for name in kinds}
    return rows.withColumns({name: F.coalesce(good[name], F.lit("0").cast(kind)) for name, kind in kinds.items()})


def _by_time(stream: Stream, state: ByTime, branches: Sequence[DataFrame]) -> DataFrame:
    """What becomes of the good rows. What is late is seen over all sources together, in a join by each."""
    times = [str(schema.time) for schema in stream.schemas.values()]
    if isinstance(state, stateful.IntervalJoin):
        return _joined(stream, state, [_timed(rows, [time], state) for rows, time in zip(branches, times, strict=True)])
    rows = _timed(row_ops.union_all(branches), times, state)
    if isinstance(state, stateful.Deduplicate):
        return rows.dropDuplicates([*stream.keys, "_time"])
    if isinstance(state, stateful.SessionWindow):
        window = F.session_window("_time", duration(state.gap_s))
    else:
        window = F.window("_time", duration(state.size_s), duration(state.slide_s or state.size_s))
    row = Row({name: F.col(name) for name in rows.columns})
    aggregates = [function(row).alias(name) for name, function in state.aggregates.items()]
    grouped = rows.groupBy(*stream.keys, window.alias("_span")).agg(*aggregates)
    span = [F.unix_micros(f"_span.{end}").alias(f"window_{end}_us") for end in ("start", "end")]
    nothing = (F.lit(None).cast(kind).alias(name) for name, kind in row_ops.METADATA_TYPES.items())
    return grouped.select(*stream.keys, *span, *state.aggregates, *nothing)


def _late_rows(pipeline: Pipeline, branches: Sequence[DataFrame]) -> DataFrame:
    """The good rows that the step by time drops, as they were before it.

    Spark's watermark is no column, but a function of a group is told it. Beside the rows' own operator, each partition
    of a topic is a group without state; its rows go through Python as JSON, which keeps their nulls and types.
    """
    state = cast(ByTime, pipeline.stream.state)
    times = [str(schema.time) for schema in pipeline.stream.schemas.values()]
    rows = row_ops.union_all([_timed(each, [time], state) for each, time in zip(branches, times, strict=True)])
    fields = [field for field in rows.schema if field.name != "_time"]
    schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields)
    row = F.to_json(F.struct(*(field.name for field in fields)), _MICROSECONDS).alias("row")
    grouped = rows.select("topic", "partition", _over_us(state), "_time", row).groupBy("topic", "partition")
    late = grouped.applyInPandasWithState(_too_late, "row string", "nothing int", "append", GroupStateTimeout.NoTimeout)
    return row_ops.count_late(late.select(F.from_json("row", schema, _MICROSECONDS).alias("row")).select("row.*"))


def _too_late(_: object, chunks: "Iterable[DataFrameLike]", state: GroupState) -> "Iterator[DataFrameLike]":
    for chunk in chunks:
        yield chunk[chunk["_over_us"] <= state.getCurrentWatermarkMs() * 1000][["row"]]


def _over_us(state: ByTime) -> Column:
    """Where the watermark is when the step drops the row: at the end of its last window, or at its time."""
    over = F.unix_micros("_time")
    if isinstance(state, stateful.RangeWindow):
        slide_us = F.lit(round((state.slide_s or state.size_s) * 1e6))
        over = over - F.pmod(over, slide_us) + round(state.size_s * 1e6)
    elif isinstance(state, stateful.SessionWindow):
        over = over + round(state.gap_s * 1e6)
    return over.alias("_over_us")


def _timed(rows: DataFrame, times: Iterable[str], state: ByTime) -> DataFrame:
    time = F.timestamp_micros(F.coalesce(*times).cast("bigint"))
    return rows.where(row_ops.is_good()).withColumn("_time", time).withWatermark("_time", duration(state.late_s))


def _joined(stream: Stream, state: stateful.IntervalJoin, branches: Sequence[DataFrame]) -> DataFrame:
    is_of = [branch.source.name == state.of for branch in stream.branches]
    rows, others = branches[is_of.index(False)], branches[is_of.index(True)]
    of = others.select(
        F.col("_time").alias("_of_time"),
        *(F.col(name).alias(f"_of_{name}") for name in stream.keys),
        *(F.col(name).alias(into) for into, name in state.added.items()),
    )
    before, after = (F.expr(f"interval {seconds} seconds") for seconds in (state.before_s, state.after_s))
    near = F.col("_of_time").between(F.col("_time") - before, F.col("_time") + after)
    return rows.join(of, reduce(Column.__and__, (F.col(name) == F.col(f"_of_{name}") for name in stream.keys), near))


def _keyed(
    pipeline: Pipeline, state: AsOfJoin | RunningTotal | StatefulMap | CountWindow, branches: Sequence[DataFrame]
) -> DataFrame:
    keys, schemas = pipeline.stream.keys, pipeline.stream.schemas
    has_times = all(schema.time for schema in schemas.values())
    orders = [_order(state, source, schema.time if has_times else None) for source, schema in schemas.items()]
    rows = row_ops.union_all([rows.withColumn("_time", order) for rows, order in zip(branches, orders, strict=True)])
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    keyed_by = {name: types[name] for name in keys}
    sequence = next((schema.sequence for schema in schemas.values() if schema.sequence), None)
    fields = {name: kind for name, kind in types.items() if name not in (*row_ops.METADATA_TYPES, "_time")}
    match state:
        case AsOfJoin():
            added = dict.fromkeys(state.added, "bigint")
            gives, taken = {**fields, **added, _NULLS: "string", "_time": "bigint"}, (*fields, _NULLS, "_time")
            update = partial(_join_latest, state, str(sequence))
            work = KeyedWork(keys, taken, gives, {**added, _HIGHEST: "bigint"}, update, None, keeps_rows=True)
        case RunningTotal():
            gives, taken = {**fields, _NULLS: "string", state.into: "bigint"}, (*fields, _NULLS)
            update = partial(_add_up, state)
            work = KeyedWork(keys, taken, gives, {"total": "bigint"}, update, sequence, keeps_rows=True)
        case CountWindow():
            gives, waiting = {**keyed_by, **state.gives}, {name: f"array<{types[name]}>" for name in state.takes}
            work = KeyedWork(keys, state.takes, gives, waiting, partial(_fill_windows, state), sequence)
        case StatefulMap():
            declared = {name: T.DataType.fromDDL(kind).json() for name, kind in state.state.items()}
            work = KeyedWork(
                keys, state.takes, {**keyed_by, **state.gives}, state.state, state.update, sequence, declared=declared,
                forgets=state if state.forget_after_s else None, on_error=state.on_error,
            )  # fmt: skip
    nullable = [name for name in fields if name not in replace(pipeline.stream, state=None, computations=()).present]
    nulls = F.concat(F.lit(""), *(F.when(F.col(name).isNull(), "1").otherwise("0") for name in nullable))
    keyed = _filled(rows.withColumns({"_key": row_ops.row_key(keys), _NULLS: nulls}), [*fields])
    if work.forgets:
        at = F.when(row_ops.is_good(), F.timestamp_micros("_time"))
        keyed = keyed.withColumn("_at", at).withWatermark("_at", duration(work.forgets.late_s))
    after = keyed.groupBy("_key").applyInPandasWithState(
        work.run,
        outputStructType=_ddl(work.gives),
        stateStructType=", ".join(f"`{name}` {kind}" for name, kind in work.stored_state.items()),
        outputMode="append",
        timeoutConf=GroupStateTimeout.EventTimeTimeout if work.forgets else GroupStateTimeout.NoTimeout,
    )
    if not isinstance(state, AsOfJoin | RunningTotal):
        return after
    present = {name: F.substring(_NULLS, i, 1) == "0" for i, name in enumerate(nullable, 1) if name not in state.adds}
    restored = after.withColumns({name: F.when(there, F.col(name)) for name, there in present.items()}).drop(_NULLS)
    if isinstance(state, RunningTotal):
        return row_ops.refused(restored, F.col(state.into).isNull(), InvalidReason.OVERFLOW)
    emitted = state.emit(Row({name: F.col(name) for name in restored.columns})) if state.emit else F.lit(True)
    return restored.where(~row_ops.is_good() | ((F.col("_time") % 2 != 0) & emitted)).drop("_time")


def _order(state: stateful.StatefulStep, source: str, time: str | None) -> Column:
    """By what rows take effect: their time; in a join twice that, of which even numbers are the rows that it keeps."""
    order = F.col(time).cast("bigint") if time else F.lit(0).cast("bigint")
    return order * 2 + (0 if state.of == source else 1) if isinstance(state, AsOfJoin) else order


def _plain(key: tuple[Any, ...]) -> Any:
    return key if len(key) > 1 else key[0]


@dataclass(frozen=True, slots=True)
class KeyedWork:
    """A stateful step for `applyInPandasWithState`. `gives` and `state` map names to Spark types.

    sequence: the field that numbers a key's rows; a row whose number is not higher than the earlier ones is dropped.
    keeps_rows: whether each output row is an input row with more fields, which keeps its origin and stamps. declared:
    Spark's types, as JSON, of what the user declared. forgets: the step, if its state is forgotten. on_error: see
    OnError.
    """

    keys: Names
    takes: Names
    gives: Mapping[str, str]
    state: Mapping[str, str]
    update: Update
    sequence: str | None
    keeps_rows: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)
    forgets: StatefulMap | None = None
    on_error: OnError = "fail"

    @property
    def stored_state(self) -> Mapping[str, str]:
        """The state as Spark stores it.

        Nested types are stored as JSON: Spark 4.3 passes the schema of a state to its workers in lower case, where they
        do not find `elementType`.
        """
        kept = {name: "string" if _is_nested(kind) else kind for name, kind in self.state.items()}
        if self.forgets:
            kept |= {_LAST: "bigint", **{_KEY + name: self.gives[name] for name in self.keys}}
        return {**kept, _HIGHEST: "bigint"} if self.sequence else kept

    def run(self, _key: object, chunks: "Iterable[DataFrameLike]", state: GroupState) -> "Iterator[DataFrameLike]":
        """One key's rows of a batch, or the end of its state."""
        if state.hasTimedOut:
            before = self._read(state) or {}
            state.remove()
            if self.forgets and self.forgets.forgotten:
                key = tuple(before[_KEY + name] for name in self.keys)
                yield self._rows(key, self.forgets.forgotten(_plain(key), before))
            return
        rows = pd.concat(list(chunks), ignore_index=True).sort_values(["_time", *ORIGIN], kind="stable")
        is_bad = rows["reason"].notna()
        if is_bad.any():
            yield rows_of(self.gives, {}, rows[is_bad])
        if not is_bad.all():
            yield from _attempted(rows[~is_bad], partial(self._update, state=state), self.gives, self.on_error)

    def _update(self, rows: pd.DataFrame, state: GroupState) -> pd.DataFrame:
        before = self._read(state)
        if self.sequence:
            numbers, newest = rows[self.sequence].to_numpy(), before[_HIGHEST] if before else _NEVER
            rows = rows[numbers > np.maximum.accumulate(np.concatenate(([newest], numbers)))[:-1]]
        if not len(rows):
            return rows_of(self.gives, {}, rows)
        key = tuple(rows[name].iloc[0] for name in self.keys)
        taken = Row({name: rows[name].to_numpy() for name in self.takes})
        match self.update(_plain(key), taken, before):
            case [given, Mapping() as after] if self.state.keys() <= after.keys() <= self.stored_state.keys():
                pass
            case other:
                names = ", ".join(self.state)
                raise TypeError(f"a function returned {other!r}; let it return the output, and the state with {names}")
        if self.sequence:
            after = {**after, _HIGHEST: int(rows[self.sequence].iloc[-1])}
        if self.forgets and self.forgets.forget_after_s:
            last = max(int(rows["_time"].iloc[-1]), before[_LAST] if before else 0)
            after = {**after, _LAST: last, **{_KEY + name: value for name, value in zip(self.keys, key, strict=True)}}
            state.setTimeoutTimestamp(last // 1000 + round(self.forgets.forget_after_s * 1000))
        made = rows_of(self.gives, given, rows) if self.keeps_rows else self._rows(key, given)
        state.update(tuple(self._stored(name, after[name]) for name in self.stored_state))
        return made

    def _rows(self, key: tuple[Any, ...], given: Mapping[str, Any]) -> pd.DataFrame:
        given = given or dict.fromkeys(self.gives, ())
        count = len(next(iter(given.values())))
        keyed_by = {name: np.full(count, value, object) for name, value in zip(self.keys, key, strict=True)}
        return rows_of(self.gives, {**keyed_by, **given}, None)

    def _read(self, state: GroupState) -> KeyState | None:
        if not state.exists:
            return None
        kept = zip(self.stored_state, state.get, strict=True)
        return {name: json.loads(value) if _is_nested(self.state.get(name, "")) else value for name, value in kept}

    def _stored(self, name: str, value: Any) -> Any:
        """Spark's state takes Python's numbers, not numpy's. Of a value of another type it would make null."""
        kind, plain = self.state.get(name, ""), value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        of, verify = _state_type(self.declared[name]) if name in self.declared else ("", lambda _: None)
        plain = _NUMBERS[of](plain) if isinstance(plain, int) and of in _NUMBERS else plain
        try:
            verify(plain)
            "".join(plain if isinstance(plain, dict) else ())  # a TypeError for keys that JSON would make texts of
        except (TypeError, ValueError) as error:
            raise TypeError(f"the new state has {plain!r} as {name!r}; let it be of the type {kind}") from error
        return json.dumps(plain) if _is_nested(kind) else plain


def _join_latest(step: AsOfJoin, sequence: str, _key: Any, rows: Row, before: KeyState | None) -> Updated:
    """The join of `kernels.join_as_of`, of one key, its rows in order."""
    numbers = np.where(rows["_time"] % 2 == 0, rows[sequence], _NEVER)
    highest = np.maximum.accumulate(np.concatenate(([before[_HIGHEST] if before else _NEVER], numbers)))
    # Of each row, which row is the latest by then, counted from 1; 0 is the one of the state.
    latest = np.maximum.accumulate(np.where(numbers > highest[:-1], np.arange(1, len(numbers) + 1), 0))
    met = {to: np.concatenate(([before[to] if before else 0], rows[name]))[latest] for to, name in step.added.items()}
    return {**rows, **met}, {_HIGHEST: int(highest[-1]), **{to: values[-1] for to, values in met.items()}}


def _add_up(step: RunningTotal, _key: Any, rows: Row, before: KeyState | None) -> Updated:
    added = rows[step.of].astype(np.int64) if step.of else np.ones(len(next(iter(rows.values()))), np.int64)
    total = before["total"] if before else 0
    # As doubles first: in 64 bits, a total that leaves them begins at the other end, and nothing says so.
    if total is not None and abs(total) + np.abs(added.astype(np.float64)).sum() < _CERTAINLY_64_BITS:
        totals = np.cumsum(added) + total
        return {**rows, step.into: totals}, {"total": int(totals[-1])}
    exact = []
    for each in added.tolist():
        total = None if total is None or not -(2**63) <= total + each < 2**63 else total + each
        exact.append(total)
    return {**rows, step.into: np.array(exact, object)}, {"total": total}


def _fill_windows(step: CountWindow, key: Any, rows: Row, before: KeyState | None) -> Updated:
    waiting = {
        name: np.concatenate((np.array(before[name] if before else (), rows[name].dtype), rows[name]))
        for name in step.takes
    }
    full = len(next(iter(waiting.values()))) // step.size * step.size
    made = [
        step.function(key, Row({name: values[begin : begin + step.size] for name, values in waiting.items()}))
        for begin in range(0, full, step.size)
    ]
    left = {name: values[full:].tolist() for name, values in waiting.items()}
    return {name: [one[name] for one in made] for name in step.gives}, left


def _is_nested(kind: str) -> bool:
    return kind.lower().startswith(("array", "map", "struct"))


@cache
def _state_type(as_json: str) -> tuple[str, Callable[[Any], None]]:
    """A type's name, and what raises for a value that is none of it: Spark's own, which has no public name."""
    kind = T._parse_datatype_json_string(as_json)
    return kind.typeName(), T._make_type_verifier(_OF_ANY.get(kind.typeName(), kind))
