"""The processes of one machine: broker, aggregator, receiver, job and sender, started together, ended together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.clock import Clock
from market_spread.common.kafka import create_topics
from market_spread.metrics_aggregator.__main__ import AggregatorConfig
from market_spread.receiver.__main__ import ReceiverConfig
from market_spread.runs.broker import Broker, free_port
from market_spread.runs.child import Child
from market_spread.runs.jars import JarCache
from market_spread.runs.java import Java
from market_spread.runs.monitoring import Targets
from market_spread.runs.services import Services, connector_jars, job_environment
from market_spread.runs.workload import Workload
from market_spread.sender.__main__ import SenderConfig
from market_spread.streaming.job.config import JobConfig
from market_spread.streaming.modes.settings import Topics

TOPICS = Topics()
# Of replicas' processes, in a run: one that cannot live is to end it.
_RESTARTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the running processes are reached. replicas: the job's replicas besides the first."""

    bootstrap_servers: str
    sender: str
    receiver: str
    job: str
    aggregator: str
    aggregator_http: str
    replicas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSettings:
    """What the job is started with. replicas: how many of it read the same topics."""

    mode: str
    batch_s: float
    partitions: int
    shuffle_partitions: int
    driver_memory: str
    warm_up_batches: int
    replicas: int = 1

    @staticmethod
    def of(workload: Workload) -> "JobSettings":
        """Those of a workload."""
        return JobSettings(
            workload.mode,
            workload.batch_s,
            workload.partitions,
            workload.shuffle_partitions,
            workload.driver_memory,
            workload.warm_up_batches,
            workload.replicas,
        )

    @property
    def slots(self) -> int:
        """Tasks that run at the same time: one for each partition of both topics, and those of the state."""
        return 2 * self.partitions + self.shuffle_partitions


