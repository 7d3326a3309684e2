"""Pipelines: where messages come from, the steps they pass, and where the results go.

    >>> from market_spread.streaming import RunningTotal, Text
    >>> lines = Source("lines", Text())
    >>> counted = lines.key_by("text").to(RunningTotal("count", into="count"))
    >>> line_count = counted.to_sink(Sink("counts", Text("{text} => {count}")), name="line_count")
    >>> print(line_count.describe())
    line_count
      source lines: text string
        key by text
      running total count; keeps a number for each key, for ever
      sink counts

A pipeline is a value: each method returns a new one and changes nothing. It knows nothing of Kafka, modes, partitions,
checkpoints or metrics. A mistake raises PipelineError in the call that makes it, with one sentence that names the step
and the remedy.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal, get_args

from market_spread.common.wire.layout import Layout
from market_spread.streaming.messages import (
    Bytes,
    Messages,
    Names,
    PipelineError,
    Text,
    TypedRecord,
    each_once,
    fields_of,
    nullable_fields,
    typed_fields_of,
    whole_numbers,
)
from market_spread.streaming.operators import stateful
from market_spread.streaming.operators.stateless import RESERVED_NAMES, Computation, OnError, Sink

INVALID = "invalid"  # every pipeline's topic of malformed messages
_TYPE = re.compile(
    r"(tinyint|byte|smallint|short|int|integer|bigint|long|float|real|double|dec|decimal|numeric|string|char|varchar"
    r"|binary|boolean|date|timestamp|timestamp_ltz|timestamp_ntz|array|map|struct)\b", re.IGNORECASE,
)  # fmt: skip
_ONE_STATE = "a pipeline has only one; make two"


@dataclass(frozen=True, slots=True)
class Source:
    """Input messages, from the topic of that name unless the job's configuration maps it to another.

    messages: a layout, of which a record holds one or more messages (a *frame*), or what a record holds one of. time:
    the field with the message's intended time, Unix microseconds; sequence: the field that numbers the messages of a
    key, by which repeated ones are recognised; for fields that a step makes, see `Stream.timed_by` and `numbered_by`.
    For an as-of join, all messages of a key are in one partition, which has the same number everywhere.

    Fields that each message of a record gets from it: key, with its key as text, null if it has none; timestamp, with
    its time, Unix microseconds; and those of headers, each with the text of the header of that name, null without one.

    >>> Source("lines", Text(), key="user", timestamp="at_us", headers={"trace": "trace-id"}, time="at_us").fields
    ('text', 'user', 'trace', 'at_us')
    """

    name: str
    messages: Messages
    time: str | None = None
    sequence: str | None = None
    key: str | None = None
    timestamp: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_reserved_names(f"the source {self.name!r}", self.fields)
        if isinstance(self.messages, Text) and self.messages != Text():
            raise PipelineError(f"the source {self.name!r} reads a text as it is; cut it by a step, and give it Text()")
        if isinstance(self.messages, TypedRecord) and self.messages.record is None:
            raise PipelineError(f"the source {self.name!r} names no record; declare its messages by a dataclass")
        fields = self.fields
        if twice := [name for name in fields if fields.count(name) > 1]:
            raise PipelineError(
                f"the source {self.name!r} has two fields {twice[0]!r}; give that of the record another name"
            )
        numbers = (*whole_numbers(self.messages), *([self.timestamp] if self.timestamp else []))
        for role, name, by in (("time", self.time, "timed_by"), ("sequence", self.sequence, "numbered_by")):
            if name is not None and name not in numbers:
                raise PipelineError(
                    f"the source {self.name!r} has no whole number {name!r} for its {role}; it has "
                    f"{', '.join(numbers) or 'none'}; if a step makes it, name it after that step by {by}"
                )

    @property
    def fields(self) -> Names:
        """The fields of a message, without the letter that names its kind, and those of its record."""
        return (*fields_of(self.messages), *self.record_fields)

    def describe(self) -> str:
        """Its name, and its fields with Spark's types."""
        typed = [f"{name} {kind}{' or null' * null}" for name, kind, null, *_ in typed_fields_of(self.messages)]
        typed += [f"{name} string or null" for name in self.record_texts]
        typed += [f"{self.timestamp} bigint"] if self.timestamp else []
        return f"source {self.name}: {', '.join(typed)}"

    @property
    def record_texts(self) -> Names:
        """The fields that are texts of the record, which may be null or not valid UTF-8."""
        return (*([self.key] if self.key else []), *self.headers)

    @property
    def record_fields(self) -> Names:
        """The fields that come from the record, not from its value."""
        return (*self.record_texts, *([self.timestamp] if self.timestamp else []))

    @property
    def layout(self) -> Layout:
        """The layout of its messages. TypeError if they have none."""
        if not isinstance(self.messages, Layout):
            raise TypeError(f"{self.name!r} has no layout")
        return self.messages

    # A source is the stream of all its messages: see Stream for the methods.

    def to(self, step: Computation | stateful.StateComputation) -> "Stream":
        return _stream(self).to(step)

    def key_by(self, *names: str) -> "Stream":
        return _stream(self).key_by(*names)

    def merge(self, *others: "Stream | Source") -> "Stream":
        return _stream(self).merge(*others)

    def to_sink(self, *sinks: Sink, name: str) -> "Pipeline":
        return _stream(self).to_sink(*sinks, name=name)


