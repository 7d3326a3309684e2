"""The driver process: `python -m market_spread.streaming.driver`, configured by its environment."""

import logging
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.job_contract import REAL_TIME, slots_needed
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.logs import log_event
from market_spread.common.process.service import run_main, serving
from market_spread.common.processes import call_on_signals, cpu_us_of, family
from market_spread.common.telemetry import metrics
from market_spread.common.telemetry.recorder import Recorder, record_committed
from market_spread.streaming.applications.registry import find
from market_spread.streaming.driver import checkpoint as checkpoints
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.driver.control_service import JobService
from market_spread.streaming.driver.engine import EarlyEnd, SparkEngine
from market_spread.streaming.driver.kubernetes.lease import lease_in_cluster
from market_spread.streaming.driver.progress import Partition
from market_spread.streaming.driver.replica_schedule import ReplicaSchedule
from market_spread.streaming.driver.session import effective_settings, open_session
from market_spread.streaming.driver.supervisor import JobState, Supervisor, WarmUp
from market_spread.streaming.modes.registry import BY_NAME
from market_spread.streaming.modes.support import check, check_partitions
from market_spread.streaming.pipeline import INVALID, Pipeline
from market_spread.v1.control_pb2 import Phase

_TOPICS_POLL_NS, _BROKER_STARTS_WITHIN_NS = 200_000_000, 30_000_000_000
REHEARSAL_TOPIC = "market-spread-rehearsal"
_REHEARSAL_BATCHES, _REHEARSAL_S = 30, 10.0  # twice

_log = logging.getLogger(__name__)


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""
    return run_main(_run, JobConfig)


def _run() -> None:
    config = from_environment(JobConfig)
    if config.local_folder is not None:
        _run_job(config, config.local_folder)
        return
    with tempfile.TemporaryDirectory(prefix="market-spread-", ignore_cleanup_errors=True) as folder:
        _run_job(config, Path(folder))


def _run_job(config: JobConfig, folder: Path) -> None:
    clock = SystemClock()
    recorder = Recorder(source=config.source, clock=clock, run_id=config.run_id)
    pipeline = find(config.application)
    check(pipeline, config.mode)
    broker, checkpoint = KafkaBroker(config.bootstrap_servers, security=config), Path(config.checkpoint)
    topics = tuple(config.topic_names(source.name for source in pipeline.sources).values())
    lease = lease_in_cluster(config, clock) if config.lease is not None else None
    if lease is not None:
        lease.start()  # a predecessor's may take as long to expire as the session takes to start
    mode = BY_NAME[config.mode]
    spark = open_session(config, folder)
    settings = effective_settings(spark)
    # In a cluster topics may be made later; elsewhere the broker starts beside this.
    within_ns = None if config.is_on_kubernetes else _BROKER_STARTS_WITHIN_NS
    make = partial(_make_topics, broker, pipeline, config)
    counts = _partition_counts(broker, topics, clock, within_ns=within_ns, make=make)
    check_partitions(pipeline, config.mode, counts)
    # Read before the topics' ends: a predecessor may still be running, and its offsets only grow.
    if known := checkpoints.newest_offsets(checkpoint):
        checkpoints.refuse_other_kafka(checkpoint, known, broker.end_offsets(topics))
    if lease is not None:
        lease.wait_until_held()
    is_local = config.master.startswith("local")
    early_end = EarlyEnd(spark, broker, counts, clock) if is_local and config.mode == REAL_TIME else None
    short_s = mode.warm_up_batch_s
    state_partitions = config.shuffle_partitions if pipeline.stream.state else 0
    # A pipeline of somebody's own begins with empty topics. Nobody asks for ours.
    topics_read = counts if ":" in config.application else {}
    begin = {(topic, number): 0 for topic, count in topics_read.items() for number in range(count)}
    record = partial(record_committed, recorder, begin, len(pipeline.sources) * len(pipeline.sinks))
    supervisor = Supervisor(
        SparkEngine(spark, pipeline, config, early_end),
        slots_needed=slots_needed(config.mode, sum(counts.values()), state_partitions), slots_may_grow=not is_local,
        slots_timeout_s=config.slots_timeout_s, restarts_max=config.restarts_max,
        warm_up=WarmUp(config.warm_up_batches if short_s else 0, short_s or config.batch_s, config.warm_up_timeout_s),
        schedule=ReplicaSchedule(config.batch_s, config.replica, config.replicas), clock=clock,
        on_change=partial(_record, recorder, config.batch_s, record=record), cpu_us=lambda: cpu_us_of(family()),
    )  # fmt: skip
    # After the session, which installs its own handler of SIGINT.
    call_on_signals(lambda: supervisor.stop(config.stop_wait_s))
    service = JobService(supervisor, mode=config.mode, settings=settings, clock=clock)
    with serving(config, "Job", service, recorder=recorder, clock=clock):
        if config.standby:
            broker.create_topics({REHEARSAL_TOPIC: 1})
            # With a name of its own: the JVM drops what Python has forgotten.
            lock = checkpoints.CheckpointLock(spark, checkpoint)
            supervisor.stand_by(
                lock.acquire,
                SparkEngine(spark, pipeline, rehearsal_config(config, pipeline, folder)),
                WarmUp(_REHEARSAL_BATCHES, short_s or config.batch_s, _REHEARSAL_S),
            )
        checkpoints.bind_state_form(checkpoint, mode.state_form(pipeline))
        checkpoints.spread_state(spark, checkpoint, state_partitions)
        supervisor.run()
    if lease is not None:
        spark.stop()  # so the next holder finds none of our executors running
        lease.release()


