"""A short life of a broker and a job whose JVMs archive the classes that they have loaded when they end.

It is a real one, with a few messages, so that the archives have what every later life loads: also what Spark's
Real-Time Mode, its Kafka connector and its state store make as they run.
Usage: python -m market_spread.controller.deploy.local.rehearsal JOB_ARCHIVE BROKER_ARCHIVE
"""

import shlex
import sys
import tempfile
from pathlib import Path

import psutil

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import MarketSpreadError, UsageError
from market_spread.common.job_contract import REJECTED_DECISIONS, TOPICS
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.processes import family
from market_spread.controller.deploy.local.jvms import LocalJvms, check_archives, connector_path
from market_spread.controller.deploy.local.small_stack import small_stack
from market_spread.controller.deploy.topics import topic_partitions
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET

_WITHIN_S = 120
_MARKET = {"seed": 1, "buckets": 1, "profile": {"profile": "constant", "messages_per_s": 20_000, "duration_s": 1}}


def rehearse(job_archive: Path, broker_archive: Path) -> None:
    """Write both. MarketSpreadError if a JVM does not start, does not end in time, or refuses what it wrote."""
    java, jars, clock = find_java(java_home()), JarCache(), SystemClock()
    jvms = LocalJvms(java, connector_path(jars), job_archive, broker_archive)
    blocks = list(Market(MARKET.read(_MARKET), clock.unix_ns()).blocks())
    frames = {
        TOPICS.nbbo: [block.quotes.rows.tobytes() for block in blocks],
        TOPICS.orders: [block.orders.rows.tobytes() for block in blocks],
    }
    with (
        tempfile.TemporaryDirectory(prefix="market-spread-rehearsal-") as folder,
        small_stack(
            Path(folder), jvms, jars, topic_partitions(1, REJECTED_DECISIONS), clock=clock,
            broker_option=f"-XX:ArchiveClassesAtExit={broker_archive}",
            java_options=shlex.quote(f"-XX:ArchiveClassesAtExit={job_archive}"),
            master="local[3]", warm_up_batches=3,
        ) as stack,
    ):  # fmt: skip
        stack.process(frames, within_s=_WITHIN_S)
        families = [family(psutil.Process(pid)) for pid in (stack.services.children["job"].pid, stack.broker_pid)]
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
