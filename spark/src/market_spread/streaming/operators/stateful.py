"""Stateful steps: the output for a row depends on earlier rows of its key.

A source may declare a sequence. State then ignores a row whose sequence is not higher than those of the earlier rows
of its key, so input that is sent again changes nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from market_spread.streaming.messages import Messages, Names, each_once, fields_of, whole_numbers
from market_spread.streaming.operators.stateless import NamedStep, OnError, Row, Sink


@dataclass(frozen=True, slots=True)
class RowSchema:
    """The rows that a source delivers to a stateful step: their messages and fields, and the roles of some fields."""

    messages: Messages
    fields: Names
    time: str | None = None
    sequence: str | None = None


RowSchemas = Mapping[str, RowSchema]  # by the names of their sources


@dataclass(frozen=True, slots=True)
class StatefulStep(NamedStep):
    """What all stateful steps have. keeps: what the state holds, and how long, with places for the step's values."""

    keeps: ClassVar[str]

    def fields_of(self, schemas: RowSchemas) -> Names:
        """The fields of a row after the step; the key is there as well."""
        return self.adds

    def problem(self, schemas: RowSchemas) -> str | None:
        """Why the step cannot take rows of these sources, with the remedy; None if it can."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Join(StatefulStep):
    """Adds to each row of one source fields of another: `added` maps their names to those that `of` has."""

    of: str
    added: Mapping[str, str]

    @property
    def adds(self) -> Names:
        return tuple(self.added)

    def fields_of(self, schemas: RowSchemas) -> Names:
        others = {source: schema for source, schema in schemas.items() if source != self.of}
        return each_once((*_all_fields(others), *self.added))

    def _cannot_join(self, schemas: RowSchemas) -> str | None:
        if self.of not in schemas:
            return f"there is no source {self.of!r} before it, only {', '.join(schemas)}; merge it in"
        if len(schemas) != 2:
            return f"it joins two sources, one of them {self.of!r}, not {', '.join(schemas)}; merge two"
        for name in self.added.values():
            if name not in schemas[self.of].fields:
                return f"the source {self.of!r} has no field {name!r}; it has {', '.join(schemas[self.of].fields)}"
        return None


@dataclass(frozen=True, slots=True)
class AsOfJoin(Join):
    """Joins each row with the latest row of another source that has the same key (as-of join). Constant-size state.

    of: the source whose latest row is kept; its sequence says which row is later. added: the fields that the join adds,
    each with the field of `of` that it holds: integers, 0 while the key has had no such row. emit: which rows are
    output (all if None); portable.

    >>> newest_quote = AsOfJoin(
    ...     "newest quote", of="nbbo", added={"bid": "bid"}, emit=lambda order: order.price > order.bid
    ... )
    >>> newest_quote.emit(Row({"price": 101, "bid": 100}))
    True
    """

    emit: Callable[[Row], Any] | None = None
    kind: ClassVar[str] = "as-of join"
    keeps: ClassVar[str] = "the latest row of {0.of} for each key, for ever"

    def problem(self, schemas: RowSchemas) -> str | None:
        if problem := self._cannot_join(schemas):
            return problem
        schema = schemas[self.of]
        if schema.sequence is None:
            return f"the source {self.of!r} declares no sequence, so no row is known to be later; declare one"
        for source, other in schemas.items():
            if other.time is None:
                return f"the source {source!r} declares no time, so its rows have no order; declare one"
        for name in self.added.values():
            if name in fields_of(schema.messages) and name not in whole_numbers(schema.messages, signed=True):
                return f"{name!r} of {self.of!r} is not a number, and the state keeps only numbers; leave it out"
        return None


@dataclass(frozen=True, slots=True)
class RunningTotal(StatefulStep):
    """Adds to each row the total so far of the field `of` over the rows of its key; without `of`, their number.

    Constant-size state: one integer per key. Rows of a key whose total has left 64 bits go to `invalid`.

    >>> RunningTotal("earned", into="total", of="fare").adds
    ('total',)
    """

    into: str
    of: str | None = None
    kind: ClassVar[str] = "running total"
    keeps: ClassVar[str] = "a number for each key, for ever"

    @property
    def adds(self) -> Names:
        return (self.into,)

    def fields_of(self, schemas: RowSchemas) -> Names:
        return each_once((*_all_fields(schemas), self.into))

    def problem(self, schemas: RowSchemas) -> str | None:
        return _cannot_number(schemas) or _missing((self.of,) if self.of else (), schemas)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonState(StatefulStep):
    """A step whose function gets arrays. takes: fields of the rows; gives: fields of the output, with Spark types."""

    takes: Names
    gives: Mapping[str, str]

    @property
    def adds(self) -> Names:
        return tuple(self.gives)

    def problem(self, schemas: RowSchemas) -> str | None:
        return _cannot_number(schemas) or _missing(self.takes, schemas)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulMap(PythonState):
    """Python with state of any size per key: from the key's new rows and its state, output rows and the new state.

    takes, gives: see PythonState; state: names of its values with their Spark types. update: called with the key, a Row
    of arrays (n,) in the order in which the rows take effect, and the state (None for a new key); returns the arrays of
    `gives`, and the new state. forget_after_s: how long after a key's last row its state is kept, by the time that the
    source declares; for ever without it. forgotten: called then with the key and the state; returns the arrays of
    `gives`. late_s: see TimeWindow. on_error: see OnError; a row that is diverted leaves the state as it was, and an
    exception in `forgotten` always fails.

    >>> def highest(driver, rows, before):
    ...     best = max([*rows.fare, *([before["best"]] if before else [])])
    ...     return {"best": [best]}, {"best": best}
    >>> best = StatefulMap(
    ...     "best", takes=("fare",), state={"best": "bigint"}, gives={"best": "bigint"}, update=highest
    ... )
    >>> best.update("anna", Row({"fare": [12, 30]}), {"best": 20})
    ({'best': [30]}, {'best': 30})
    """

    state: Mapping[str, str]
    update: Callable[[Any, Row, Mapping[str, Any] | None], tuple[Mapping[str, Any], Mapping[str, Any]]]
    forget_after_s: float | None = None
    forgotten: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] | None = None
    late_s: float = 0.0
    on_error: OnError = "fail"
    kind: ClassVar[str] = "stateful map"
    keeps: ClassVar[str] = "the state of each key, {0.lifetime}"

    @property
    def lifetime(self) -> str:
        """How long the state of a key is kept."""
        ends = self.forget_after_s is not None
        return f"for {self.forget_after_s:g} s after its last row, and {self.late_s:g} s more" if ends else "for ever"

    def problem(self, schemas: RowSchemas) -> str | None:
        if self.forget_after_s is not None and self.forget_after_s <= 0:
            return f"forget_after_s={self.forget_after_s:g}; use more than 0, or leave it out"
        if keyed := [
            name for name, kind in self.state.items() if re.search(r"map\s*<(?!\s*string)", kind, re.IGNORECASE)
        ]:
            return f"the keys of {keyed[0]!r}, a {self.state[keyed[0]]}, do not stay what they are; let them be string"
        seconds = {"forget_after_s": self.forget_after_s, "late_s": self.late_s}
        by_time = _cannot_time(schemas, **seconds) if self.forget_after_s else None
        return by_time or PythonState.problem(self, schemas)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWindow(PythonState):
    """One row for every `size` rows of a key; the state keeps the rows of a window that is not full yet.

    takes, gives: see PythonState; function: called with the key and a Row of arrays (size,); returns a value for each
    of `gives`.

    >>> mean = CountWindow(
    ...     "mean of 2",
    ...     size=2,
    ...     takes=("fare",),
    ...     gives={"mean": "double"},
    ...     function=lambda driver, rows: {"mean": sum(rows.fare) / 2},
    ... )
    >>> mean.function("anna", Row({"fare": [12, 30]}))
    {'mean': 21.0}
    """

    size: int
    function: Callable[[Any, Row], Mapping[str, Any]]
    kind: ClassVar[str] = "count window"
    keeps: ClassVar[str] = "the rows of each key since its last full window, for ever"

    def problem(self, schemas: RowSchemas) -> str | None:
        if self.size < 1:
            return f"a window of {self.size} rows never fills; use 1 or more"
        return PythonState.problem(self, schemas)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow(StatefulStep):
    """Aggregates of the rows of a key in windows of time, by the time that the source declares.

    A row more than late_s behind the latest time seen may be dropped. An output row has the key, `window_start_us`,
    `window_end_us` and `aggregates`, each a function of the Row to a column such as `F.try_sum(row.value)`. A window is
    output once, when the latest time seen is late_s after its end. late: gets the rows that come too late for all of
    their windows, as they were before the step.
    """

    aggregates: Mapping[str, Callable[[Row], Any]]
    late_s: float = 0.0
    late: Sink | None = None

    @property
    def adds(self) -> Names:
        return ("window_start_us", "window_end_us", *self.aggregates)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeWindow(TimeWindow):
    """A TimeWindow whose windows are size_s long, and begin every slide_s (without it, size_s) of Unix time.

    >>> from pyspark.sql import functions as F
    >>> volume = RangeWindow(
    ...     "volume", size_s=9, slide_s=3, late_s=1, aggregates={"volume": lambda order: F.try_sum(order.quantity)}
    ... )
    >>> volume.adds
    ('window_start_us', 'window_end_us', 'volume')
    """

    size_s: float
    slide_s: float | None = None
    kind: ClassVar[str] = "range window"
    keeps: ClassVar[str] = "windows of {0.size_s:g} s for each key, until {0.late_s:g} s after their end"

    def problem(self, schemas: RowSchemas) -> str | None:
        if not 0 < (self.slide_s or self.size_s) <= self.size_s:
            return f"size_s={self.size_s:g} and slide_s={self.slide_s}; use 0 < slide_s <= size_s"
        return _cannot_time(schemas, size_s=self.size_s, slide_s=self.slide_s, late_s=self.late_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWindow(TimeWindow):
    """A TimeWindow of rows that follow each other within gap_s; it ends gap_s after the last one.

    >>> from pyspark.sql import functions as F
    >>> SessionWindow("visit", gap_s=1800, aggregates={"pages": lambda visit: F.count("*")}).adds
    ('window_start_us', 'window_end_us', 'pages')
    """

    gap_s: float
    kind: ClassVar[str] = "session window"
    keeps: ClassVar[str] = "sessions of each key, until {0.gap_s:g} s after their last row, and {0.late_s:g} s more"

    def problem(self, schemas: RowSchemas) -> str | None:
        if self.gap_s <= 0:
            return f"gap_s={self.gap_s:g}; use more than 0"
        return _cannot_time(schemas, gap_s=self.gap_s, late_s=self.late_s)


@dataclass(frozen=True, slots=True)
class Deduplicate(StatefulStep):
    """The first row of each key and time; rows with the same are dropped, as is one more than late_s behind the latest.

    So a message that is sent again, with its time, comes out once, however much later. State: the keys of the last
    late_s. Key by what identifies a message. late: gets the rows that come too late.
    """

    late_s: float = 0.0
    late: Sink | None = None
    kind: ClassVar[str] = "deduplicate"
    keeps: ClassVar[str] = "the keys and times of the last {0.late_s:g} s"

    def fields_of(self, schemas: RowSchemas) -> Names:
        return _all_fields(schemas)

    def problem(self, schemas: RowSchemas) -> str | None:
        return _cannot_time(schemas, late_s=self.late_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalJoin(Join):
    """Joins each row with every row of another source that has the same key and a time near its own.

    of: the other source; before_s, after_s: how much earlier and later than the row its rows may be. added: the fields
    that the join adds, each with the field of `of` that it holds. A row without such a partner is dropped. State: the
    rows that may still find partners, which are those up to late_s behind the latest time seen of either source. late:
    gets the rows of both that come later.

    >>> paid = IntervalJoin("paid", of="payments", before_s=0, after_s=60, added={"paid_cents": "cents"})
    >>> paid.adds
    ('paid_cents',)
    """

    before_s: float
    after_s: float
    late_s: float = 0.0
    late: Sink | None = None
    kind: ClassVar[str] = "interval join"
    keeps: ClassVar[str] = "{0.before_s:g} s of {0.of}, {0.after_s:g} s of the other, and {0.late_s:g} s more of both"

    def problem(self, schemas: RowSchemas) -> str | None:
        if problem := self._cannot_join(schemas):
            return problem
        if twice := [name for name in self.added if name in _all_fields(schemas)]:
            return f"the rows have a field {twice[0]!r} already; add it by another name"
        return _cannot_time(schemas, before_s=self.before_s, after_s=self.after_s, late_s=self.late_s)


StateComputation = (
    AsOfJoin | RunningTotal | StatefulMap | CountWindow | RangeWindow | SessionWindow | Deduplicate | IntervalJoin
)

ByTime = RangeWindow | SessionWindow | Deduplicate | IntervalJoin  # rests on Spark's watermark, which says what is late


def needed_values(state: StateComputation | None, source: str) -> Names:
    """The fields that must have a value in each row of a source that a step takes, besides the key."""
    match state:
        case RunningTotal():
            return (state.of,) if state.of else ()
        case StatefulMap() | CountWindow():
            return state.takes
        case AsOfJoin() if state.of == source:
            return tuple(state.added.values())
        case _:
            return ()


def _cannot_number(schemas: RowSchemas) -> str | None:
    numbered = [source for source, schema in schemas.items() if schema.sequence is not None]
    if numbered and len(schemas) > 1:
        return f"{numbered[0]!r} declares a sequence and is merged with another source; do one or the other"
    return None


def _cannot_time(schemas: RowSchemas, **seconds: float | None) -> str | None:
    for name, value in seconds.items():
        # Spark's durations are whole milliseconds, and none of 31 years is meant.
        if value is not None and not (0 <= value < 1e9 and round(value, 3) == value):
            return f"{name}={value:g}; use 0 or more, in whole milliseconds"
    for source, schema in schemas.items():
        if schema.time is None:
            return f"the source {source!r} declares no time; declare one"
        if schema.sequence is not None:
            return f"it goes by time, and cannot drop repeated rows by sequence; declare no sequence for {source!r}"
    return None


def _missing(needed: Names, schemas: RowSchemas) -> str | None:
    fields = _all_fields(schemas)
    missing = [name for name in needed if name not in fields]
    return f"there is no field {missing[0]!r}; the rows have {', '.join(fields)}" if missing else None


def _all_fields(schemas: RowSchemas) -> Names:
    return each_once(name for schema in schemas.values() for name in schema.fields)
