"""The drain of a backlog by one step, warm: rounds of a stopped JVM, a backlog, and its continuation."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import rmtree
from statistics import mean

import psutil
from backlog import Backlog
from kafka import KafkaAdminClient
from steps import Step, slots

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment
from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import Consumer, KafkaBroker
from market_spread.common.processes import cpu_us, cpu_us_of, family
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import local_jvms
from market_spread.controller.deploy.local.services import Child, Services
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.pipeline import INVALID

_HERE = Path(__file__).parent
_MEMORY = "3g"
_TIMEOUT_S = 180
_DEFAULT_NAME = re.compile(r"Thread-\d+")
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Drained:
    """How a step worked its backlogs off: over all measured rounds.

    driver: its Python process, without the JVM; gateway: the JVM's threads that answer it.
    """

    rate_per_s: float
    cpu_us_per_message: float
    driver_us_per_message: float
    gateway_us_per_message: float


class Bench:
    """A broker, and one step at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        java, jars = find_java(), JarCache()
        self._jvms = local_jvms(java, jars)
        self._broker = Broker(folder=folder / "broker", java=java, jars=jars.paths("broker"), clock=_CLOCK)
        self._numbers = count()

    def __enter__(self) -> "Bench":
        self._broker.launch()
        self._broker.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._broker.stop()

    def drain(
        self, step: Step, mode: str, backlog: Backlog, *, state_partitions: int, warm_up: int, rounds: int
    ) -> Drained:
        """Start the step, have it work the backlog off so many times, and measure the last `rounds` of them."""
        unmeasured = [False] * warm_up
        found = list(self.rounds(step, mode, backlog, state_partitions, still=[*unmeasured, *[False] * rounds]))
        measured = found[warm_up:]
        return Drained(
            rate_per_s=len(measured) / sum(1 / drained.rate_per_s for drained in measured),
            cpu_us_per_message=mean(drained.cpu_us_per_message for drained in measured),
            driver_us_per_message=mean(drained.driver_us_per_message for drained in measured),
            gateway_us_per_message=mean(drained.gateway_us_per_message for drained in measured),
        )

    def rounds(
        self, step: Step, mode: str, backlog: Backlog, state_partitions: int, *, still: Iterable[bool]
    ) -> Iterator[Drained]:
        """Start the step and have it work the backlog off, once for each value of `still`.

        still: whether the driver's Python process stands still in the round, and with it all that it measures; the
        query goes on in the JVM without it.
        """
        place = next(self._numbers)
        ends = ("alerts", "decisions", INVALID)
        topics = {name: f"{name}-{place}" for name in ("nbbo", "orders", *ends)}
        servers = self._broker.bootstrap_servers
        partitions = dict.fromkeys((topics["nbbo"], topics["orders"]), backlog.partitions)
        KafkaBroker(servers).create_topics(partitions | {topics[name]: 1 for name in ends})
        folder = self._folder / f"step-{place}"
        folder.mkdir()
        with ExitStack() as stack:
            # A backlog is a third of a gigabyte, and there are hundreds of them.
            stack.callback(rmtree, folder)
            stack.callback(_delete_topics, servers, list(topics.values()))
            driver = stack.enter_context(
                self._running(step, mode, topics, folder, backlog.partitions, state_partitions)
            )
            markers = stack.enter_context(closing(KafkaBroker(servers, "feature-cost").consumer()))
            markers.assign({(topics[INVALID], 0): 0})
            for round_number, is_still in enumerate(still):
                # In the first round the JVM may still be starting, so nothing is stopped.
                stopped = [_jvm(driver), *([driver] if is_still else [])] if round_number else []
                with _standing_still(stopped):
                    backlog.send(servers, topics)
                    before_us = _used_us(driver)
                    begun_ns = _CLOCK.monotonic_ns()
                    if stopped:
                        stopped[0].resume()
                    _wait_for_markers(backlog.markers, markers, driver, begun_ns)
                    taken_ns = _CLOCK.monotonic_ns() - begun_ns
                    used_us = [after - before for after, before in zip(_used_us(driver), before_us, strict=True)]
                number = backlog.messages
                yield Drained(number / (taken_ns / 1e9), *(us / number for us in used_us))

    @contextmanager
    def _running(
        self, step: Step, mode: str, topics: Mapping[str, str], folder: Path, partitions: int, state_partitions: int
    ) -> Iterator[psutil.Process]:
        environment = {**self._jvms.job_environment, "PYTHONPATH": os.pathsep.join([str(_HERE), str(_HERE.parent)])}
        services = Services(folder, clock=_CLOCK, on_started=lambda name, pid: None)
        try:
            if step.application:
                self._start_job(services, step, mode, topics, partitions, state_partitions, environment)
                driver = services.children["job"]
            else:
                driver = self._start_query(step, mode, topics, folder, partitions, state_partitions, environment)
                services.children["job"] = driver
            yield psutil.Process(driver.pid)
        finally:
            services.stop(("job", "metrics_aggregator"))

    def _start_query(
        self,
        step: Step,
        mode: str,
        topics: Mapping[str, str],
        folder: Path,
        partitions: int,
        state_partitions: int,
        environment: Mapping[str, str],
    ) -> Child:
        order = {
            "mode": mode,
            "step": step.name,
            "bootstrap_servers": self._broker.bootstrap_servers,
            "topics": topics,
            "folder": str(folder),
            "class_path": self._jvms.class_path,
            "java_options": self._jvms.job_options(),
            "memory": _MEMORY,
            "partitions": partitions,
            "state_partitions": state_partitions,
        }
        return Child.start(
            "step",
            [sys.executable, str(_HERE / "step_driver.py"), json.dumps(order)],
            environment={**inherited_environment(), **environment},
            log=folder / "step.log",
        )

    def _start_job(
        self,
        services: Services,
        step: Step,
        mode: str,
        topics: Mapping[str, str],
        partitions: int,
        state_partitions: int,
        environment: Mapping[str, str],
    ) -> None:
        aggregator = AggregatorConfig(ports_file=services.ports_file("metrics_aggregator"))
        services.start("metrics_aggregator", "market_spread.metrics_aggregator", aggregator)
        config = JobConfig(
            bootstrap_servers=self._broker.bootstrap_servers,
            ports_file=services.ports_file("job"),
            aggregator_address=f"127.0.0.1:{services.ports('metrics_aggregator')['grpc']}",
            run_id="feature-cost",
            application=step.application,
            topics=",".join(f"{name}={topic}" for name, topic in topics.items()),
            mode=mode,
            master=f"local[{slots(mode, partitions=partitions, state_partitions=state_partitions)}]",
            checkpoint=str(services.folder / "checkpoint"),
            class_path=self._jvms.class_path,
            java_options=self._jvms.job_options(),
            batch_s=0 if mode == MICRO_BATCH else step.batch_s,
            shuffle_partitions=state_partitions,
            driver_memory=_MEMORY,
            local_folder=services.folder / "spark",
            restarts_max=0,
        )
        services.start("job", "market_spread.streaming.driver", config, environment=environment)


