"""A broker and a job alone, for some messages: pipelines run on files by it, and JVMs rehearse.

A rehearsal writes archives of the classes that both JVMs have loaded when they end. Its messages are real ones, so that
these have what every later life loads: also what Spark's Real-Time Mode, its Kafka connector and its state store make.
Usage: python -m market_spread.controller.deploy.local.small_stack JOB_ARCHIVE BROKER_ARCHIVE
"""

import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import MarketSpreadError, UsageError
from market_spread.common.job_contract import REJECTED_DECISIONS, TOPICS
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.processes import family
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import check_archives
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.deploy.topics import topic_partitions
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET
from market_spread.streaming.driver.config import JobConfig

_WRITTEN_WITHIN_S, _REHEARSED_WITHIN_S = 30.0, 120
_MARKET = {"seed": 1, "buckets": 1, "profile": {"profile": "constant", "messages_per_s": 20_000, "duration_s": 1}}


@dataclass(frozen=True, slots=True)
class SmallStack:
    """The running processes; topics have one partition."""

    kafka: KafkaBroker
    client: JobClient
    services: Services
    broker_pid: int

    def process(self, sent: Mapping[str, Sequence[bytes]], *, within_s: float, or_first_batch: bool = False) -> None:
        """Write the messages of each topic, wait for the job, and have it commit all. RunFailedError if it does not."""
        self.kafka.write(sent, within_s=_WRITTEN_WITHIN_S)
        self.client.wait_for_job(lambda _: self.services.check_alive(), or_first_batch=or_first_batch)
        self.client.drain_job({(topic, 0): len(of) for topic, of in sent.items()}, within_s)


@contextmanager
def small_stack(
    folder: Path, jvms: LocalJvms, topics: Mapping[str, int], *, clock: Clock, broker_option: str,
    environment: Mapping[str, str] | None = None, **job: Any,
) -> Iterator[SmallStack]:  # fmt: skip
    """Start both, with these topics, and end both whatever happens. They write everything below the folder.

    environment: on top of the job's; job: what its `JobConfig` has besides.
    """
    services = Services(folder, clock=clock, on_started=lambda name, pid: None)
    java, jars = jvms.java, jvms.jars.paths("broker")
    broker = Broker(folder=folder / "broker", java=java, jars=jars, clock=clock, archive_option=broker_option)
    with ExitStack() as ending:
        ending.push(_without_log)
        ending.callback(broker.stop)
        ending.callback(services.stop, ("job",))
        broker_pid = broker.launch()
        config = JobConfig(
            bootstrap_servers=broker.bootstrap_servers, ports_file=services.ports_file("job"),
            checkpoint=str(folder / "checkpoint"), class_path=jvms.class_path, driver_memory="1g",
            local_folder=folder / "spark", **job,
        )  # fmt: skip
        more = {**jvms.job_environment, **(environment or {})}
        services.start("job", "market_spread.streaming.driver", config, environment=more)  # it waits for the topics
        broker.wait()
        kafka = KafkaBroker(broker.bootstrap_servers)
        kafka.create_topics(topics)
        client = ending.enter_context(closing(JobClient(f"127.0.0.1:{services.ports('job')['grpc']}")))
        yield SmallStack(kafka, client, services, broker_pid)


def _without_log(_: object, error: BaseException | None, __: object) -> None:
    """By the time the error is read, its log is gone with the folder."""
    if isinstance(error, MarketSpreadError):
        error.args = (str(error).partition(" (log: ")[0],)


def rehearse(job_archive: Path, broker_archive: Path) -> None:
    """Write both archives. MarketSpreadError if a JVM does not start or end in time, or refuses what it wrote."""
    jvms, clock = LocalJvms(find_java(java_home()), JarCache(), job_archive, broker_archive), SystemClock()
    blocks = list(Market(MARKET.read(_MARKET), clock.unix_ns()).blocks())
    frames = {
        TOPICS.nbbo: [block.quotes.rows.tobytes() for block in blocks],
        TOPICS.orders: [block.orders.rows.tobytes() for block in blocks],
    }
    with (
        tempfile.TemporaryDirectory(prefix="market-spread-rehearsal-") as folder,
        small_stack(
            Path(folder), jvms, topic_partitions(1, REJECTED_DECISIONS), clock=clock,
            broker_option=f"-XX:ArchiveClassesAtExit={broker_archive}",
            java_options=shlex.quote(f"-XX:ArchiveClassesAtExit={job_archive}"),
            master="local[3]", warm_up_batches=3,
        ) as stack,
    ):  # fmt: skip
        stack.process(frames, within_s=_REHEARSED_WITHIN_S)
        families = [family(psutil.Process(pid)) for pid in (stack.services.children["job"].pid, stack.broker_pid)]
        processes = [process for members in families for process in members if process.name() == "java"]
        for process in processes:  # asked to end, they write their archives
            process.terminate()
        if psutil.wait_procs(processes, timeout=_REHEARSED_WITHIN_S)[1]:
            raise UsageError(f"a JVM did not write its archive of classes within {_REHEARSED_WITHIN_S} s")
    check_archives(jvms)


if __name__ == "__main__":
    try:
        rehearse(*map(Path, sys.argv[1:]))
    except MarketSpreadError as error:
        sys.exit(str(error))
