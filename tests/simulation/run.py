"""A run in a simulated world: the product's own controller, sender, receiver, pushes and aggregator, and its faults."""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from market_spread.common.documents import write_all
from market_spread.common.errors import RunVoidError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.load.source import AnyLoad, Block, Load, LoadSource, find_source
from market_spread.common.telemetry import pusher as pushing
from market_spread.common.telemetry.metrics import JOB_MESSAGES
from market_spread.common.telemetry.pusher import Pusher
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.clients import services as calling
from market_spread.controller.clients.services import Addresses
from market_spread.controller.plan import plan as planning
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.controller.session import run as running
from market_spread.loadgen.market import generator as generating
from market_spread.loadgen.market.symbols import universe
from market_spread.metrics_aggregator.__main__ import _restore
from market_spread.metrics_aggregator.model import run_files
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.receiver import ledger as ledgers
from market_spread.receiver import receiving
from market_spread.receiver import service as receiver_service
from market_spread.receiver.service import ReceiverService
from market_spread.sender import counts, framing, publisher
from market_spread.sender import service as sender_service
from market_spread.sender.service import SenderService
from market_spread.v1.control_pb2 import StartReceivingRequest
from market_spread.v1.metrics_pb2 import PushRequest
from tests.simulation.disk import Disk, power_cut
from tests.simulation.faults import TO_NS, Fault
from tests.simulation.job import Checkpoint, Checkpoints, Job, Quote, newest
from tests.simulation.kafka import Broker
from tests.simulation.network import Network, PushId, Stub
from tests.simulation.world import (
    MS,
    START_UNIX_NS,
    AtOnce,
    Later,
    Pool,
    Process,
    S,
    VirtualClock,
    World,
    threads_of,
    wait_for,
    waited,
)
from tests.support.paths import QUICK

RUN_ID = "simulated"
# So few that a process that cannot reach the aggregator for some seconds drops pushes.
_PENDING_MAX = 3
# After the last fault: a stream is given up after 5 s of silence, and what it held goes over the next one.
_TO_CALM_NS = 8 * S
PARTITIONS = 2
TOPICS = ("nbbo", "orders", "alerts", "decisions", "invalid")
_SECONDS, _PER_S = 3, 200


@cache
def plan() -> RunPlan:
    """Some seconds of the market that ships, with all decisions."""
    workload = read_workload(QUICK, Overrides(rate_per_s=_PER_S, duration_s=_SECONDS))
    return plan_of_workload(
        workload.changed(
            decisions="all",
            market={"partitions": PARTITIONS, "probes_per_s": 60},
            job={"batch_s": 5.0},
            frames={"linger_ms": 200.0},
            limits={"late_ms": 5_000.0, "stall_ms": 10_000.0},
            warm_up={"duration_s": 1.0, "settle_s": 0.0},
        )
    )


@dataclass(slots=True)
class Wrong:
    """What is not as it should be in a world with a planted bug; by default nothing.

    patches: replace parts of the product, and are given the world.
    """

    durable: bool = True
    checkpoint: Callable[["Simulation", list[Checkpoint]], Checkpoint] = lambda simulation, kept: kept[-1]
    judged_by: Callable[[str, dict[str, Quote], dict[str, Quote]], Quote | None] = newest
    second_driver: bool = False
    patches: Callable[["Simulation"], list[Any]] = lambda simulation: []


