"""Which pipelines a mode can run, so that one that it cannot is refused before Spark sees it."""

from collections.abc import Iterator

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.wire.layout import Kind, Layout
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import MapBatches
from market_spread.streaming.pipeline import Pipeline, PipelineError

KEY_BYTES_MAX = 8
SEQUENCE_DIGITS_MAX = 12
_PYTHON = (MapBatches, StatefulMap, CountWindow)


def check(pipeline: Pipeline, mode: str) -> None:
    """PipelineError if the mode cannot run the pipeline, with the step and what can be done."""
    problems = [*_both(pipeline), *(_real_time if mode == REAL_TIME else _micro_batch)(pipeline)]
    if problems:
        raise PipelineError(f"{pipeline.name}: {problems[0]}")


def _both(pipeline: Pipeline) -> Iterator[str]:
    state = pipeline.stream.state
    if not isinstance(state, AsOfJoin):
        return
    for step in (step for branch in pipeline.stream.branches for step in branch.computations):
        yield f"{step.name!r} comes before {state.name!r}, which takes messages as they are; put it behind"


def _real_time(pipeline: Pipeline) -> Iterator[str]:
    for step in pipeline.stream.steps:
        if isinstance(step, _PYTHON):
            yield f"{step.name!r} is Python, which {REAL_TIME} does not run; use columns, or {MICRO_BATCH}"
    state = pipeline.stream.state
    if isinstance(state, RunningTotal):
        for name, inflow in pipeline.stream.inflows.items():
            if inflow.sequence is not None:
                yield (
                    f"{state.name!r} cannot leave out what {name!r} sends again in {REAL_TIME}; "
                    f"declare no sequence, or use {MICRO_BATCH}"
                )
    if isinstance(state, RangeWindow):
        yield (
            f"{state.name!r}: windows of time leave when they are over, which {REAL_TIME} does not see; "
            f"use {MICRO_BATCH}"
        )
    if isinstance(state, AsOfJoin):
        yield from _texts_beside_the_key(pipeline, state)


def _texts_beside_the_key(pipeline: Pipeline, state: AsOfJoin) -> Iterator[str]:
    """Fields that would have to travel through the state and are no numbers."""
    for source in pipeline.sources:
        if source.name != state.of and isinstance(source.messages, Layout):
            for field in source.messages.fields[1:]:
                if field.kind is Kind.TEXT and field.name != pipeline.stream.key:
                    yield (
                        f"{state.name!r} would carry the text {field.name!r} of {source.name!r}, and {REAL_TIME} "
                        f"carries numbers and letters alone; make it a number, or use {MICRO_BATCH}"
                    )


def _micro_batch(pipeline: Pipeline) -> Iterator[str]:
    """A key must fit in a word of eight bytes, and a sequence beside it in another (kernels/as_of.py)."""
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
                    f"{state.name!r}: {name!r} of {source.name!r} is {widths[name]} wide, and {MICRO_BATCH} takes at "
                    f"most {most}; make it narrower, or use {REAL_TIME}"
                )
