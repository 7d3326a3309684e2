"""Pipelines: where messages come from, what is done with them, and where the results go.

    >>> from market_spread.streaming.operators.stateful import RunningTotal
    >>> lines = Source("lines", Text())
    >>> counted = lines.key_by("text").to(RunningTotal("count", into="count"))
    >>> line_count = counted.to_sink(Sink("counts", Text("{text} => {count}")), name="line_count")
    >>> print(line_count.describe())
    line_count
      source lines: text
        key by text
      running total count
      sink counts

A pipeline is a value: a verb returns a new one and changes nothing. It knows nothing of Kafka, modes, partitions,
checkpoints or metrics. A mistake raises PipelineError at the verb that makes it, in one sentence that names the step
and the remedy:

    >>> lines.to(RunningTotal("n", into="n"))
    Traceback (most recent call last):
    market_spread.streaming.pipeline.PipelineError: 'n' remembers by key, and these rows have none; put key_by before it
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from market_spread.common.errors import UsageError
from market_spread.common.wire.layout import Kind, Layout
from market_spread.streaming.operators.stateful import Inflow, StateComputation
from market_spread.streaming.operators.stateless import OWN_NAMES, Computation, Names, Sink, Text


class PipelineError(UsageError):
    """A pipeline that cannot work."""


@dataclass(frozen=True, slots=True)
class Source:
    """Messages that come in, from the topic of that name unless the job is told another.

    messages: a layout, of which a record has one or more (a *frame*), or text, one a record. time: the field that says
    in Unix microseconds when a message was meant; sequence: the field that numbers the messages of a key, so that one
    that comes again is known. For an as-of join, messages of one key are in one partition, the same of every topic.
    """

    name: str
    messages: Layout | Text
    time: str | None = None
    sequence: str | None = None

    def __post_init__(self) -> None:
        _refuse_own_names(f"the source {self.name!r}", self.fields)
        for role, name in (("time", self.time), ("sequence", self.sequence)):
            if name is not None and name not in self._numbers():
                numbers = ", ".join(self._numbers()) or "none"
                raise PipelineError(
                    f"the source {self.name!r} has no number without sign {name!r} for its {role}; it has {numbers}"
                )

    @property
    def fields(self) -> Names:
        """The fields of a message; the letter that names its kind is none."""
        if isinstance(self.messages, Text):
            return ("text",)
        return tuple(field.name for field in self.messages.fields[1:])

    def to(self, step: Computation | StateComputation) -> "Stream":
        """See Stream.to."""
        return _stream(self).to(step)

    def key_by(self, name: str) -> "Stream":
        """See Stream.key_by."""
        return _stream(self).key_by(name)

    def merge(self, *others: "Stream | Source") -> "Stream":
        """See Stream.merge."""
        return _stream(self).merge(*others)

    def to_sink(self, *sinks: Sink, name: str) -> "Pipeline":
        """See Stream.to_sink."""
        return _stream(self).to_sink(*sinks, name=name)

    def _numbers(self) -> Names:
        if isinstance(self.messages, Text):
            return ()
        return tuple(field.name for field in self.messages.fields if field.kind is Kind.DIGITS)


@dataclass(frozen=True, slots=True)
class Branch:
    """One source, and what is done with its messages before anything is merged."""

    source: Source
    computations: tuple[Computation, ...] = ()

    @property
    def fields(self) -> Names:
        """The fields of a row at the end of the branch."""
        fields = self.source.fields
        for computation in self.computations:
            fields = computation.fields_of(fields)
        return fields

    @property
    def inflow(self) -> Inflow:
        """The branch as a state sees it; a time or sequence that did not get to its end is none."""
        roles = (role if role in self.fields else None for role in (self.source.time, self.source.sequence))
        return Inflow(self.source.messages, self.fields, *roles)


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows on their way: branches that were merged, and what was done since. Made by verbs, never directly."""

    branches: tuple[Branch, ...]
    key: str | None = None
    state: StateComputation | None = None
    computations: tuple[Computation, ...] = ()

    @property
    def fields(self) -> Names:
        """The fields of a row here; after a merge, those of all branches."""
        if self.state is None or self.key is None:
            fields = _each_once(name for branch in self.branches for name in branch.fields)
        else:
            fields = _each_once((self.key, *self.state.fields_of(self.inflows)))
        for computation in self.computations:
            fields = computation.fields_of(fields)
        return fields

    @property
    def inflows(self) -> dict[str, Inflow]:
        """What comes from each source, by its name."""
        return {branch.source.name: branch.inflow for branch in self.branches}

    @property
    def steps(self) -> tuple[Computation | StateComputation, ...]:
        """All steps, those of the branches first."""
        before = [step for branch in self.branches for step in branch.computations]
        return (*before, *((self.state,) if self.state else ()), *self.computations)

    def to(self, step: Computation | StateComputation) -> "Stream":
        """The rows that this step makes of these. PipelineError if it cannot take them."""
        if step.name in [other.name for other in self.steps]:
            raise PipelineError(f"two steps are named {step.name!r}; give each a name of its own")
        _refuse_own_names(repr(step.name), step.adds)
        if isinstance(step, StateComputation):
            return self._with_state(step)
        missing = [name for name in step.needs if name not in self.fields]
        if missing:
            raise PipelineError(f"{step.name!r} takes the field {missing[0]!r}, and {self._have()}")
        if self.state is not None:
            return replace(self, computations=(*self.computations, step))
        if self.key is not None or len(self.branches) > 1:
            raise PipelineError(f"{step.name!r} comes after key_by or merge; put it before them, or after the state")
        (branch,) = self.branches
        return replace(self, branches=(replace(branch, computations=(*branch.computations, step)),))

    def key_by(self, name: str) -> "Stream":
        """The same rows, by the field under which the next step remembers. PipelineError if they have no such field."""
        if self.state is not None:
            raise PipelineError(f"key_by({name!r}) comes after {self.state.name!r}, the pipeline's one state; make two")
        if name not in self.fields:
            raise PipelineError(f"key_by({name!r}) names no field, and {self._have()}")
        return replace(self, key=name)

    def merge(self, *others: "Stream | Source") -> "Stream":
        """The rows of all of them. PipelineError if they are not keyed alike, or share a source."""
        merged = self
        for other in map(_stream, others):
            if merged.state is not None or other.state is not None:
                raise PipelineError("merge comes after a state; merge first, and remember then")
            if merged.key != other.key:
                raise PipelineError(
                    f"merge of rows by {merged.key!r} with rows by {other.key!r}; give both the same key_by"
                )
            merged = replace(merged, branches=(*merged.branches, *other.branches))
        names = [branch.source.name for branch in merged.branches]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise PipelineError(f"merge of the source {twice!r} with itself; name it once")
        return merged

    def to_sink(self, *sinks: Sink, name: str) -> "Pipeline":
        """The finished pipeline. PipelineError if a sink writes a field that the rows do not have."""
        if not sinks:
            raise PipelineError(f"the pipeline {name!r} has no sink; name one")
        if self.key is not None and self.state is None:
            raise PipelineError(f"key_by({self.key!r}) has no state behind it; add one, or leave it out")
        for sink in sinks:
            missing = [needed for needed in sink.needs if needed not in self.fields]
            if missing:
                raise PipelineError(f"the sink {sink.name!r} writes the field {missing[0]!r}, and {self._have()}")
        return Pipeline(name, self, sinks)

    def _with_state(self, step: StateComputation) -> "Stream":
        if self.key is None:
            raise PipelineError(f"{step.name!r} remembers by key, and these rows have none; put key_by before it")
        if self.state is not None:
            raise PipelineError(f"{step.name!r} comes after {self.state.name!r}, the pipeline's one state; make two")
        problem = step.problem(self.inflows)
        if problem:
            raise PipelineError(f"{step.name!r}: {problem}")
        return replace(self, state=step)

    def _have(self) -> str:
        return f"the rows have {', '.join(self.fields)}"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a job runs: a stream, and where it ends."""

    name: str
    stream: Stream
    sinks: tuple[Sink, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where its messages come from."""
        return tuple(branch.source for branch in self.stream.branches)

    @property
    def ends(self) -> Names:
        """The names of its sources and its sinks."""
        return (*(source.name for source in self.sources), *(sink.name for sink in self.sinks))

    def describe(self) -> str:
        """The topology, a step a line, branches side by side one below the other."""
        stream = self.stream
        lines = [self.name]
        for branch in stream.branches:
            lines.append(f"  source {branch.source.name}: {', '.join(branch.source.fields)}")
            lines += [f"    {step.kind} {step.name}" for step in branch.computations]
            lines += [f"    key by {stream.key}"] if stream.key else []
        after = [f"{step.kind} {step.name}" for step in (stream.state, *stream.computations) if step is not None]
        lines += [f"  {step}" for step in (["merge"] if len(stream.branches) > 1 else []) + after]
        lines += [f"  sink {sink.name}" for sink in self.sinks]
        return "\n".join(lines)


def _stream(given: "Stream | Source") -> Stream:
    return Stream((Branch(given),)) if isinstance(given, Source) else given


def _refuse_own_names(who: str, names: Names) -> None:
    taken = [name for name in names if name in OWN_NAMES]
    if taken:
        raise PipelineError(f"{who} has a field {taken[0]!r}, which every row has for itself; rename it")


def _each_once(names: Iterable[str]) -> Names:
    return tuple(dict.fromkeys(names))
