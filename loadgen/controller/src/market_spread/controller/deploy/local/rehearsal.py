"""A short life of a broker and a job whose JVMs archive the classes that they have loaded when they end.

It is a real one, with a few messages, so that the archives have what every later life loads: also what Spark's
Real-Time Mode, its Kafka connector and its state store make as they run.
Usage: python -m market_spread.controller.deploy.local.rehearsal JOB_ARCHIVE BROKER_ARCHIVE
"""

import shlex
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import psutil

from market_spread.common.clock import SystemClock, polls
from market_spread.common.config import java_home
from market_spread.common.errors import MarketSpreadError, UsageError
from market_spread.common.job_contract import REJECTED_DECISIONS, TOPICS
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.processes import family
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import LocalJvms, check_archives, connector_path
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.deploy.topics import topic_partitions
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET
from market_spread.streaming.driver.config import JobConfig
from market_spread.v1.control_pb2 import Phase

_WITHIN_S = 120
_MARKET = {"seed": 1, "buckets": 1, "profile": {"profile": "constant", "messages_per_s": 20_000, "duration_s": 1}}


def rehearse(job_archive: Path, broker_archive: Path) -> None:
    """Write both. MarketSpreadError if a JVM does not start, does not end in time, or refuses what it wrote."""
    java, jars, clock = find_java(java_home()), JarCache(), SystemClock()
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="market-spread-rehearsal-")))
        archiving = f"-XX:ArchiveClassesAtExit={broker_archive}"
        broker = Broker(
            folder=folder / "broker", java=java, jars=jars.paths("broker"), clock=clock, archive_option=archiving
        )
        services = Services(folder, clock=clock, on_started=lambda name, pid: None)
        ending.callback(broker.stop)
        ending.callback(services.stop, ("job",))
        broker_pid = broker.launch()
        jvms = LocalJvms(java, connector_path(jars), job_archive, broker_archive)
        config = JobConfig(
            bootstrap_servers=broker.bootstrap_servers,
            ports_file=services.ports_file("job"),
            master="local[3]",
            checkpoint=str(folder / "checkpoint"),
            class_path=jvms.class_path,
            java_options=shlex.quote(f"-XX:ArchiveClassesAtExit={job_archive}"),
            driver_memory="1g",
            local_folder=folder / "spark",
            warm_up_batches=3,
        )
        services.start("job", "market_spread.streaming.driver", config, environment=jvms.job_environment)
        broker.wait()
        kafka = KafkaBroker(broker.bootstrap_servers)
        kafka.create_topics(topic_partitions(1, REJECTED_DECISIONS), appended=(TOPICS.alerts,))
        blocks = list(Market(MARKET.read(_MARKET), clock.unix_ns()).blocks())
        frames = {
            TOPICS.nbbo: [block.quotes.rows.tobytes() for block in blocks],
            TOPICS.orders: [block.orders.rows.tobytes() for block in blocks],
        }
        kafka.write(frames, within_s=_WITHIN_S)
        client = ending.enter_context(closing(JobClient(f"127.0.0.1:{services.ports('job')['grpc']}")))
        for _ in polls(clock, _WITHIN_S, every_s=0.1):
            services.check_alive()
            if client.job_status().phase == Phase.PHASE_RUNNING:
                break
        else:
            raise UsageError(f"the job did not run within {_WITHIN_S} s")
        client.drain_job({(topic, 0): len(sent) for topic, sent in frames.items()}, _WITHIN_S)
        families = [family(psutil.Process(pid)) for pid in (services.children["job"].pid, broker_pid)]
        processes = [process for members in families for process in members if process.name() == "java"]
        for process in processes:  # asked to end, they write their archives
            process.terminate()
        if psutil.wait_procs(processes, timeout=_WITHIN_S)[1]:
            raise UsageError(f"a JVM did not write its archive of classes within {_WITHIN_S} s")
    check_archives(jvms, jars)


if __name__ == "__main__":
    try:
        rehearse(*map(Path, sys.argv[1:]))
    except MarketSpreadError as error:
        sys.exit(str(error))
