"""The processes without a run: brought up, asked how they are, and brought down again by later commands."""

import json
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from market_spread.common.clock import Clock, polls
from market_spread.common.config import java_home
from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import MarketSpreadError, RunFailedError, UsageError
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.schema import value_of
from market_spread.common.words import in_columns
from market_spread.controller.clients.probe import service_problem
from market_spread.controller.clients.services import Addresses, Clients, JobClient
from market_spread.controller.deploy.local.stack import LocalStack, remove_working_files
from market_spread.controller.plan.workload import Workload
from market_spread.controller.run_folder import held, new_run_folder
from market_spread.v1.control_pb2 import Phase

_KILL_WITHIN_S = 5.0
_ORDER = ("broker", "sender", "job", "receiver", "metrics_aggregator")
# Of the file of those that are up, by whose process ids and starts they are told from others with their ids by now.
_VERSION = 2
_UNFINISHED = "up has not finished; if it does not run any more, end what it left with: market-spread down"


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its id, and when it was started, in the kernel's ticks since the machine was."""

    name: str
    pid: int
    start_ticks: int

    @staticmethod
    def running_now(name: str, pid: int) -> "Process | None":
        """The process that has this id now; None if there is none, or nothing is left of it but its exit status."""
        ticks = _start_ticks(pid)
        return None if ticks is None else Process(name, pid, ticks)

    @property
    def title(self) -> str:
        """Its name for a person."""
        return self.name.replace("_", "-")

    @property
    def running(self) -> bool:
        """Whether it has not ended; another process with its id does not count."""
        return _start_ticks(self.pid) == self.start_ticks

    def send(self, number: int) -> None:
        """Send it a signal if it runs. UsageError if that is not allowed."""
        try:
            if self.running:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise UsageError(f"the {self.title} (process {self.pid}) is another user's; end it as that user") from error

    def descendants(self) -> "list[Process]":
        """What it has started, and what those have."""
        found: list[psutil.Process] = []
        with suppress(psutil.Error):
            found = psutil.Process(self.pid).children(recursive=True) if self.running else []
        return list(filter(None, (Process.running_now(self.name, child.pid) for child in found)))


@dataclass(frozen=True, slots=True)
class RegisteredStack:
    """Processes that are up, where they are reached, and the folder of their logs and data.

    addresses: None as long as not all of them have been started.
    """

    folder: Path
    addresses: Addresses | None
    processes: tuple[Process, ...]

    @property
    def running(self) -> list[Process]:
        return [process for process in self.processes if process.running]

    def write(self, path: Path) -> None:
        """Write it, so that a reader sees all of it or what was there before. OSError if that fails."""
        write_whole(path, json.dumps({"version": _VERSION, **asdict(self)}, indent=2, default=str) + "\n")

    @staticmethod
    def read(path: Path) -> "RegisteredStack | None":
        """What was written; None if there is nothing. UsageError if the file is damaged, or of another version."""
        try:
            return value_of(RegisteredStack, json_object(path.read_bytes(), version=_VERSION))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UsageError(
                f"{path} does not tell which processes are up ({error}); look for them with ps, then delete it"
            ) from error


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """How a process is. `phase` is what it says of itself; `well` is false if it has ended, failed or is silent."""

    process: Process
    address: str
    running: bool
    well: bool = False
    phase: str = ""
    detail: str = ""