@dataclass(slots=True)
class Simulation:
    """A run and its world. taken: every push that a process has cut, as it was; ended_well: who lived to the end."""

    seed: int
    faults: tuple[Fault, ...]
    wrong: Wrong
    folder: Path
    world: World = field(init=False)
    broker: Broker = field(init=False)
    network: Network = field(init=False)
    disk: Disk = field(init=False)
    clock: VirtualClock = field(init=False)
    taken: dict[PushId, PushRequest] = field(default_factory=dict)
    living: set[tuple[str, int]] = field(default_factory=set)
    store: Store | None = None
    pushers: dict[str, Pusher] = field(default_factory=dict)
    recorders: dict[str, "_Witnessed"] = field(default_factory=dict)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    observed: Observed | None = None
    receiving: StartReceivingRequest | None = None
    environment: "SimulatedEnvironment" = field(init=False)
    jobs: int = 0
    stopped: bool = False
    forgotten: list[Process] = field(default_factory=list)
    sources: "Sources" = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.seed)
        self.clock = VirtualClock(self.world)
        self.sources = Sources()
        self.broker = Broker(self.world, dict.fromkeys(TOPICS, PARTITIONS))
        self.broker.durable = self.wrong.durable
        self.network = Network(self.world)
        self.disk = Disk(self.world, write_all)
        self.checkpoints.chosen = partial(self.wrong.checkpoint, self)
        self.environment = SimulatedEnvironment()

    def carry_out(self) -> None:
        """The whole run: processes start, the controller does its work, faults happen, pushes are delivered."""
        world = self.world
        for name in ("aggregator", "sender", "receiver", "job"):
            self.start(name)
        for fault in self.faults:
            world.at(START_UNIX_NS + fault.at_ns, partial(self._happen, fault))
        controller = world.start("controller", self._control)
        world.run(lambda: not controller.tasks)
        # What is away comes back, so that what is not lost arrives.
        self.network.twice = self.broker.acknowledgements_lost = 0.0
        self.network.swallowed.clear()
        self.disk.torn.clear()
        end_ns = max(world.now_ns, START_UNIX_NS + TO_NS) + _TO_CALM_NS
        world.run(lambda: world.now_ns >= end_ns)
        self.stopped = True
        stops = [world.spawn(world.processes[name], pusher.stop) for name, pusher in self.pushers.items()]
        world.run(lambda: all(stop.done for stop in stops))
        for name, pusher in self.pushers.items():
            if dropped := pusher.delivery.dropped:
                world.note(name, f"has dropped {dropped} pushes")
        self.store = world.processes["aggregator"].service
        self.living = {(push_id[0], push_id[1]) for each in self.recorders.values() for push_id in each.own}
        for process in [*world.processes.values(), *self.forgotten]:
            world.kill(process, "")
        world.after(1, lambda: None)
        world.run(lambda: not any(process.tasks for process in world.processes.values()))

    def start(self, name: str) -> None:
        """Start a process, or start it again."""
        mains = {"aggregator": self._aggregate, "sender": self._send, "receiver": self._receive, "job": self._work}
        process = self.world.start(name, mains[name])
        process.at_death.append(lambda: self._supervise(name))

    def _supervise(self, name: str) -> None:
        """Start what has died again, a time later."""
        if not self.stopped:
            self.world.after(
                int(self.world.random(f"supervisor/{self.world.now_ns}").uniform(0.1, 1.5) * S),
                lambda: self._again(name),
            )

    def _again(self, name: str) -> None:
        if not self.stopped:
            self.environment.job_restarts += name == "job"
            self.environment.sender_restarts += name == "sender"
            self.start(name)

    def _control(self, process: Process) -> None:
        self.world.sleep(500 * MS)
        shown = ""

        def show(progress: Any) -> None:
            nonlocal shown
            if progress.phase != shown:
                shown = progress.phase
                self.world.note("controller", shown)

        run = running.Run(
            plan(),
            cast(Any, self.environment),
            run_id=RUN_ID,
            clock=self.clock,
            show=show,
            interrupted=threading.Event(),
        )
        self.observed = run.carry_out()
        said = self.observed.error_text if self.observed.error else "has judged"
        self.world.note("controller", said)

    def _recorder(self, name: str) -> Recorder:
        recorder = self.recorders[name] = _Witnessed(self.taken, source=f"{name}-0", clock=self.clock)
        return recorder

    def _push(self, name: str, recorder: Recorder) -> None:
        pusher = Pusher(
            recorder,
            "aggregator",
            clock=self.clock,
            pending_max=_PENDING_MAX,
            open_stream=partial(cast(Any, self.network.open), name),
        )
        self.pushers[name] = pusher
        pusher.start()

    def _send(self, process: Process) -> None:
        recorder = self._recorder("sender")
        process.service = SenderService(
            broker=cast(KafkaBroker, self.broker), recorder=recorder, clock=self.clock, find_source=self.sources.find
        )
        self._push("sender", recorder)

    def _receive(self, process: Process) -> None:
        recorder = self._recorder("receiver")
        service = ReceiverService(
            broker=cast(KafkaBroker, self.broker), folder=self.folder / "ledgers", recorder=recorder, clock=self.clock
        )
        start = service.Start

        def remember(request: StartReceivingRequest, context: Any) -> Any:
            self.receiving = request
            return start(request, context)

        service.Start = remember  # type: ignore[method-assign]
        self._push("receiver", recorder)
        if self.receiving is not None:  # who supervises it has it go on
            recovered = start(self.receiving, cast(Any, None)).records_recovered
            self.world.note("receiver", f"goes on behind {recovered} records of its ledger")
        process.service = service

    def _aggregate(self, process: Process) -> None:
        files = RunFiles(self.folder / "runs")
        process.at_death.append(files.close)
        store = Store(clock=self.clock, log=files)
        _restore(store, files, self.clock)
        process.service = store

    def _work(self, process: Process) -> None:
        self.jobs += 1
        recorder = self._recorder("job")
        recorder.run_id = RUN_ID
        job = Job(self.world, self.broker, self.checkpoints, self.jobs, self.wrong.judged_by)
        process.service = job
        self._push("job", recorder)

        def count() -> None:
            while True:
                recorder.counter(JOB_MESSAGES).set(job.Status(cast(Any, None), None).messages_processed)
                self.world.sleep(300 * MS)

        self.world.spawn(process, count)
        job.run()

    def _happen(self, fault: Fault) -> None:
        world, broker, network = self.world, self.broker, self.network
        process = world.processes.get(fault.target)
        match fault.kind:
            case "kill" | "power_cut" if process is not None:
                if not process.alive or self.stopped:
                    return
                if fault.target == "job" and self.wrong.second_driver:
                    world.note("job", "is taken for dead, and lives on")
                    self.forgotten.append(process)
                    self._again("job")
                    return
                world.kill(process)
                if fault.kind == "power_cut":
                    world.after(1, lambda: self._cut_power(process.name))
            case "tear":
                self.disk.torn[fault.target] = fault.size
            case "stand_still":
                broker.stand_still(fault.length_ns)
            case "crash":
                broker.crash(fault.length_ns)
            case "lose_acknowledgements":
                broker.acknowledgements_lost = fault.size / 2
                world.note("broker", f"loses {fault.size / 2:.1%} of its acknowledgements")
                world.after(fault.length_ns, lambda: setattr(broker, "acknowledgements_lost", 0.0))
            case "reset":
                network.reset(fault.target)
            case "swallow":
                network.swallowed.add(fault.target)
            case "twice":
                network.twice = fault.size
                world.after(fault.length_ns, lambda: setattr(network, "twice", 0.0))
            case "cut":
                network.cut(fault.target, "aggregator", fault.length_ns)

    def _cut_power(self, name: str) -> None:
        for said in power_cut(self.folder / "ledgers", self.world.random(f"power/{self.world.now_ns}")):
            self.world.note(name, f"after the power cut {said}")


