"""The processes of one machine: broker, aggregator, receiver, job and sender, started together, ended together."""

import json
import shlex
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import psutil

from market_spread.common.clock import Clock
from market_spread.common.job_contract import APPLICATIONS, TOPICS
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import JarCache, Java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity
from market_spread.common.processes import cpu_us_of, family, format_cpus
from market_spread.controller.archive.jvm_pauses import log_option
from market_spread.controller.clients.services import Addresses, describe_job
from market_spread.controller.deploy.base import slots_of
from market_spread.controller.deploy.local.broker import Broker, free_port
from market_spread.controller.deploy.local.jvms import jvm_options, jvm_section, local_jvms, stable
from market_spread.controller.deploy.local.services import Child, Services
from market_spread.controller.deploy.topics import topic_partitions
from market_spread.controller.host.facts import Host
from market_spread.controller.plan.faults import BROKER, JOB, KILL, RECEIVER, STOP, Fault
from market_spread.controller.plan.workload import Workload
from market_spread.controller.run_folder import Section, gather_logs
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.receiver.service import ReceiverConfig
from market_spread.sender.service import SenderConfig
from market_spread.streaming.driver.config import JobConfig

SCRAPE_INTERVAL_S = 5
_PROMETHEUS = Path(__file__).with_name("prometheus.yml")
# Beside the code in a checkout; what is installed without one is scraped without rules.
RULES = Path(__file__).parents[7] / "charts" / "monitoring" / "rules"

# Of replicas' processes, in a run: one that cannot live is to end it.
_RESTARTS_MAX = 3
_TAKE_OVER_NS = 6_000_000_000
# After a planned fault the job may take so long to answer again: its JVM starts on a busy machine.
_PLANNED_OUTAGE_S = 120.0


def write_prometheus(folder: Path, aggregator: str, broker: str, jobs: Sequence[str], *, rules: Path = RULES) -> Path:
    """Write prometheus.yml into the folder, with those rules if there are any; its path.

    The others are where metrics are, each host and port. jobs: Spark's UI of each replica.
    """
    path = folder / "prometheus.yml"
    with_rules = json.dumps([str(rules / "*.yaml")] if rules.is_dir() else [])
    told = {"interval_s": SCRAPE_INTERVAL_S, "rules": with_rules, "aggregator": aggregator, "broker": broker}
    path.write_text(_PROMETHEUS.read_text("utf-8").format(**told, jobs=json.dumps(list(jobs))), "utf-8")
    return path


