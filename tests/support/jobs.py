"""A job of any pipeline over a real broker: started, killed, started again from a checkpoint."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import local_jvms
from market_spread.controller.deploy.local.services import Services
from market_spread.streaming.driver.config import JobConfig
from tests.support.waiting import eventually

TIMEOUT_S = 120
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Query:
    """A pipeline with the names of its topics, and the checkpoint that it begins from, if there is one."""

    application: str
    checkpoint: Path
    topics: str


class Jobs:
    """One job at a time, on a broker that is there."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.local_folder = folder / "spark"
        self.broker = broker
        self._jvms = local_jvms(find_java(), JarCache())
        self._services = Services(folder, clock=SystemClock(), on_started=lambda name, pid: None)

    def stop(self) -> None:
        self._services.stop(("job",))

    def create_topics(self, *names: str) -> None:
        KafkaBroker(self.broker.bootstrap_servers).create_topics(dict.fromkeys(names, 1))

    def send(self, topic: str, values: Sequence[bytes]) -> None:
        """Each value a record; returns when all are there."""
        with closing(KafkaBroker(self.broker.bootstrap_servers, "test").producer()) as producer:
            for value in values:
                producer.send(topic, 0, value, (), lambda offset, error: None)
            producer.close(30)

    def received(self, topic: str) -> list[bytes]:
        """All that the topic holds now."""
        (end,) = KafkaBroker(self.broker.bootstrap_servers).end_offsets([topic]).values()
        values: list[bytes] = []
        with closing(KafkaBroker(self.broker.bootstrap_servers, "test").consumer()) as consumer:
            consumer.assign({(topic, 0): 0})
            while len(values) < end:
                for records in consumer.poll(1.0).values():
                    values += [record.value for record in records]
        return values

    def start_job(
        self,
        application: str,
        checkpoint: Path,
        *,
        mode: str = MICRO_BATCH,
        topics: str = "",
        cores: int = 2,
        state_partitions: int = 1,
        batch_s: float | None = None,
        warm_up_batches: int = 2,
    ) -> JobClient:
        """A job from the checkpoint; returns when it answers. batch_s: by default 0, or 5 in Real-Time Mode."""
        config = replace(
            self._config(Query(application, checkpoint, topics)),
            mode=mode,
            master=f"local[{cores}]",
            batch_s=(0 if mode == MICRO_BATCH else 5) if batch_s is None else batch_s,
            warm_up_batches=warm_up_batches,
            shuffle_partitions=state_partitions,
        )
        self._services.start("job", "market_spread.streaming.driver", config, environment=self._jvms.job_environment)
        return JobClient(f"127.0.0.1:{self._services.ports('job')['grpc']}")

    def wait_for_commit(self, client: JobClient, topic: str) -> None:
        """All that the topic holds is committed."""
        eventually(
            "a batch is committed",
            lambda: client.job_status().batch_id >= 0,
            within_s=TIMEOUT_S,
            check=self._services.check_alive,
        )
        client.drain_job(KafkaBroker(self.broker.bootstrap_servers).end_offsets([topic]), TIMEOUT_S)

    def kill(self, client: JobClient) -> None:
        """Kill the driver, its JVM and its workers at once; nothing of them gets to clean up."""
        client.close()
        job = self._services.children["job"]
        os.killpg(job.pid, signal.SIGKILL)
        eventually("the job is gone", lambda: not job.running)

    def run_to_the_end(self, *queries: Query) -> None:
        """Run each, in micro-batch mode, until it has committed all that its topics hold; one after the other."""
        # Not in the folder of jobs, where tests look at what these leave.
        config = replace(self._config(queries[0]), local_folder=self.local_folder.with_name("restarts"))
        environment = {**inherited_environment(), **to_environment(config), **self._jvms.job_environment}
        changes = [
            {"application": query.application, "checkpoint": str(query.checkpoint), "topics": query.topics}
            for query in queries
        ]
        command = [sys.executable, "-m", "tests.support.restarts", json.dumps(changes)]
        ended = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        assert ended.returncode == 0, ended.stderr

    def _config(self, query: Query) -> JobConfig:
        return JobConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            ports_file=self._services.ports_file("job"),
            application=query.application,
            topics=query.topics,
            mode=MICRO_BATCH,
            master="local[2]",
            checkpoint=str(query.checkpoint),
            class_path=self._jvms.class_path,
            java_options=self._jvms.job_options(),
            batch_s=0,
            shuffle_partitions=1,
            driver_memory="1g",
            local_folder=self.local_folder,
            restarts_max=0,
        )