class SimulatedEnvironment:
    """Processes that somebody starts again when they have died."""

    is_new = True
    job_restarts = 0
    job_outage_s = 60.0
    sender_restarts = 0

    def start(self) -> Addresses:
        return Addresses("broker", "sender", "receiver", "job", "aggregator", "aggregator")

    def check_alive(self) -> None:
        if self.sender_restarts:
            raise RunVoidError("the sender was started again during the run")

    def broker_cpu_us(self) -> int | None:
        return None

    def executors_cpu_us(self) -> int | None:
        return None

    def stolen_cpu_s(self) -> float | None:
        return None


class _Witnessed(Recorder):
    """A recorder whose pushes are kept as they were cut."""

    def __init__(self, taken: dict[PushId, PushRequest], *, source: str, clock: VirtualClock) -> None:
        super().__init__(source=source, clock=clock)
        self._taken = taken
        self.own: list[PushId] = []

    def take(self) -> list[PushRequest]:
        pushes = super().take()
        for push in pushes:
            copy = PushRequest()
            copy.CopyFrom(push)
            push_id = push.source, push.epoch_unix_ns, push.sequence
            self._taken[push_id] = copy
            self.own.append(push_id)
        return pushes


@dataclass(frozen=True, slots=True)
class _Made:
    """A load whose messages are made once: sender, controller and judge ask for the same ones."""

    load: Load
    made: list[Block]

    @property
    def messages(self) -> int:
        return self.load.messages

    def messages_due(self, unix_ns: int) -> int:
        return self.load.messages_due(unix_ns)

    def blocks(self) -> Iterator[Block]:
        if not self.made:
            self.made.extend(self.load.blocks())
        return iter(self.made)