@dataclass(eq=False, kw_only=True)
class LocalStack:
    """All processes of a run on this machine: an `Environment`. They write everything below the folder.

    runs_folder: where the aggregator keeps the run's measurements, by run; in memory alone if there is none.
    monitored: Prometheus can read the broker and the job as well. on_started: told the name and the
    process id of each process as soon as it is started, broker included. outlives_parent: they live on without us.
    """

    folder: Path
    java: Java
    jars: JarCache
    workload: Workload
    clock: Clock
    run_id: str = ""
    runs_folder: Path | None = None
    broker_port: int = 0
    monitored: bool = False
    on_started: Callable[[str, int], None] = lambda name, pid: None
    outlives_parent: bool = False

    is_new = True
    job_waits_for_topics = True  # else it is started after them

    def __post_init__(self) -> None:
        self._drivers, self._load_stopped = self.workload.job.drivers, False
        self._pushing = ""
        self._job_ports: dict[int, int] = {}
        self._receiver_port = 0
        self._down: dict[str, bool] = {}  # what a planned fault has ended, and whether it may be started again
        self._heals: dict[str, Callable[[], object]] = {}  # by the targets of the faults that last
        ends_job = [it.target == JOB and it.do != STOP for it in self.workload.planned_faults]
        self.job_outage_s = _PLANNED_OUTAGE_S if any(ends_job) and self._drivers == 1 else 0.0
        self._restarts_max = _RESTARTS_MAX + sum(ends_job)
        self.job_restarts = self._ended_ns = 0
        self._ui_ports = [free_port() for _ in range(self._drivers)] if self.monitored else []
        self.broker = Broker(
            folder=self.folder / "broker", java=self.java, jars=self.jars.paths("broker"), clock=self.clock,
            port=self.broker_port, metrics_agent=self.jars.paths("metrics")[0] if self.monitored else None,
        )  # fmt: skip
        self._services = Services(
            self.folder, clock=self.clock, on_started=self.on_started, outlives_parent=self.outlives_parent
        )
        self.children = self._services.children  # the processes besides the broker, by their names

    @cached_property
    def _jvms(self) -> LocalJvms:
        return local_jvms(self.java, self.jars)

    @property
    def bootstrap_servers(self) -> str:
        """Where the broker is; it may be another one than ours."""
        return self.broker.bootstrap_servers

    @property
    def security(self) -> KafkaSecurity:
        """How the broker is spoken to: as this machine's own, which is open to all on it."""
        return PLAINTEXT

    @property
    def kafka(self) -> KafkaBroker:
        return KafkaBroker(self.bootstrap_servers, security=self.security)

    def start(self) -> Addresses:
        ports_file = self._services.ports_file
        self.broker.archive_option = self._jvms.broker_option
        recording = AggregatorConfig(ports_file=ports_file("metrics_aggregator"), runs_folder=self.runs_folder)
        self._services.start("metrics_aggregator", "market_spread.metrics_aggregator", recording)
        self._launch_broker()
        aggregator = self._services.ports("metrics_aggregator")
        self._pushing = f"127.0.0.1:{aggregator['grpc']}"
        if not self.job_waits_for_topics:
            self._make_topics()
        for replica in range(self._drivers):
            self._start_job(replica)  # before the topics: its JVM takes longest
        if self.job_waits_for_topics:
            self._make_topics()
        self._start_receiver()
        self._services.start("sender", "market_spread.sender", SenderConfig(**self._of_every_service("sender")))
        self._receiver_port = self._services.ports(RECEIVER)["grpc"]
        return Addresses(
            bootstrap_servers=self.bootstrap_servers,
            sender=f"127.0.0.1:{self._services.ports('sender')['grpc']}", receiver=f"127.0.0.1:{self._receiver_port}",
            job=self._address_of_job(0), aggregator=self._pushing,
            aggregator_http=f"http://127.0.0.1:{aggregator['http']}",
            replicas=tuple(self._address_of_job(replica) for replica in range(1, self._drivers)),
            is_standby=self.workload.job.standby > 0, security=self.security,
        )  # fmt: skip

    def stop(self) -> None:
        """End all, those on the path of messages first, the aggregator last: it takes what the others measured."""
        self.stop_all_but_aggregator()
        self._services.stop(("metrics_aggregator",))

    def stop_all_but_aggregator(self) -> None:
        """End the others, and delete what broker and Spark kept; what they have measured is shown on."""
        if self._load_stopped:
            return
        self._services.stop(("sender", *(_job_name(replica) for replica in range(self._drivers)), "receiver"))
        self.broker.stop()
        remove_working_files(self.folder)
        self._load_stopped = True

    def check_alive(self) -> None:
        """As in any environment; but a replica of the job, or its standby, is started again, while another one runs."""
        # What a planned fault has ended: by the main thread, so that it ends with this process.
        for name in [name for name, may_return in list(self._down.items()) if may_return]:
            self._start_again(name)
            del self._down[name]
        if BROKER not in self._down:
            self.broker.check_alive()
        names = [_job_name(replica) for replica in range(self._drivers)]
        ended = [at for at, name in enumerate(names) if name not in self._down and not self.children[name].running]
        if ended and len(ended) < self._drivers and (self._ended_ns or self.job_restarts < self._restarts_max):
            self.job_restarts += 0 if self._ended_ns else len(ended)  # at once: the other one already reads again
            now_ns = self.clock.monotonic_ns()
            self._ended_ns = self._ended_ns or now_ns
            if self.workload.job.standby and now_ns - self._ended_ns < _TAKE_OVER_NS:
                return  # a JVM that starts would slow the standby that takes over
            self._ended_ns = 0
            for replica in ended:
                self.restart_job(replica)
        self._services.check_alive(self._down)

    def strike(self, fault: Fault) -> None:
        name, child = self._victim(fault.target)
        if child is None or not child.running:
            return
        if fault.do == STOP:
            with suppress(psutil.NoSuchProcess):  # it has ended just now
                self._heals[fault.target] = child.suspend()
            return
        self._heals[fault.target] = partial(self._down.__setitem__, name, True)
        self._down[name] = False  # first, so that nobody takes it for dead
        if fault.do == KILL:
            child.send(signal.SIGKILL)
        child.stop(within_s=15)

    def heal(self, fault: Fault) -> None:
        self._heals.pop(fault.target, lambda: None)()

    def broker_cpu_us(self) -> int | None:
        child = self.broker.child
        with suppress(psutil.NoSuchProcess):  # it was ended just now
            return cpu_us_of(family(psutil.Process(child.pid))) if child and child.running else 0
        return 0

    def executors_cpu_us(self) -> int | None:
        return 0  # they are threads of the job

    def stolen_cpu_s(self) -> float | None:
        return psutil.cpu_times().steal

    def how_to_watch(self, folder: Path, addresses: Addresses) -> str | None:
        if self.broker.metrics_address is None:
            return None
        aggregator = addresses.aggregator_http.removeprefix("http://")
        jobs = [f"127.0.0.1:{port}" for port in self._ui_ports]
        path = write_prometheus(folder, aggregator, self.broker.metrics_address, jobs)
        return f"for Prometheus: prometheus --config.file={path}"

    def host(self) -> Host | None:
        return Host()

    def process_ids(self) -> Mapping[str, int]:
        broker = {"broker": self.broker.child} if self.broker.child else {}
        return {name: child.pid for name, child in {**broker, **self.children}.items() if child.running}

    def capture(self, logs: Path) -> None:
        gather_logs(self.folder, logs)

    def sections(self, addresses: Addresses) -> Mapping[str, Section]:
        """With affinities: the CPUs that each process may run on."""
        job, processes = describe_job(addresses.job), self.process_ids()
        jvm = dict(job.jvm)
        arguments = shlex.split(jvm.pop("arguments", ""))  # they contain paths of this run
        of_broker = psutil.Process(processes["broker"]).cmdline() if "broker" in processes else []
        affinities = {name: psutil.Process(pid).cpu_affinity() for name, pid in processes.items()}
        return {
            "spark": stable(job.spark),
            "kafka": stable(self.kafka.settings()),
            "jvm_job": {**jvm_section(self.java, jvm_options(arguments)), **jvm},
            "jvm_broker": jvm_section(self.java, jvm_options(of_broker)),
            "jars": {jar.file_name: jar.sha256 for jar in self.jars.jars},
            "pinning": {name: format_cpus(cpus or ()) for name, cpus in affinities.items()},
        }

    def restart_job(self, replica: int = 0) -> None:
        """End what is left of it, and start it from its checkpoint, at its port: who has asked it can ask it again."""
        self.children[_job_name(replica)].stop()
        self._start_job(replica, self._job_ports[replica])

    def _victim(self, target: str) -> tuple[str, Child | None]:
        """The process that a fault is to strike. Of several drivers the oldest one acts, if one of them does."""
        if target == BROKER:
            return BROKER, self.broker.child
        running = {name: it for name, it in self.children.items() if name.startswith(target) and it.running}
        oldest = min(running, key=lambda name: psutil.Process(running[name].pid).create_time(), default=target)
        return oldest, running.get(oldest)

    def _start_again(self, name: str) -> None:
        """As it was, at its port and in its folder. Of several drivers one is started by who watches over them."""
        if name == BROKER:
            self._launch_broker()
        elif name == RECEIVER:
            self._start_receiver()
        elif self._drivers == 1:
            self.job_restarts += 1
            self.restart_job()

    def _start_receiver(self) -> None:
        told = self._of_every_service(RECEIVER)
        config = ReceiverConfig(data_folder=self.folder / "receiver", grpc_port=self._receiver_port, **told)
        self._services.start(RECEIVER, "market_spread.receiver", config)

    def _launch_broker(self) -> None:
        self.on_started("broker", self.broker.launch(outlives_parent=self.outlives_parent))

    def _make_topics(self) -> None:
        """Those that are not there, as soon as the broker answers."""
        self.broker.wait()
        topics = topic_partitions(self.workload.market.partitions, self.workload.decisions)
        self.kafka.create_topics(topics, appended=(TOPICS.alerts,))

    def _address_of_job(self, replica: int) -> str:
        self._job_ports[replica] = self._services.ports(_job_name(replica))["grpc"]
        return f"127.0.0.1:{self._job_ports[replica]}"

    def _start_job(self, replica: int, port: int = 0) -> None:
        self._start_driver(self._job_config(replica, port))

    def _start_driver(self, config: JobConfig, more: Mapping[str, str] | None = None) -> None:
        """more: variables besides those that every driver has."""
        environment = {**self._jvms.job_environment, **(more or {})}
        self._services.start(config.source, "market_spread.streaming.driver", config, environment=environment)

    def _job_config(self, replica: int, port: int) -> JobConfig:
        name, job, jvms = _job_name(replica), self.workload.job, self._jvms
        compilers = "-XX:TieredStopAtLevel=1" if self.workload.starts_fast else None
        return JobConfig(
            grpc_port=port, source=name, run_id=self.run_id, application=APPLICATIONS[self.workload.decisions],
            mode=job.mode, master=f"local[{slots_of(self.workload)}]",
            checkpoint=str(self.folder / _job_name(0 if job.standby else replica).replace("job", "checkpoint")),
            class_path=jvms.class_path, batch_s=job.batch_s, shuffle_partitions=self.workload.state_partitions,
            driver_memory=job.memory, warm_up_batches=self.workload.warm_up.batches,
            java_options=jvms.job_options(log_option(self.folder / f"{name}.gc.log"), compilers),
            replica=0 if job.standby else replica, replicas=job.replicas, standby=job.standby > 0,
            local_folder=self.folder / name.replace("job", "spark"),
            ui_port=self._ui_ports[replica] if self._ui_ports else None, **self._of_every_service(name),
        )  # fmt: skip

    def _of_every_service(self, name: str) -> dict[str, Any]:
        """What the configuration of each process has that is on the path of messages."""
        told = {"ports_file": self._services.ports_file(name), "aggregator_address": self._pushing}
        return {"bootstrap_servers": self.bootstrap_servers, **told, **asdict(self.security)}


def remove_working_files(folder: Path) -> None:
    """Delete the topics of a stack that was stopped, and what Spark unpacked; configuration and logs stay."""
    for working in (folder / "broker" / "data", *folder.glob("spark*")):
        shutil.rmtree(working, ignore_errors=True)


def _job_name(replica: int) -> str:
    return f"job_{replica}" if replica else "job"
