"""Which pipelines a mode can run, others being refused before Spark sees them; and why a query has failed."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.wire.layout import BUCKETS_MAX, Field, Kind, Layout
from market_spread.streaming.messages import PipelineError
from market_spread.streaming.operators import stateful
from market_spread.streaming.operators.stateless import MapBatches
from market_spread.streaming.pipeline import Pipeline, Source

KEY_BYTES_MAX, SEQUENCE_DIGITS_MAX = 8, 12
BUCKETS_MODULO = 5040  # of the keys of buckets of whole frames; 1 to 10, 12, 14 to 16, 18 and 20 divide it


def check(pipeline: Pipeline, mode: str) -> None:
    """PipelineError, with the step and the remedy, if the mode cannot run the pipeline."""
    if mode == REAL_TIME and (problem := next(_real_time(pipeline), None)):
        raise PipelineError(f"{pipeline.name}: {problem}")


def remarks(pipeline: Pipeline, mode: str) -> list[str]:
    """What else one should know of the pipeline in this mode, which can run it."""
    match pipeline.stream.state:
        case stateful.AsOfJoin() as join if mode == REAL_TIME:
            return [f"{join.name!r} joins by arrival, not by time, as rows do not wait for each other"]
        case stateful.AsOfJoin() as join if why := why_by_row(pipeline):
            return [f"{join.name!r} joins row by row, which costs more than on whole frames; {why}"]
        case stateful.TimeWindow() as window:
            return [f"{window.name!r} puts a window out when a row comes from {window.late_s:g} s after its end"]
        case _:
            return []


def check_partitions(pipeline: Pipeline, mode: str, counts: Mapping[str, int]) -> None:
    """PipelineError if a topic has more partitions than the mode keeps apart. counts: by topic."""
    state, topic = pipeline.stream.state, max(counts, key=lambda topic: counts[topic])
    by_frame = mode == MICRO_BATCH and form_of_buckets(pipeline)
    if isinstance(state, stateful.AsOfJoin) and by_frame and counts[topic] > BUCKETS_MAX:
        raise PipelineError(
            f"{pipeline.name}: the topic {topic!r} has {counts[topic]:,} partitions, and {state.name!r} takes at most "
            f"{BUCKETS_MAX:,} in {MICRO_BATCH}; use fewer, or {REAL_TIME}"
        )


def form_of_buckets(pipeline: Pipeline) -> str:
    """See `Mode.state_form`: how micro-batch mode keys the state of an as-of join of whole frames; else empty."""
    is_by_frame = isinstance(pipeline.stream.state, stateful.AsOfJoin) and why_by_row(pipeline) is None
    return f"buckets modulo {BUCKETS_MODULO}" if is_by_frame else ""


def why_by_row(pipeline: Pipeline) -> str | None:
    """Why micro-batch mode does the as-of join row by row; None if it goes by whole frames."""
    return next(chain(_unlike_frames(pipeline), _too_wide(pipeline)), None)


def _too_wide(pipeline: Pipeline) -> Iterator[str]:
    """A key must fit in eight bytes, and a sequence in the 41 bits that the kernel has for it (kernels.py)."""
    for source, field in _fields(pipeline):
        most = {source.sequence: SEQUENCE_DIGITS_MAX, pipeline.stream.keys[0]: KEY_BYTES_MAX}.get(field.name)
        if most is not None and field.width > most:
            yield f"{field.name!r} of {source.name!r} is {field.width} bytes wide; make it {most} at most"


def _unlike_frames(pipeline: Pipeline) -> Iterator[str]:
    """Why an as-of join cannot take the messages as they came, each with the remedy."""
    stream, join = pipeline.stream, pipeline.stream.state
    if not isinstance(join, stateful.AsOfJoin):
        return
    for branch in stream.branches:
        if not isinstance(branch.source.messages, Layout):
            yield f"{join.name!r}: the messages of {branch.source.name!r} have no fixed width; give it a layout"
        for name in branch.source.record_fields:
            yield f"{join.name!r} takes nothing of the records but their values; leave {name!r} out"
        for step in branch.computations:
            yield f"{step.name!r} comes before {join.name!r}; move it after the join"
        if branch.time or branch.sequence:
            yield f"{join.name!r} takes the time and sequence that {branch.source.name!r} declares; declare them there"
    if len(stream.keys) > 1:
        yield f"{join.name!r} joins by {' and '.join(stream.keys)}; key by one field"


def _real_time(pipeline: Pipeline) -> Iterator[str]:
    yield from (f"{unlike}, or use {MICRO_BATCH}" for unlike in _unlike_frames(pipeline))
    for step in pipeline.stream.steps:
        if isinstance(step, MapBatches | stateful.StatefulMap | stateful.CountWindow):
            yield f"{step.name!r} is Python, which {REAL_TIME} does not run; use columns, or {MICRO_BATCH}"
    match pipeline.stream.state:
        case stateful.RunningTotal() as state:
            for name, schema in pipeline.stream.schemas.items():
                if schema.sequence is not None:
                    yield (
                        f"{state.name!r} cannot drop repeated rows of {name!r} in {REAL_TIME}; "
                        f"declare no sequence, or use {MICRO_BATCH}"
                    )
        case stateful.TimeWindow() | stateful.Deduplicate() | stateful.IntervalJoin() as state:
            yield f"{state.name!r} goes by time, and {REAL_TIME} does not notice when a time is over; use {MICRO_BATCH}"
        case stateful.AsOfJoin() as state:
            for source, field in _fields(pipeline):
                if source.name != state.of and field.kind is Kind.TEXT and field.name not in pipeline.stream.keys:
                    yield (
                        f"{state.name!r} would pass on the text {field.name!r} of {source.name!r}, and {REAL_TIME} "
                        f"passes on only numbers and letters; make it a number, or use {MICRO_BATCH}"
                    )
        case stateful.StatefulMap() | stateful.CountWindow() | None:
            pass


def _fields(pipeline: Pipeline) -> Iterator[tuple[Source, Field]]:
    """The fields of all layouts, without the letters that name their kinds."""
    for source in pipeline.sources:
        if isinstance(source.messages, Layout):
            yield from ((source, field) for field in source.messages.fields[1:])


def sentence_of(error: Exception) -> str:
    """What it says, without details; of an error in a Python worker what was raised there, and the user's line."""
    first, *more = str(error).strip().splitlines() or [type(error).__name__]
    first = re.sub(r"^\[STREAM_FAILED\] .*? terminated with exception: |( SQLSTATE: \w+;?)+$", "", first)
    raised = (line for line in more if line[:1].strip() and first.endswith("Traceback (most recent call last):"))
    places = [(Path(file), line) for file, line in re.findall(r'^ +File "(.+)", line (\d+)', str(error), re.MULTILINE)]
    # Not the packages of an environment, or of the image.
    where = [f"{file.name}:{line}: " for file, line in places[-1:] if not {"site-packages", "packages"} & {*file.parts}]
    return "".join([*where, next(raised, first)])
