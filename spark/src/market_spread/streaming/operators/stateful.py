"""Steps that remember: what a key has seen decides what becomes of its next row.

A source may declare a sequence. State then ignores a row whose sequence is not higher than that of the rows of its key
before it, so that input which is sent again changes nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from market_spread.common.wire.layout import Layout
from market_spread.streaming.operators.stateless import Names, Row, Text


@dataclass(frozen=True, slots=True)
class Inflow:
    """What comes to a state from one source: its messages, the fields of a row, and the roles of some of them."""

    messages: Layout | Text
    fields: Names
    time: str | None = None
    sequence: str | None = None


Inflows = Mapping[str, Inflow]


@dataclass(frozen=True, slots=True)
class AsOfJoin:
    """Each row of one source, with what is newest of another one under the same key. State constant in size.

    of: the source that is remembered; it declares a sequence, which says what is newer. added: the fields of the
    result, each with the field of `of` that it is; integers, 0 as long as the key has had no such row. emit: which rows
    leave (all if None); portable.

    >>> newest_quote = AsOfJoin(
    ...     "newest quote", of="nbbo", added={"bid": "bid"}, emit=lambda order: order.price > order.bid
    ... )
    >>> newest_quote.emit(Row({"price": 101, "bid": 100}))
    True
    """

    name: str
    of: str
    added: Mapping[str, str]
    emit: Callable[[Row], Any] | None = None
    kind: ClassVar[str] = "newest"

    @property
    def adds(self) -> Names:
        """The fields of what is newest."""
        return tuple(self.added)

    def fields_of(self, inflows: Inflows) -> Names:
        """The fields of a row after it."""
        others = (name for source, inflow in inflows.items() if source != self.of for name in inflow.fields)
        return tuple(dict.fromkeys((*others, *self.added)))

    def problem(self, inflows: Inflows) -> str | None:
        """What is wrong with it behind these, with the remedy; None if nothing is."""
        if self.of not in inflows:
            return f"there is no source {self.of!r} before it but {_listed(inflows)}; merge it in"
        if len(inflows) != 2:
            return f"it joins two sources, one of them {self.of!r}, and there are {_listed(inflows)}; merge those two"
        inflow = inflows[self.of]
        if inflow.sequence is None:
            return f"the source {self.of!r} declares no sequence, so nothing says what is newer; give it one"
        for source, other in inflows.items():
            if isinstance(other.messages, Text) or other.time is None:
                return f"the source {source!r} declares no time, so nothing says what came first; give it one"
        return _not_remembered(self.of, inflow, tuple(self.added.values()))


@dataclass(frozen=True, slots=True)
class RunningTotal:
    """Each row, with the total so far of a field over the rows of its key; without `of`, their number.

    State constant in size: one integer a key.

    >>> RunningTotal("earned", into="total", of="fare").adds
    ('total',)
    """

    name: str
    into: str
    of: str | None = None
    kind: ClassVar[str] = "running total"

    @property
    def adds(self) -> Names:
        """The field of the total."""
        return (self.into,)

    def fields_of(self, inflows: Inflows) -> Names:
        """The fields of a row after it."""
        return tuple(dict.fromkeys((*_all_fields(inflows), self.into)))

    def problem(self, inflows: Inflows) -> str | None:
        """See AsOfJoin.problem."""
        return _repeated(inflows) or _missing((self.of,) if self.of else (), inflows)


@dataclass(frozen=True, slots=True)
class StatefulMap:
    """State in Python, of any size: what a key remembers, and what its rows become.

    takes: fields of the rows; state: what is remembered, names with their Spark types; gives: fields of the result,
    with their types. update: called with the key, a Row of arrays (n,) in the order in which the rows take effect, and
    what is remembered (None for a new key); returns the arrays of `gives`, and what is to be remembered from now on.

    >>> def highest(driver, rows, before):
    ...     best = max([*rows.fare, *([before["best"]] if before else [])])
    ...     return {"best": [best]}, {"best": best}
    >>> best = StatefulMap(
    ...     "best", takes=("fare",), state={"best": "bigint"}, gives={"best": "bigint"}, update=highest
    ... )
    >>> best.update("anna", Row({"fare": [12, 30]}), {"best": 20})
    ({'best': [30]}, {'best': 30})
    """

    name: str
    takes: Names
    state: Mapping[str, str]
    gives: Mapping[str, str]
    update: Callable[[Any, Row, Mapping[str, Any] | None], tuple[Mapping[str, Any], Mapping[str, Any]]]
    kind: ClassVar[str] = "remember"

    @property
    def adds(self) -> Names:
        """The fields of the result."""
        return tuple(self.gives)

    def fields_of(self, inflows: Inflows) -> Names:
        """The fields of a row after it."""
        return tuple(self.gives)

    def problem(self, inflows: Inflows) -> str | None:
        """See AsOfJoin.problem."""
        return _repeated(inflows) or _missing(self.takes, inflows)


@dataclass(frozen=True, slots=True)
class CountWindow:
    """One row for every `size` rows of a key; rows that do not fill a window yet are remembered.

    takes, gives: as of StatefulMap; function: called with the key and a Row of arrays (size,); returns a value for each
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

    name: str
    size: int
    takes: Names
    gives: Mapping[str, str]
    function: Callable[[Any, Row], Mapping[str, Any]]
    kind: ClassVar[str] = "count window"

    @property
    def adds(self) -> Names:
        """The fields of the result."""
        return tuple(self.gives)

    def fields_of(self, inflows: Inflows) -> Names:
        """The fields of a row after it."""
        return tuple(self.gives)

    def problem(self, inflows: Inflows) -> str | None:
        """See AsOfJoin.problem."""
        if self.size < 1:
            return f"a window of {self.size} rows never fills; use 1 or more"
        return _repeated(inflows) or _missing(self.takes, inflows)


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """Aggregates of the rows of a key in windows of time, by the time that the source declares.

    Windows are size_s long and begin every slide_s (without it, size_s) of Unix time. A row that comes more than late_s
    after the newest time seen may be left out. What leaves has the key, `window_start_us`, `window_end_us` and
    `aggregates`, each a function of the Row to a column such as `F.sum(row.value)`. A window leaves once, when the
    newest time seen is late_s after its end.

    >>> from pyspark.sql import functions as F
    >>> volume = RangeWindow(
    ...     "volume", size_s=9, slide_s=3, late_s=1, aggregates={"volume": lambda order: F.sum(order.quantity)}
    ... )
    >>> volume.adds
    ('window_start_us', 'window_end_us', 'volume')
    """

    name: str
    size_s: float
    aggregates: Mapping[str, Callable[[Row], Any]]
    slide_s: float | None = None
    late_s: float = 0.0
    kind: ClassVar[str] = "range window"

    @property
    def adds(self) -> Names:
        """The window's borders and the aggregates."""
        return ("window_start_us", "window_end_us", *self.aggregates)

    def fields_of(self, inflows: Inflows) -> Names:
        """The fields of a row after it, without the key."""
        return self.adds

    def problem(self, inflows: Inflows) -> str | None:
        """See AsOfJoin.problem."""
        if not 0 < (self.slide_s or self.size_s) <= self.size_s:
            return f"size_s={self.size_s:g} and slide_s={self.slide_s}; use 0 < slide_s <= size_s"
        if self.late_s < 0:
            return f"late_s={self.late_s:g}; use 0 or more"
        for source, inflow in inflows.items():
            if inflow.time is None:
                return f"the source {source!r} declares no time; give it one"
            if inflow.sequence is not None:
                return f"windows of time cannot leave repeated rows out; declare no sequence for {source!r}"
        return None