@contextmanager
def _standing_still(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Stop the processes; in the end all of them go on."""
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def _wait_for_markers(expected: int, markers: Consumer, driver: psutil.Process, begun_ns: int) -> None:
    while expected > 0:
        expected -= sum(map(len, markers.poll(0.05).values()))
        if not driver.is_running() or driver.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError("the step's process has ended")
        if _CLOCK.monotonic_ns() > begun_ns + _TIMEOUT_S * 10**9:
            raise TimeoutError(f"a backlog was not worked off within {_TIMEOUT_S} s")


def _delete_topics(servers: str, topics: list[str]) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.delete_topics(topics)


def _used_us(driver: psutil.Process) -> tuple[float, float, float]:
    """CPU of the driver with its JVM and workers, of its Python process, and of the JVM's threads that answer it."""
    return cpu_us_of(family(driver)), cpu_us(driver), _gateway_us(driver)


def _gateway_us(driver: psutil.Process) -> float:
    """Py4J's threads have Java's default names, which nothing else has that runs for long. 0 before there is a JVM."""
    used_ns = 0
    for jvm in (child for child in driver.children() if "java" in child.name()):
        for thread in Path(f"/proc/{jvm.pid}/task").iterdir():
            with suppress(OSError):
                if _DEFAULT_NAME.fullmatch((thread / "comm").read_text().strip()):
                    used_ns += int((thread / "schedstat").read_text().split()[0])
    return used_ns / 1e3


def _jvm(driver: psutil.Process) -> psutil.Process:
    return next(child for child in driver.children(recursive=True) if "java" in child.name())
