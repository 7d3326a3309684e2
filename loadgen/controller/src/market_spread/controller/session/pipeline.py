"""A pipeline on the embedded broker: its topics are filled from files, and what its sinks get is shown."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.job_contract import BATCH_S_MIN, MODES, REAL_TIME, slots_needed
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.controller.deploy.local.jvms import local_jvms
from market_spread.controller.deploy.local.small_stack import small_stack
from market_spread.streaming import INVALID, Avro, PipelineError
from market_spread.streaming.applications.registry import find_checked
from market_spread.streaming.modes.support import check, remarks

_PROCESSED_WITHIN_S = 600.0


def describe(application: str) -> tuple[dict[str, Any], str]:
    """The topology of a pipeline, and which modes can run it: as a document, and as text."""
    pipeline = find_checked(application)
    obstacles: dict[str, str | None] = dict.fromkeys(MODES)
    for mode in MODES:
        try:
            check(pipeline, mode)
        except PipelineError as error:
            obstacles[mode] = str(error).removeprefix(f"{pipeline.name}: ")
    said = {mode: remarks(pipeline, mode) for mode, obstacle in obstacles.items() if obstacle is None}
    document = {
        "name": pipeline.name, "steps": pipeline.describe().splitlines()[1:], "obstacles": obstacles, "remarks": said
    }  # fmt: skip
    runs = (
        f"  does not run in {mode}: {obstacle}" if obstacle else "; ".join([f"  runs in {mode}", *said[mode]])
        for mode, obstacle in obstacles.items()
    )
    return document, "\n".join([pipeline.describe(), *runs])


def inputs_of(arguments: Sequence[str]) -> dict[str, Path]:
    """Files by their sources, from `source=file`. UsageError for one that is not that, or names a source again."""
    inputs: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--input {argument!r}; use SOURCE=FILE")
        if name in inputs:
            raise UsageError(f"--input names the source {name!r} twice; join the files")
        if Path(path).is_char_device():
            raise UsageError(f"--input {argument} is a device, which has no end; name a file")
        inputs[name] = Path(path)
    return inputs


def run_pipeline(
    application: str, *, mode: str, inputs: Mapping[str, Path], show: Callable[[str, bytes], None],
    say: Callable[[str], None], warn: Callable[[str], None],
) -> dict[str, int]:  # fmt: skip
    """Run a pipeline on files, each line a message of a source, until all is committed; everything is ended then.

    A message in Avro is a line of JSON, in the files and in what is shown.

    Returns how many records each sink, and `invalid`, got. show: told the sink (or `invalid`) and the value of each
    record that leaves; say: of the progress; warn: of what may be missing from the output. UsageError for an input that
    is not there or whose source is not, PipelineError for a pipeline that cannot run, RunFailedError if the job fails.
    """
    pipeline = find_checked(application)
    check(pipeline, mode)
    sources = [source.name for source in pipeline.sources]
    if unknown := [name for name in inputs if name not in sources]:
        raise UsageError(f"{pipeline.name} has no source {unknown[0]!r}; it has {', '.join(sources)}")
    if not inputs:
        wanted = " ".join(f"--input {name}=FILE" for name in sources)
        raise UsageError(f"{pipeline.name} has no input; give its sources files: {wanted}")
    in_avro = {name: of for name, of in pipeline.messages.items() if isinstance(of, Avro)}
    lines: dict[str, list[bytes]] = {}
    for name, given in inputs.items():
        with usage_errors(f"--input {name}={given} cannot be read", "name a file of lines"):
            lines[name] = given.read_bytes().splitlines()
        for at, line in enumerate(lines[name] if name in in_avro else ()):
            with usage_errors(
                f"--input {name}={given}: line {at + 1}", "a line is a record as JSON", (ValueError, UsageError)
            ):
                lines[name][at] = in_avro[name].encode(json.loads(line))
    path, is_file, function = application.rpartition(":")
    file, topics = Path(path).resolve(), [*pipeline.outputs, INVALID]
    say("starting broker and job")
    with TemporaryDirectory(prefix="market-spread-pipeline-", ignore_cleanup_errors=True) as folder:
        jvms = local_jvms(find_java(java_home()), JarCache())
        with small_stack(
            Path(folder), jvms, dict.fromkeys((*pipeline.ends, INVALID), 1), clock=SystemClock(),
            broker_option=jvms.broker_option, java_options=jvms.job_options(),
            # Where Spark's workers find what the application's file imports from beside it.
            environment={"PYTHONPATH": str(file.parent)} if is_file else {},
            application=f"{file}:{function}" if is_file else application,
            master=f"local[{slots_needed(REAL_TIME, len(pipeline.sources), 1)}]",
            mode=mode, batch_s=BATCH_S_MIN[mode], restarts_max=0,
            # Its first batches are short, so that what little there is leaves and is committed at once.
            warm_up_batches=1_000_000 if mode == REAL_TIME else 0,
            warm_up_timeout_s=_PROCESSED_WITHIN_S,
        ) as stack:  # fmt: skip
            say(f"processing {sum(map(len, lines.values())):,} messages")
            stack.process(lines, within_s=_PROCESSED_WITHIN_S, or_first_batch=True)
            for remark in remarks(pipeline, mode):
                warn(remark)
            if late := stack.client.job_status().rows_late:
                fate = "went to their sink" if pipeline.late else "were dropped"
                warn(f"{late:,} rows came too late for a step that goes by time, and {fate}")
            counts = dict.fromkeys(topics, 0)
            for (topic, _), record in stack.kafka.records(stack.kafka.end_offsets(topics)):
                counts[topic] += 1
                value = record.value
                if topic in in_avro:
                    value = json.dumps(in_avro[topic].decode(value), default=str, ensure_ascii=False).encode()
                show(topic, value)
            return counts