class Sources:
    """In place of `find_source`, for one run."""

    def __init__(self) -> None:
        self._loads: dict[tuple[str, int], _Made] = {}

    def find(self, name: str) -> LoadSource:
        def source(parameters: Mapping[str, object], start_unix_ns: int) -> AnyLoad:
            key = json.dumps(parameters, sort_keys=True), start_unix_ns
            if key not in self._loads:
                self._loads[key] = _Made(cast(Load, _installed(name)(parameters, start_unix_ns)), [])
            return self._loads[key]

        return source


_installed = cache(find_source)
_universe = cache(universe)


class _NoWatch:
    """In place of the watch over silences: it asks gRPC's own health service."""

    def __init__(self, *, clock: object) -> None: ...

    def start(self, addresses: object, _identity: object = None) -> None: ...

    def ask_broker(self, look: object) -> None: ...

    def acknowledged(self, sent: int, acknowledged: int) -> None: ...

    def silences(self) -> tuple[()]:
        return ()

    def close(self) -> None: ...


class _NoChannel:
    """In place of a gRPC channel that nothing goes through."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def close(self) -> None: ...


@contextmanager
def simulated(seed: int, faults: tuple[Fault, ...], wrong: Wrong) -> Iterator[Simulation]:
    """A run in a world of its own, which has ended; its files are there as long as the body runs."""
    with TemporaryDirectory(prefix="simulation-") as folder, ExitStack() as stack:
        it = Simulation(seed, faults, wrong, Path(folder))
        world = it.world
        threads, pool = threads_of(world), partial(Pool, world)

        def stub(address: str, _identity: object = None) -> Stub:
            return Stub(it.network, address)

        replaced: list[tuple[Any, str, Any]] = [
            *((module, "threading", threads) for module in (publisher, counts, receiving, pushing)),
            (framing, "ThreadPoolExecutor", AtOnce),
            (planning, "find_source", it.sources.find),
            (generating, "universe", _universe),
            (receiving._Drain, "result", lambda drain, timeout: wait_for(world, drain, timeout).result(0)),
            (calling, "channel_to", stub),
            *((calling, name, lambda stub: stub) for name in ("SenderStub", "ReceiverStub", "JobStub")),
            (Stub, "close", lambda stub: None),
            (calling, "ThreadPoolExecutor", pool),
            (calling, "as_completed", lambda futures: _ended(world, futures)),
            (calling, "SystemClock", lambda: it.clock),
            (running, "ThreadPoolExecutor", pool),
            (running, "wait", partial(waited, world)),
            (running, "Watch", _NoWatch),
            (ledgers, "write_all", it.disk.write_all),
            (run_files, "write_all", it.disk.write_all),
            (sender_service, "cpu_us", lambda: 0),
            (receiver_service, "cpu_us", lambda: 0),
            (pushing, "grpc", SimpleNamespace(insecure_channel=_NoChannel)),
            (pushing, "family", list),
            (pushing, "cpu_us_of", lambda processes: 0),
            (pushing, "memory_bytes_of", lambda processes: 0),
            (pushing, "read_clock_error", lambda: (0, True)),
            (pushing, "host_id", lambda: "a-host"),
        ]
        for of, name, value in replaced:
            stack.enter_context(patch.object(of, name, value, create=of is Stub))
        for each in wrong.patches(it):
            stack.enter_context(each)
        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            it.carry_out()
            yield it
        finally:
            logging.disable(before)


def _ended(world: World, futures: list[Later]) -> Iterator[Later]:
    """Stands for `as_completed`."""
    left = list(futures)
    while left:
        world.wait_until(lambda: any(each.done() for each in left))
        for each in [each for each in left if each.done()]:
            left.remove(each)
            yield each
