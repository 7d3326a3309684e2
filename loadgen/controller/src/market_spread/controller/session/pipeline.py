"""A pipeline on the embedded broker: its topics are filled from files, and what its sinks get is shown."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from market_spread.common.clock import Clock, polls
from market_spread.common.errors import RunFailedError, UsageError
from market_spread.common.job_contract import BATCH_S_MIN, MODES, REAL_TIME, slots_needed
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import Java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import LocalJvms, local_jvms
from market_spread.controller.deploy.local.services import Services
from market_spread.streaming import Pipeline, PipelineError
from market_spread.streaming.applications.registry import find
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes.rows import INVALID
from market_spread.streaming.modes.support import check
from market_spread.v1.control_pb2 import Phase

_STARTS_WITHIN_S = 120.0
_WRITTEN_WITHIN_S = 30.0
_PROCESSED_WITHIN_S = 600.0
_POLL_S = 0.05

Show = Callable[[str, bytes], None]


def describe(application: str) -> str:
    """The topology of a pipeline, and which modes can run it."""
    pipeline = find(application)
    lines = [pipeline.describe()]
    for mode in MODES:
        try:
            check(pipeline, mode)
            lines.append(f"  runs in {mode}")
        except PipelineError as error:
            lines.append(f"  does not run in {mode}: {str(error).removeprefix(f'{pipeline.name}: ')}")
    return "\n".join(lines)


def inputs_of(arguments: Sequence[str]) -> dict[str, Path]:
    """Files by their sources, from `source=file`. UsageError for one that is not that, or names a source again."""
    inputs: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--input {argument!r}; use SOURCE=FILE")
        if name in inputs:
            raise UsageError(f"--input names the source {name!r} twice; join the files")
        inputs[name] = Path(path)
    return inputs


def run_pipeline(
    application: str,
    *,
    mode: str,
    inputs: Mapping[str, Path],
    java: Java,
    jars: JarCache,
    clock: Clock,
    show: Show,
    say: Callable[[str], None],
) -> dict[str, int]:
    """Run a pipeline on files, each line a message of a source, until all is committed; everything is ended then.

    Returns how many records each sink, and `invalid`, got.

    show: told the sink (or `invalid`) and the value of each record that leaves. UsageError for an input that is not
    there or whose source is not, PipelineError for a pipeline that cannot run, RunFailedError if the job fails.
    """
    pipeline = find(application)
    check(pipeline, mode)
    sources = [source.name for source in pipeline.sources]
    if unknown := [name for name in inputs if name not in sources]:
        raise UsageError(f"{pipeline.name} has no source {unknown[0]!r}; it has {', '.join(sources)}")
    lines = {name: path.read_bytes().splitlines() for name, path in inputs.items()}
    with ExitStack() as ending:
        made = TemporaryDirectory(prefix="market-spread-pipeline-", ignore_cleanup_errors=True)
        folder, jvms = Path(ending.enter_context(made)), local_jvms(java, jars)
        broker = Broker(
            folder=folder / "broker",
            java=java,
            jars=jars.paths("broker"),
            clock=clock,
            archive_option=jvms.broker_option,
        )
        services = Services(folder, clock=clock, on_started=lambda name, pid: None)
        ending.callback(broker.stop)
        ending.callback(services.stop, ("job",))
        say("starting broker and job")
        broker.launch()
        _start_job(services, application, mode, pipeline, broker, jvms)  # it waits for the topics
        broker.wait()
        kafka = KafkaBroker(broker.bootstrap_servers, "pipeline")
        kafka.create_topics(dict.fromkeys((*pipeline.ends, INVALID), 1))
        kafka.write(lines, within_s=_WRITTEN_WITHIN_S)
        client = ending.enter_context(closing(JobClient(f"127.0.0.1:{services.ports('job')['grpc']}")))
        for _ in polls(clock, _STARTS_WITHIN_S, every_s=_POLL_S):
            services.check_alive()
            status = client.job_status()
            if status.phase == Phase.PHASE_FAILED:
                raise RunFailedError(f"the job failed: {status.detail}")
            if status.batch_id >= 0 or status.phase == Phase.PHASE_RUNNING:
                break
        else:
            raise RunFailedError(f"the job did not run within {_STARTS_WITHIN_S:.0f} s")
        say(f"processing {sum(map(len, lines.values())):,} messages")
        client.drain_job({(topic, 0): len(values) for topic, values in lines.items()}, _PROCESSED_WITHIN_S)
        return _received(kafka, [*(sink.name for sink in pipeline.sinks), INVALID], show)


def _start_job(
    services: Services, application: str, mode: str, pipeline: Pipeline, broker: Broker, jvms: LocalJvms
) -> None:
    path, is_file, function = application.rpartition(":")
    file = Path(path).resolve()
    config = JobConfig(
        bootstrap_servers=broker.bootstrap_servers,
        ports_file=services.ports_file("job"),
        application=f"{file}:{function}" if is_file else application,
        mode=mode,
        master=f"local[{slots_needed(REAL_TIME, len(pipeline.sources), 1)}]",
        checkpoint=str(services.folder / "checkpoint"),
        class_path=jvms.class_path,
        java_options=jvms.job_options(),
        batch_s=BATCH_S_MIN[mode],
        driver_memory="1g",
        local_folder=services.folder / "spark",
        restarts_max=0,
        # Its first batches are short, so that what little there is leaves and is committed at once.
        warm_up_batches=1_000_000 if mode == REAL_TIME else 0,
        warm_up_timeout_s=_PROCESSED_WITHIN_S,
    )
    # Where Spark's workers find what the application's file imports from beside it.
    environment = {**jvms.job_environment, **({"PYTHONPATH": str(file.parent)} if is_file else {})}
    services.start("job", "market_spread.streaming.driver", config, environment=environment)


def _received(kafka: KafkaBroker, topics: Sequence[str], show: Show) -> dict[str, int]:
    """Show all that the topics hold now; how many records each has."""
    counts = dict.fromkeys(topics, 0)
    left = {partition: end for partition, end in kafka.end_offsets(topics).items() if end}
    with closing(kafka.consumer()) as consumer:
        consumer.assign(dict.fromkeys(left, 0))
        while left:
            for partition, records in consumer.poll(1.0).items():
                counts[partition[0]] += len(records)
                for record in records:
                    show(partition[0], record.value)
                if records and records[-1].offset + 1 >= left[partition]:
                    del left[partition]
    return counts