@dataclass(frozen=True, slots=True)
class Branch:
    """One source, the steps that its messages pass before the state, and the time and sequence that these have made."""

    source: Source
    computations: tuple[Computation, ...] = ()
    time: str | None = None
    sequence: str | None = None

    @property
    def fields(self) -> Names:
        """The fields of a row at the end of the branch."""
        return reduce(lambda fields, step: step.fields_of(fields), self.computations, self.source.fields)

    @property
    def present(self) -> Names:
        """The fields that have a value in every good row."""
        made = {name for step in self.computations for name in step.adds}
        may_be_null = made.union(nullable_fields(self.source.messages), self.source.record_texts)
        return tuple(name for name in self.source.fields if name in self.fields and name not in may_be_null)

    @property
    def schema(self) -> stateful.RowSchema:
        """The branch as a stateful step sees it, without a time or sequence that its steps have dropped."""
        named = (self.time or self.source.time, self.sequence or self.source.sequence)
        roles = (role if role in self.fields else None for role in named)
        return stateful.RowSchema(self.source.messages, self.fields, *roles)


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows between two steps: the merged branches and the steps since. Made by methods, never directly."""

    branches: tuple[Branch, ...]
    keys: Names = ()
    state: stateful.StateComputation | None = None
    computations: tuple[Computation, ...] = ()

    @property
    def fields(self) -> Names:
        """The fields of a row here; after a merge, those of all branches."""
        if self.state is None or not self.keys:
            fields = each_once(name for branch in self.branches for name in branch.fields)
        else:
            fields = each_once((*self.keys, *self.state.fields_of(self.schemas)))
        return reduce(lambda fields, step: step.fields_of(fields), self.computations, fields)

    @property
    def present(self) -> Names:
        """The fields that have a value in every good row; any other may be null."""
        first, *others = (branch.present for branch in self.branches)
        shared = tuple(name for name in first if all(name in present for present in others))
        match self.state:
            case None | stateful.Deduplicate():
                fields = shared
            case stateful.AsOfJoin() as join:
                of = [name for branch in self.branches if branch.source.name != join.of for name in branch.present]
                fields = (*of, *self.keys, *join.added)
            case stateful.RunningTotal() as total:
                fields = (*shared, *self.keys, total.into)
            case _:
                fields = self.keys
        made = {name for step in self.computations for name in step.adds}
        return tuple(name for name in fields if name not in made)

    @property
    def schemas(self) -> dict[str, stateful.RowSchema]:
        """The rows of each source, by its name."""
        return {branch.source.name: branch.schema for branch in self.branches}

    @property
    def steps(self) -> tuple[Computation | stateful.StateComputation, ...]:
        """All steps, the branches' first; a step that several branches pass is there once."""
        before = {step.name: step for branch in self.branches for step in branch.computations}
        return (*before.values(), *((self.state,) if self.state else ()), *self.computations)

    def to(self, step: Computation | stateful.StateComputation) -> "Stream":
        """These rows after the step. PipelineError if it cannot take them."""
        if step.name in [other.name for other in self.steps]:
            raise PipelineError(f"step names must be unique; two are named {step.name!r}")
        if (chosen := getattr(step, "on_error", "fail")) not in get_args(OnError):
            raise PipelineError(f"{step.name!r} has on_error={chosen!r}; it takes {' and '.join(get_args(OnError))}")
        types = {**getattr(step, "gives", {}), **getattr(step, "state", {})}
        if name := next((it for it, of in types.items() if not _TYPE.match(str(of))), ""):
            raise PipelineError(f"{step.name!r} has {name!r} of type {types[name]!r}; use one of Spark, such as bigint")
        _refuse_reserved_names(repr(step.name), step.adds)
        if isinstance(step, stateful.StateComputation):
            return self._with_state(step)
        self._require(f"{step.name!r} takes", step.needs)
        if self.state is not None:
            return replace(self, computations=(*self.computations, step))
        return self._each(lambda branch: replace(branch, computations=(*branch.computations, step)))

    def timed_by(self, name: str) -> "Stream":
        """The same rows, whose time is this field, Unix microseconds, that a step has made."""
        return self._with_role("time", name)

    def numbered_by(self, name: str) -> "Stream":
        """The same rows, whose sequence is this field, a whole number, that a step has made."""
        return self._with_role("sequence", name)

    def key_by(self, *names: str) -> "Stream":
        """The same rows, keyed by these fields for the next step's state. PipelineError if they have no such field."""
        said = f"key_by({', '.join(map(repr, names))})"
        if self.state is not None:
            raise PipelineError(f"{said} comes after the stateful step {self.state.name!r}; {_ONE_STATE}")
        if not names or each_once(names) != names:
            raise PipelineError(f"{said} names {'a field twice' if names else 'no field'}; name each field of the key")
        for name in names:
            if any(it.source.messages == Bytes(name) and name in it.present for it in self.branches):
                raise PipelineError(f"{said} names bytes; key by what a step reads in them")
            if name not in self.fields:
                raise PipelineError(f"{said} names an unknown field {name!r}; the rows have {', '.join(self.fields)}")
        return replace(self, keys=names)

    def merge(self, *others: "Stream | Source") -> "Stream":
        """The rows of all of these. PipelineError if their keys differ, or they share a source."""
        merged = self
        for other in map(_stream, others):
            if merged.state is not None or other.state is not None:
                raise PipelineError("merge comes after a stateful step; move it before that step")
            if merged.keys != other.keys:
                keyed = [" and ".join(map(repr, keys)) or "nothing" for keys in (merged.keys, other.keys)]
                raise PipelineError(
                    f"rows keyed by {keyed[0]} are merged with rows keyed by {keyed[1]}; give both the same key_by"
                )
            merged = replace(merged, branches=(*merged.branches, *other.branches))
        names = [branch.source.name for branch in merged.branches]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise PipelineError(f"the source {twice!r} is merged with itself; name it once")
        return merged

    def to_sink(self, *sinks: Sink, name: str) -> "Pipeline":
        """The finished pipeline. PipelineError if a sink writes a field that the rows do not have."""
        if not sinks:
            raise PipelineError(f"the pipeline {name!r} has no sink; name one")
        if self.keys and self.state is None:
            keys = ", ".join(map(repr, self.keys))
            raise PipelineError(f"no stateful step follows key_by({keys}); add one, or leave key_by out")
        for sink in sinks:
            self._require(f"the sink {sink.name!r} writes", sink.needs)
        finished = Pipeline(name, self, sinks)
        ends = [*{source.name for source in finished.sources}, *{*finished.outputs}, INVALID]
        if twice := [end for end in ends if ends.count(end) > 1]:
            raise PipelineError(f"{twice[0]!r} names a sink and a source, or the malformed messages; rename one")
        return finished

    def _with_state(self, step: stateful.StateComputation) -> "Stream":
        if not self.keys:
            raise PipelineError(f"{step.name!r} keeps state by key; put key_by before it")
        if self.state is not None:
            raise PipelineError(f"{step.name!r} comes after the stateful step {self.state.name!r}; {_ONE_STATE}")
        if problem := step.problem(self.schemas):
            raise PipelineError(f"{step.name!r}: {problem}")
        if isinstance(step, stateful.ByTime) and step.late:
            self._require(f"the sink {step.late.name!r} writes", step.late.needs)
        return replace(self, state=step)

    def _with_role(self, role: Literal["time", "sequence"], name: str) -> "Stream":
        if self.state is not None:
            raise PipelineError(f"the {role} {name!r} is named after the stateful step; name it before")
        for branch in self.branches:
            if name not in branch.fields:
                has = ", ".join(branch.fields)
                raise PipelineError(f"{branch.source.name!r} has no field {name!r} for its {role}; it has {has}")
        return self._each(lambda branch: replace(branch, **{role: name}))  # type: ignore[arg-type]

    def _each(self, change: Callable[[Branch], Branch]) -> "Stream":
        return replace(self, branches=tuple(map(change, self.branches)))

    def _require(self, what: str, needed: Names) -> None:
        has = self.fields
        if unknown := [name for name in needed if name not in has]:
            raise PipelineError(f"{what} the field {unknown[0]!r}; the rows have {', '.join(has)}")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a job runs: a stream and its sinks."""

    name: str
    stream: Stream
    sinks: tuple[Sink, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Its sources, in the order of their merge."""
        return tuple(branch.source for branch in self.stream.branches)

    @property
    def late(self) -> "Pipeline | None":
        """What becomes of its late rows, which leave the stream before the state; None if they are only counted."""
        state = self.stream.state
        if not isinstance(state, stateful.ByTime) or state.late is None:
            return None
        return Pipeline(self.name, replace(self.stream, keys=(), state=None, computations=()), (state.late,))

    @property
    def outputs(self) -> Names:
        """The names of its sinks, that of late rows last."""
        return tuple(sink.name for sink in (*self.sinks, *(self.late.sinks if self.late else ())))

    @property
    def messages(self) -> dict[str, Messages]:
        """The messages of its sources and its sinks, by their names."""
        late = self.late.sinks if self.late else ()
        return {it.name: it.messages for it in self.sources} | {it.name: it.messages for it in (*self.sinks, *late)}

    @property
    def ends(self) -> Names:
        """The names of its sources and its sinks."""
        return tuple(self.messages)

    def describe(self) -> str:
        """The topology, one step per line, one branch after the other; and what the state keeps, for how long."""
        stream, state = self.stream, self.stream.state
        lines = [self.name]
        for branch in stream.branches:
            lines.append(f"  {branch.source.describe()}")
            lines += [f"    {step.kind} {step.name}" for step in branch.computations]
            lines += [f"    key by {', '.join(stream.keys)}"] if stream.keys else []
        lines += ["  merge"] if len(stream.branches) > 1 else []
        lines += [f"  {state.kind} {state.name}; keeps {state.keeps.format(state)}"] if state else []
        lines += [f"  {step.kind} {step.name}" for step in stream.computations]
        lines += [f"  sink {name}" for name in self.outputs]
        return "\n".join(lines)


def _stream(given: "Stream | Source") -> Stream:
    return Stream((Branch(given),)) if isinstance(given, Source) else given


def _refuse_reserved_names(who: str, names: Names) -> None:
    for name in names:
        if name in RESERVED_NAMES:
            raise PipelineError(f"{who} has a field {name!r}, a name that every row uses for its metadata; rename it")
        if not name or name[0] == "_" or {*".`"} & {*name}:
            raise PipelineError(f"{who} has a field {name!r}; begin its name with a letter, and use no point in it")