StateComputation = AsOfJoin | RunningTotal | StatefulMap | CountWindow | RangeWindow


def _not_remembered(source: str, inflow: Inflow, names: Names) -> str | None:
    missing = [name for name in names if name not in inflow.fields]
    if missing:
        return f"the source {source!r} has no field {missing[0]!r}; it has {_listed(inflow.fields)}"
    texts = [name for name in names if not _is_number(inflow, name)]
    if texts:
        return f"{texts[0]!r} of {source!r} is no number, and only numbers are remembered; leave it out"
    return None


def _is_number(inflow: Inflow, name: str) -> bool:
    return isinstance(inflow.messages, Layout) and inflow.messages.field(name).is_number


def _repeated(inflows: Inflows) -> str | None:
    numbered = [source for source, inflow in inflows.items() if inflow.sequence is not None]
    if numbered and len(inflows) > 1:
        return f"{numbered[0]!r} declares a sequence and is merged with another source; do one of the two"
    return None


def _missing(needed: Names, inflows: Inflows) -> str | None:
    have = _all_fields(inflows)
    missing = [name for name in needed if name not in have]
    return f"there is no field {missing[0]!r}; the rows have {_listed(have)}" if missing else None


def _all_fields(inflows: Inflows) -> Names:
    return tuple(dict.fromkeys(name for inflow in inflows.values() for name in inflow.fields))


def _listed(names: Mapping[str, Any] | Names) -> str:
    return ", ".join(names)