def _make_topics(broker: KafkaBroker, pipeline: Pipeline, config: JobConfig) -> None:
    """Make the topics of sources, sinks and `invalid` that are missing, if asked; others stay as they are."""
    if not config.topic_partitions:
        return
    partitions = dict.fromkeys((*pipeline.ends, INVALID), 1)
    partitions |= {source.name: config.topic_partitions for source in pipeline.sources}
    topics = {topic: partitions[name] for name, topic in config.topic_names(partitions).items()}
    broker.create_topics(topics, replicas=config.topic_replicas, others_fit=True)


def _partition_counts(
    broker: KafkaBroker, topics: Sequence[str], clock: Clock, *, within_ns: int | None, make: Callable[[], None]
) -> Mapping[str, int]:
    """How many partitions each topic has. Waits for topics that are still to come; within_ns: None waits for ever.

    make: makes those that are missing, once there is a broker.
    """
    begun_ns = clock.monotonic_ns()
    while True:
        try:
            make()
            return broker.partition_counts(topics)
        except (UsageError, RunVoidError) as error:
            if within_ns is not None and clock.monotonic_ns() - begun_ns > within_ns:
                raise
            log_event(_log, "topics.awaited", logging.WARNING, reason=str(error))
            clock.sleep_ns(_TOPICS_POLL_NS)


def _record(
    recorder: Recorder, batch_s: float, state: JobState, record: Callable[[Mapping[Partition, int]], object]
) -> None:
    if state.phase == Phase.PHASE_IDLE:
        return  # a standby has done nothing, and the other one tells of the checkpoint
    recorder.counter(metrics.JOB_RECORDS).set(state.progress.records_live)
    recorder.counter(metrics.JOB_MESSAGES).set(state.progress.messages_live)
    recorder.counter(metrics.JOB_COMMITTED).set(state.progress.messages_committed)
    recorder.counter(metrics.JOB_LATE).set(state.progress.late)
    record(state.progress.offsets)
    recorder.counter(metrics.JOB_RESTARTS).set(state.restarts)
    recorder.gauge(metrics.JOB_BATCH).set(state.progress.batch_id)
    if state.progress.batches:
        recorder.gauge(metrics.JOB_COMMIT).set(max(0.0, state.progress.batches[-1].duration_ns / 1e9 - batch_s))


def rehearsal_config(config: JobConfig, pipeline: Pipeline, folder: Path) -> JobConfig:
    """The same job on a checkpoint in the folder: it reads what it will read, and writes to REHEARSAL_TOPIC alone."""
    topics = dict.fromkeys((*pipeline.ends, INVALID), REHEARSAL_TOPIC)
    topics |= config.topic_names(source.name for source in pipeline.sources)
    named = ",".join(f"{name}={topic}" for name, topic in topics.items())
    return replace(config, checkpoint=str(folder / "rehearsal"), topics=named)


if __name__ == "__main__":
    sys.exit(main())
