"""Stateless steps: each row by itself. Also Row, and Sink.

The functions of a step take a Row of Spark columns and return a column. A *portable* function also works on numpy
arrays, so it uses only operators (`+ - * % | & ~` and comparisons). MapBatches is the step for Python: its function
always gets arrays.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from market_spread.common.wire.layout import Layout
from market_spread.streaming.messages import Avro, Messages, Names, PipelineError, each_once, fields_of

# What every row has besides its fields: its origin, when it was sent, read and (in a sink) emitted in Unix
# microseconds, and what was wrong with its message.
ORIGIN: Names = ("topic", "partition", "offset", "position")
STAMPS: Names = ("sent_us", "read_us", "emitted_us")
RESERVED_NAMES: Names = (*ORIGIN, *STAMPS, "reason")

# What an exception in a function of a step does: fail the job, or divert the row to `invalid`. A function that raises
# for several rows is called again for half of them, down to the row that it raises for, so it must have no effects.
OnError = Literal["fail", "divert"]


class Row(Mapping[str, Any]):
    """Values by the names of their fields, as items and as attributes.

    >>> order = Row({"bid": 3, "offer": 5})
    >>> order.offer - order["bid"]
    2
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle ask before `_values` is set
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; the row has {', '.join(self)}", name=name, obj=self) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, slots=True)
class NamedStep:
    """What all steps have. kind: the step's name in `Pipeline.describe`."""

    name: str
    kind: ClassVar[str]

    @property
    def adds(self) -> Names:
        """Fields that it adds to a row."""
        return ()


@dataclass(frozen=True, slots=True)
class StatelessStep(NamedStep):
    """What all stateless steps have. on_error: see OnError."""

    on_error: OnError = field(default="fail", kw_only=True)

    @property
    def needs(self) -> Names:
        """Fields that it must find in a row; those that a function of columns reads show when it is called."""
        return ()

    def fields_of(self, fields: Names) -> Names:
        """The fields of a row after the step, from those before it."""
        return each_once((*fields, *self.adds))


@dataclass(frozen=True, slots=True)
class Filter(StatelessStep):
    """Keeps the rows for which `keep`, which is portable, is true.

    >>> Filter("even", lambda row: row.value % 2 == 0).fields_of(("value",))
    ('value',)
    """

    keep: Callable[[Row], Any]
    kind: ClassVar[str] = "filter"


@dataclass(frozen=True, slots=True)
class Map(StatelessStep):
    """Adds fields to a row, or replaces them. Each is a function of the row as it was before the step.

    >>> Map("doubled", {"twice": lambda row: row.value + row.value}).fields_of(("value",))
    ('value', 'twice')
    """

    added: Mapping[str, Callable[[Row], Any]]
    kind: ClassVar[str] = "map"

    @property
    def adds(self) -> Names:
        return tuple(self.added)


@dataclass(frozen=True, slots=True)
class FlatMap(StatelessStep):
    """One row for each element of an array, none for an empty one: `elements` returns the array of a row.

    >>> from pyspark.sql import functions as F
    >>> FlatMap("words", lambda row: F.split(row.text, " "), into="word").fields_of(("text",))
    ('text', 'word')
    """

    elements: Callable[[Row], Any]
    into: str
    kind: ClassVar[str] = "flat map"

    @property
    def adds(self) -> Names:
        return (self.into,)


@dataclass(frozen=True, slots=True)
class MapBatches(StatelessStep):
    """Python on thousands of rows at a time; it returns any number of rows.

    takes: the fields of the Row of arrays (n,) that `function` gets; gives: the fields that it returns, with their
    Spark types. `function` returns a mapping of these names to arrays of one length, which replace the rows.

    >>> import numpy as np
    >>> squares = MapBatches("squares", takes=("n",), gives={"n2": "bigint"}, function=lambda row: {"n2": row.n**2})
    >>> squares.function(Row({"n": np.array([2, 3])}))
    {'n2': array([4, 9])}
    """

    takes: Names
    gives: Mapping[str, str]
    function: Callable[[Row], Mapping[str, Any]]
    kind: ClassVar[str] = "map batches"

    @property
    def needs(self) -> Names:
        return self.takes

    @property
    def adds(self) -> Names:
        return tuple(self.gives)

    def fields_of(self, fields: Names) -> Names:
        return self.adds


Computation = Filter | Map | FlatMap | MapBatches


@dataclass(frozen=True, slots=True)
class Sink:
    """A topic that rows are written to; it has the sink's name unless the job's configuration maps it to another.

    messages: their fields are those of the rows, besides the stamps. A row that is null where they need a value, or has
    one that its field of fixed width cannot hold, goes to `invalid`.
    key: the field that is the record's key. keep: which rows it writes (all if None), as columns: a row goes to every
    sink that keeps it.

    >>> from market_spread.streaming import Text
    >>> Sink("counts", Text("{word} => {count}"), key="letter").needs
    ('word', 'count', 'letter')
    """

    name: str
    messages: Messages
    key: str | None = None
    keep: Callable[[Row], Any] | None = None

    def __post_init__(self) -> None:
        written = fields_of(self.messages)
        required = self.messages.avro.required if isinstance(self.messages, Avro) else ()
        if no := [name for name in required if name not in written]:
            raise PipelineError(f"the sink {self.name!r} writes no {no[0]!r}, which its Avro schema needs; name it")

    @property
    def writes_stamps(self) -> bool:
        """Whether its messages have the time at which they were emitted; records of others have it in a header."""
        return isinstance(self.messages, Layout) and "emitted_us" in [field.name for field in self.messages.fields]

    @property
    def needs(self) -> Names:
        """The fields that it writes, without the stamps."""
        written = (*fields_of(self.messages), *([self.key] if self.key is not None else []))
        return tuple(name for name in each_once(written) if name not in STAMPS)