class Ensemble:
    """All processes of a run on this machine. `start`, then `stop`, also after a failed start."""

    def __init__(
        self,
        *,
        folder: Path,
        java: Java,
        jars: JarCache,
        job: JobSettings,
        clock: Clock,
        run_id: str = "",
        runs_folder: Path | None = None,
        broker_port: int = 0,
        monitored: bool = False,
        on_started: Callable[[str, int], None] = lambda name, pid: None,
    ) -> None:
        """Everything the processes write goes below the folder, but for what is measured of a run.

        runs_folder: where the aggregator keeps that, by run; it keeps it in memory alone if there is none.
        monitored: Prometheus can read the broker and the job as well, at the `targets`.
        on_started: told the name and the process id of each process as soon as it is started, broker included.
        """
        self.folder = folder
        self._java = java
        self._jars = jars
        self._job = job
        self._clock = clock
        self._run_id = run_id
        self._runs_folder = runs_folder
        self._load_stopped = False
        self._on_started = on_started
        self._outlives_parent = False
        self._pushing = ""
        self._job_ports: dict[int, int] = {}
        self.job_restarts = 0
        self._ui_ports = [free_port() for _ in range(job.replicas)] if monitored else []
        self.broker = Broker(
            folder=folder / "broker",
            java=java,
            jars=jars.paths("broker"),
            clock=clock,
            port=broker_port,
            metrics_agent=jars.paths("metrics")[0] if monitored else None,
        )
        self._services = Services(folder, clock=clock, on_started=on_started)

    @property
    def children(self) -> dict[str, Child]:
        """The running processes besides the broker, by their names."""
        return self._services.children

    def targets(self, addresses: Addresses) -> Targets | None:
        """What Prometheus can read of the started processes; None unless they are monitored."""
        if self.broker.metrics_address is None:
            return None
        return Targets(
            aggregator=addresses.aggregator_http.removeprefix("http://"),
            broker=self.broker.metrics_address,
            jobs=tuple(f"127.0.0.1:{port}" for port in self._ui_ports),
        )

    def start(self, *, outlives_parent: bool = False) -> Addresses:
        """Start all; returns when all answer. UsageError with the reason of the first that does not."""
        self._outlives_parent = outlives_parent
        self._start_aggregator()
        self.broker.start(outlives_parent=outlives_parent, on_started=lambda pid: self._on_started("broker", pid))
        partitions = self._job.partitions
        create_topics(
            self.broker.bootstrap_servers,
            {TOPICS.nbbo: partitions, TOPICS.orders: partitions, TOPICS.alerts: 1, TOPICS.invalid: 1},
        )
        aggregator = self._services.ports("metrics_aggregator")
        self._pushing = pushing = f"127.0.0.1:{aggregator['grpc']}"
        for replica in range(self._job.replicas):
            self._start_job(replica)
        self._start_receiver(pushing)
        self._start_sender(pushing)
        return Addresses(
            bootstrap_servers=self.broker.bootstrap_servers,
            sender=f"127.0.0.1:{self._services.ports('sender')['grpc']}",
            receiver=f"127.0.0.1:{self._services.ports('receiver')['grpc']}",
            job=self._address_of_job(0),
            aggregator=pushing,
            aggregator_http=f"http://127.0.0.1:{aggregator['http']}",
            replicas=tuple(self._address_of_job(replica) for replica in range(1, self._job.replicas)),
        )

    def stop(self) -> None:
        """End all, those on the path of messages first, the aggregator last: it takes what the others measured."""
        self.stop_all_but_aggregator()
        self._services.stop(("metrics_aggregator",))

    def stop_all_but_aggregator(self) -> None:
        """End the others; what they have measured is shown on."""
        if self._load_stopped:
            return
        self._services.stop(("sender", *(_job_name(replica) for replica in range(self._job.replicas)), "receiver"))
        self.broker.stop()
        self._load_stopped = True

    def check_alive(self) -> None:
        """Raise if a process has ended by itself: RunFailedError for the job, RunVoidError for the others.

        A replica of the job is started again, a few times, as long as another one runs.
        """
        self.broker.check_alive()
        ended = [replica for replica in range(self._job.replicas) if not self.children[_job_name(replica)].running]
        if ended and len(ended) < self._job.replicas and self.job_restarts < _RESTARTS_MAX:
            for replica in ended:
                self._start_job_again(replica)
                self.job_restarts += 1
        self._services.check_alive()

    def start_job(self, replica: int = 0) -> str:
        """Start the job again, from its checkpoint; whatever is left of the old one is ended. Where it is reached."""
        self._start_job_again(replica)
        return self._address_of_job(replica)

    def _start_job_again(self, replica: int) -> None:
        """From its checkpoint, and at its port, so that who has asked it before can ask it again."""
        self.children[_job_name(replica)].stop()
        self._start_job(replica, self._job_ports[replica])

    def _address_of_job(self, replica: int) -> str:
        self._job_ports[replica] = self._services.ports(_job_name(replica))["grpc"]
        return f"127.0.0.1:{self._job_ports[replica]}"

    def _start_aggregator(self) -> None:
        ports_file = self._services.ports_file("metrics_aggregator")
        config = AggregatorConfig(ports_file=ports_file, runs_folder=self._runs_folder)
        self._start("metrics_aggregator", "market_spread.metrics_aggregator", config)

    def _start_job(self, replica: int, port: int = 0) -> None:
        name = _job_name(replica)
        config = JobConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            grpc_port=port,
            ports_file=self._services.ports_file(name),
            aggregator_address=self._pushing,
            source=name,
            run_id=self._run_id,
            mode=self._job.mode,
            master=f"local[{self._job.slots}]",
            checkpoint=str(self.folder / name.replace("job", "checkpoint")),
            connector_jars=connector_jars(self._jars),
            batch_s=self._job.batch_s,
            shuffle_partitions=self._job.shuffle_partitions,
            driver_memory=self._job.driver_memory,
            warm_up_batches=self._job.warm_up_batches,
            replica=replica,
            replicas=self._job.replicas,
            local_folder=self.folder / name.replace("job", "spark"),
            ui_port=self._ui_ports[replica] if self._ui_ports else None,
        )
        environment = job_environment(self._java)
        if config.ui_port is not None:
            environment["SPARK_LOCAL_IP"] = config.host  # else the UI would listen on all addresses
        self._start(name, "market_spread.streaming.job", config, environment)

    def _start_receiver(self, aggregator: str) -> None:
        config = ReceiverConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            ports_file=self._services.ports_file("receiver"),
            aggregator_address=aggregator,
            data_folder=self.folder / "receiver",
        )
        self._start("receiver", "market_spread.receiver", config)

    def _start_sender(self, aggregator: str) -> None:
        config = SenderConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            ports_file=self._services.ports_file("sender"),
            aggregator_address=aggregator,
        )
        self._start("sender", "market_spread.sender", config)

    def _start(self, name: str, module: str, config: object, environment: Mapping[str, str] | None = None) -> None:
        outlives_parent = self._outlives_parent
        self._services.start(name, module, config, environment=environment, outlives_parent=outlives_parent)


def _job_name(replica: int) -> str:
    return f"job_{replica}" if replica else "job"
