"""A job of any pipeline over a real broker: started, killed, started again from a checkpoint."""

import os
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from market_spread.common.clock import SystemClock
from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import find_java
from market_spread.common.kafka.client import Consumer, KafkaBroker, Producer
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.job_jvm import job_jvm
from market_spread.controller.deploy.local.services import Services
from market_spread.streaming.driver.config import JobConfig
from tests.support.waiting import eventually

TIMEOUT_S = 120


class Jobs:
    """One job at a time, on a broker that is there."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.local_folder = folder / "spark"
        self.broker = broker
        self._jvm = job_jvm(find_java(), JarCache())
        self._services = Services(folder, clock=SystemClock(), on_started=lambda name, pid: None)

    def stop(self) -> None:
        self._services.stop(("job",))

    def create_topics(self, *names: str) -> None:
        KafkaBroker(self.broker.bootstrap_servers).create_topics(dict.fromkeys(names, 1))

    def send(self, topic: str, values: Sequence[bytes]) -> None:
        """Each value a record; returns when all are there."""
        with closing(Producer(self.broker.bootstrap_servers, client_id="test")) as producer:
            for value in values:
                producer.send(topic, 0, value, (), lambda offset, error: None)
            producer.close(30)

    def received(self, topic: str) -> list[bytes]:
        """All that the topic holds now."""
        (end,) = KafkaBroker(self.broker.bootstrap_servers).end_offsets([topic]).values()
        values: list[bytes] = []
        with closing(Consumer(self.broker.bootstrap_servers, client_id="test")) as consumer:
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
        warm_up_batches: int = 30,
    ) -> JobClient:
        """A job from the checkpoint; returns when it answers. batch_s: by default 0, or 5 in Real-Time Mode."""
        config = JobConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            ports_file=self._services.ports_file("job"),
            application=application,
            topics=topics,
            mode=mode,
            master=f"local[{cores}]",
            checkpoint=str(checkpoint),
            class_path=self._jvm.class_path,
            java_options=self._jvm.options(),
            batch_s=(0 if mode == MICRO_BATCH else 5) if batch_s is None else batch_s,
            warm_up_batches=warm_up_batches,
            shuffle_partitions=state_partitions,
            driver_memory="1g",
            local_folder=self.local_folder,
            restarts_max=0,
        )
        self._services.start("job", "market_spread.streaming.driver", config, environment=self._jvm.environment)
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

    def run_to_the_end(
        self, application: str, checkpoint: Path, topic: str, *, topics: str = "", cores: int = 2
    ) -> None:
        """Run a job until it has committed all of the topic, and kill it."""
        client = self.start_job(application, checkpoint, topics=topics, cores=cores)
        self.wait_for_commit(client, topic)
        self.kill(client)