class BackgroundStack:
    """The processes that are registered in a folder as up."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        """The folder need not exist."""
        self._folder, self._clock = folder, clock
        self._path = folder / "up.json"

    def bring_up(
        self, *, workload: Workload, say: Callable[[str], None], broker_port: int = 0, monitored: bool = False
    ) -> None:
        """Start all processes, with empty topics, and return when the job runs. If that fails nothing is left running.

        UsageError if they are up already, or with the reason of the first that does not start. monitored: Prometheus
        can read broker and job as well.
        """
        if workload.job.standby:
            raise UsageError("job.standby=1; after `up` no one starts a job again: leave it out of the workload")
        java = find_java(java_home())
        with self._alone():
            self._require_down()
            say("starting broker, metrics-aggregator, receiver, job and sender")
            folder = new_run_folder(self._folder, "up")
            others = _children()
            started: list[Process] = []

            def register(name: str, pid: int) -> None:
                """At once, so that what `up` leaves behind when it is killed can be ended by `down`."""
                if process := Process.running_now(name, pid):
                    started.append(process)
                    RegisteredStack(folder, None, tuple(started)).write(self._path)

            stack = LocalStack(
                folder=folder, java=java, jars=JarCache(), workload=workload, clock=self._clock,
                broker_port=broker_port, monitored=monitored, on_started=register, outlives_parent=True,
            )  # fmt: skip
            try:
                addresses = stack.start()
                stack.check_alive()
                RegisteredStack(folder, addresses, tuple(started)).write(self._path)
                with closing(Clients(addresses)) as clients:
                    clients.wait_for_job(lambda _: stack.check_alive())
                if (hint := stack.how_to_watch(folder, addresses)) is not None:
                    say(hint)
            except BaseException:
                stack.stop()
                # An interruption may have come when a process was started, but not yet known.
                end_all((child for child in _children() if child not in others), clock=self._clock, within_s=5)
                self._path.unlink(missing_ok=True)
                raise

    def bring_down(self) -> list[Process]:
        """End what is up, and forget it; returns what was still running."""
        if not self._folder.exists():
            return []
        with self._alone():
            if (registered := RegisteredStack.read(self._path)) is None:
                return []
            running = registered.running
            end_all((process for process in running if process.name != "broker"), clock=self._clock, within_s=10)
            end_all((process for process in running if process.name == "broker"), clock=self._clock, within_s=15)
            self._forget(registered)
            return running

    def statuses(self) -> list[ProcessStatus]:
        """How each process is that was brought up, the broker first; empty if none was."""
        if (registered := RegisteredStack.read(self._path)) is None:
            return []
        places = {name: place for place, name in enumerate(_ORDER)}
        processes = sorted(registered.processes, key=lambda it: (places.get(_service_of(it)[0], len(places)), it.name))
        addresses = registered.addresses
        if addresses is None:
            return [ProcessStatus(process, "", process.running, detail=_UNFINISHED) for process in processes]
        with closing(Clients(addresses)) as clients:
            return [_status(process, addresses, clients) for process in processes]

    def _require_down(self) -> None:
        if (registered := RegisteredStack.read(self._path)) is None:
            return
        if running := registered.running:
            names = ", ".join(f"{process.title} {process.pid}" for process in running)
            raise UsageError(f"the processes are up already ({names}); end them with: market-spread down")
        self._forget(registered)

    def _forget(self, registered: RegisteredStack) -> None:
        remove_working_files(registered.folder)
        self._path.unlink(missing_ok=True)

    def _alone(self) -> AbstractContextManager[None]:
        """UsageError if another command is bringing up or down in the same folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return held(self._folder / "lock", f"another up or down is at work in {self._folder}; wait until it has ended")


def status_lines(statuses: list[ProcessStatus]) -> list[str]:
    """A table: a heading, and a line for each process."""
    rows = [("process", "pid", "state", "address", "says", "")]
    for status in statuses:
        state = "running" if status.running else "ended"
        who = (status.process.title, str(status.process.pid))
        rows.append((*who, state, status.address, status.phase, " ".join(status.detail.split())))
    return in_columns(rows)


def _children() -> list[Process]:
    """What this process has started."""
    here = Process.running_now("up", os.getpid())
    return here.descendants() if here is not None else []


def _service_of(process: Process) -> tuple[str, int]:
    """What a process serves, and its number: `job_1` is the job's second one."""
    name, _, number = process.name.rpartition("_")
    return (name, int(number)) if number.isdigit() else (process.name, 0)


def _says(name: str, address: str, addresses: Addresses, clients: Clients) -> tuple[str, str]:
    """The phase that a process says, and details. MarketSpreadError if it does not answer, or is not well."""
    if name == "broker":
        KafkaBroker(address).check_reachable()
        return "serving", ""
    if name == "metrics_aggregator":
        if (problem := service_problem(address)) is not None:
            raise RunFailedError(f"the metrics-aggregator says: {problem}")
        return "serving", addresses.aggregator_http
    answer: Any
    if name == "job":
        with closing(JobClient(address)) as itself:  # of a pair, the others are not asked
            answer = itself.job_status()
    else:
        answer = clients.sender_status() if name == "sender" else clients.receiver_status()
    return Phase.Name(answer.phase).removeprefix("PHASE_").lower(), answer.detail


def _status(process: Process, addresses: Addresses, clients: Clients) -> ProcessStatus:
    name, number = _service_of(process)
    field = {"broker": "bootstrap_servers", "metrics_aggregator": "aggregator"}.get(name, name)
    address = addresses.replicas[number - 1] if number else str(getattr(addresses, field))
    if not process.running:
        return ProcessStatus(process, address, running=False)
    try:
        phase, detail = _says(name, address, addresses, clients)
    except MarketSpreadError as error:
        return ProcessStatus(process, address, running=True, detail=str(error))
    return ProcessStatus(process, address, running=True, well=phase != "failed", phase=phase, detail=detail)


def end_all(processes: Iterable[Process], *, clock: Clock, within_s: float) -> None:
    """Ask the processes to end, and after the time end them, and whatever they started, by force.

    UsageError if one cannot be ended.
    """
    processes = [process for process in processes if process.running]
    everything = [*processes, *(child for process in processes for child in process.descendants())]
    for number, whom, wait_s in ((signal.SIGTERM, processes, within_s), (signal.SIGKILL, everything, _KILL_WITHIN_S)):
        for process in whom:
            process.send(number)
        for _ in polls(clock, wait_s, every_s=0.02):
            if not any(process.running for process in whom):
                break
    if left := [process for process in everything if process.running]:
        raise UsageError(f"the {left[0].title} (process {left[0].pid}) does not end; end it by hand")


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return None if state in ("Z", "X") else int(fields[18])
