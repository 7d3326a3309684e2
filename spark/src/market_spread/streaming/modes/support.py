"""Which pipelines a mode can run; others are refused before Spark sees them."""

from collections.abc import Iterator, Mapping

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.wire.layout import BUCKETS_MAX, Kind, Layout
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import MapBatches
from market_spread.streaming.pipeline import Pipeline, PipelineError

KEY_BYTES_MAX = 8
SEQUENCE_DIGITS_MAX = 12
_PYTHON = (MapBatches, StatefulMap, CountWindow)


def check(pipeline: Pipeline, mode: str) -> None:
    """PipelineError, with the step and the remedy, if the mode cannot run the pipeline."""
    problems = [*_both(pipeline), *(_real_time if mode == REAL_TIME else _micro_batch)(pipeline)]
    if problems:
        raise PipelineError(f"{pipeline.name}: {problems[0]}")


def check_partitions(pipeline: Pipeline, mode: str, counts: Mapping[str, int]) -> None:
    """PipelineError if a topic has more partitions than the mode keeps apart. counts: by topic."""
    state = pipeline.stream.state
    if mode != MICRO_BATCH or not isinstance(state, AsOfJoin):
        return
    for topic, count in counts.items():
        if count > BUCKETS_MAX:
            raise PipelineError(
                f"{pipeline.name}: the topic {topic!r} has {count:,} partitions, and {state.name!r} takes at most "
                f"{BUCKETS_MAX:,} in {MICRO_BATCH}; use fewer, or {REAL_TIME}"
            )


def _both(pipeline: Pipeline) -> Iterator[str]:
    state = pipeline.stream.state
    if not isinstance(state, AsOfJoin):
        return
    for step in (step for branch in pipeline.stream.branches for step in branch.computations):
        yield f"{step.name!r} comes before {state.name!r}, which takes unchanged messages; move it after the join"


def _real_time(pipeline: Pipeline) -> Iterator[str]:
    for step in pipeline.stream.steps:
        if isinstance(step, _PYTHON):
            yield f"{step.name!r} is Python, which {REAL_TIME} does not run; use columns, or {MICRO_BATCH}"
    state = pipeline.stream.state
    if isinstance(state, RunningTotal):
        for name, schema in pipeline.stream.schemas.items():
            if schema.sequence is not None:
                yield (
                    f"{state.name!r} cannot drop repeated rows of {name!r} in {REAL_TIME}; "
                    f"declare no sequence, or use {MICRO_BATCH}"
                )
    if isinstance(state, RangeWindow):
        yield f"{state.name!r}: {REAL_TIME} does not notice when a window of time ends; use {MICRO_BATCH}"
    if isinstance(state, AsOfJoin):
        yield from _texts_in_state(pipeline, state)


def _texts_in_state(pipeline: Pipeline, state: AsOfJoin) -> Iterator[str]:
    """Text fields, other than the key, that would have to pass through the state."""
    for source in pipeline.sources:
        if source.name != state.of and isinstance(source.messages, Layout):
            for field in source.messages.fields[1:]:
                if field.kind is Kind.TEXT and field.name != pipeline.stream.key:
                    yield (
                        f"{state.name!r} would pass on the text {field.name!r} of {source.name!r}, and {REAL_TIME} "
                        f"passes on only numbers and letters; make it a number, or use {MICRO_BATCH}"
                    )


def _micro_batch(pipeline: Pipeline) -> Iterator[str]:
    """A key must fit in eight bytes, and a sequence in the 41 bits that the kernel has for it (kernels/as_of.py)."""
    state = pipeline.stream.state
    if not isinstance(state, AsOfJoin):
        return
    for source in pipeline.sources:
        widths = (
            {field.name: field.width for field in source.messages.fields} if isinstance(source.messages, Layout) else {}
        )
        for name, most in ((pipeline.stream.key, KEY_BYTES_MAX), (source.sequence, SEQUENCE_DIGITS_MAX)):
            if name is not None and widths.get(name, 0) > most:
                yield (
                    f"{state.name!r}: {name!r} of {source.name!r} is {widths[name]} bytes wide, and {MICRO_BATCH} "
                    f"takes at most {most}; make it narrower, or use {REAL_TIME}"
                )
