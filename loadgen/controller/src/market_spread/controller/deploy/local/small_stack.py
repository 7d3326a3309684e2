"""A broker and a job alone, for some messages: pipelines run on files by it, and JVMs rehearse."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from market_spread.common.clock import Clock
from market_spread.common.jvm.jars import JarCache
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.clients.services import JobClient
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import LocalJvms
from market_spread.controller.deploy.local.services import Services
from market_spread.streaming.driver.config import JobConfig

_WRITTEN_WITHIN_S = 30.0


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
    folder: Path,
    jvms: LocalJvms,
    jars: JarCache,
    topics: Mapping[str, int],
    *,
    clock: Clock,
    broker_option: str,
    environment: Mapping[str, str] | None = None,
    **job: Any,
) -> Iterator[SmallStack]:
    """Start both, with these topics, and end both whatever happens. They write everything below the folder.

    environment: on top of the job's; job: what its `JobConfig` has besides.
    """
    services = Services(folder, clock=clock, on_started=lambda name, pid: None)
    broker = Broker(
        folder=folder / "broker", java=jvms.java, jars=jars.paths("broker"), clock=clock, archive_option=broker_option
    )
    with ExitStack() as ending:
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
