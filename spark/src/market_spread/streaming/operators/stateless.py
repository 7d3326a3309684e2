"""Steps that look at one row at a time, and what rows are read from and written to.

The functions of a step take a Row. Its values are Spark columns, and a step's function builds a new one of them; where
a function is called *portable*, its values may be numpy arrays as well, so it uses operators alone (`+ - * % | & ~` and
comparisons). MapBatches is the step for Python: its values are arrays always.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, ClassVar

from market_spread.common.wire.layout import Layout

Names = tuple[str, ...]

# What every row has besides its fields: whence it came, when it was sent, read and (in a sink) emitted in Unix
# microseconds, and what was wrong with its message.
ORIGIN: Names = ("topic", "partition", "offset", "position")
STAMPS: Names = ("sent_us", "read_us", "emitted_us")
OWN_NAMES: Names = (*ORIGIN, *STAMPS, "reason")


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
        if name.startswith("_"):  # copies and pickles ask before there are values
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; the row has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, slots=True)
class Text:
    """Messages that are text in UTF-8, one a record.

    What a source reads has one field, `text`. What a sink writes is the pattern, with fields in braces.

    >>> Text("{word} => {count}").names
    ('word', 'count')
    """

    pattern: str = "{text}"

    @property
    def names(self) -> Names:
        """The fields in the pattern."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.pattern) if name)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which `keep`, which is portable, is true.

    >>> Filter("even", lambda row: row.value % 2 == 0).fields_of(("value",))
    ('value',)
    """

    name: str
    keep: Callable[[Row], Any]
    kind: ClassVar[str] = "filter"
    needs: ClassVar[Names] = ()  # the fields that its function reads are found when it is called
    adds: ClassVar[Names] = ()

    def fields_of(self, fields: Names) -> Names:
        """The fields of a row after it, of the fields before it."""
        return fields


@dataclass(frozen=True, slots=True)
class Map:
    """Adds fields to a row, or replaces them: one row for one. Each is a function of the row as it was.

    >>> Map("doubled", {"twice": lambda row: row.value + row.value}).fields_of(("value",))
    ('value', 'twice')
    """

    name: str
    added: Mapping[str, Callable[[Row], Any]]
    kind: ClassVar[str] = "map"
    needs: ClassVar[Names] = ()

    @property
    def adds(self) -> Names:
        """Fields that it adds to a row."""
        return tuple(self.added)

    def fields_of(self, fields: Names) -> Names:
        """The fields of a row after it, of the fields before it."""
        return _each_once(*fields, *self.added)


@dataclass(frozen=True, slots=True)
class FlatMap:
    """One row for each element of an array, none for an empty one: `elements` makes the array of a row.

    >>> from pyspark.sql import functions as F
    >>> FlatMap("words", lambda row: F.split(row.text, " "), into="word").fields_of(("text",))
    ('text', 'word')
    """

    name: str
    elements: Callable[[Row], Any]
    into: str
    kind: ClassVar[str] = "split"
    needs: ClassVar[Names] = ()

    @property
    def adds(self) -> Names:
        """The field of the element."""
        return (self.into,)

    def fields_of(self, fields: Names) -> Names:
        """The fields of a row after it, of the fields before it."""
        return _each_once(*fields, self.into)


@dataclass(frozen=True, slots=True)
class MapBatches:
    """Python on thousands of rows at a time; from n rows it makes as many as it likes.

    takes: the fields of the Row of arrays (n,) that `function` gets; gives: the fields that it returns, a mapping of
    names to arrays of one length, with their Spark types. Nothing else of the rows before remains.

    >>> import numpy as np
    >>> squares = MapBatches("squares", takes=("n",), gives={"n2": "bigint"}, function=lambda row: {"n2": row.n**2})
    >>> squares.function(Row({"n": np.array([2, 3])}))
    {'n2': array([4, 9])}
    """

    name: str
    takes: Names
    gives: Mapping[str, str]
    function: Callable[[Row], Mapping[str, Any]]
    kind: ClassVar[str] = "on arrays"

    @property
    def needs(self) -> Names:
        """The fields that it takes."""
        return self.takes

    @property
    def adds(self) -> Names:
        """The fields that it gives."""
        return tuple(self.gives)

    def fields_of(self, fields: Names) -> Names:
        """The fields of a row after it, of the fields before it."""
        return tuple(self.gives)


Computation = Filter | Map | FlatMap | MapBatches


@dataclass(frozen=True, slots=True)
class Sink:
    """Where rows leave: a topic, of the sink's name unless the job is told another.

    messages: a layout, whose fields the rows must have besides the stamps, or a text; a value must fit its field.
    key: the field that is the key of the record. keep: which rows it writes (all if None), as columns: a row goes to
    every sink that keeps it.

    >>> Sink("counts", Text("{word} => {count}"), key="letter").needs
    ('word', 'count', 'letter')
    """

    name: str
    messages: Layout | Text
    key: str | None = None
    keep: Callable[[Row], Any] | None = None

    @property
    def needs(self) -> Names:
        """The fields that it writes, without the stamps."""
        if isinstance(self.messages, Text):
            written = self.messages.names
        else:
            written = tuple(field.name for field in self.messages.fields[1:])
        keyed = written if self.key is None else (*written, self.key)
        return tuple(name for name in _each_once(*keyed) if name not in STAMPS)


def _each_once(*names: str) -> Names:
    return tuple(dict.fromkeys(names))
