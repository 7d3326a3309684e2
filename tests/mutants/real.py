"""Wrong systems on real Kafka and Spark, many in one run: each has a topic of its own, a receiver, and a verdict.

A run of a right job carries them: what it says is altered on the way to each receiver (`on_the_way.py`), or else it
is a job that tries other rules and states besides (`jobs/variants.py`). What is judged is all that such a run has.
"""

import heapq
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.errors import MarketSpreadError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.job_contract import TOPICS
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import ALERT, DECISION, WARM_UP_ORDER_ID_MIN
from market_spread.controller.analysis import observed as judging
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.controller.analysis.observed import Observed, RunProgress, alerts_of, decisions_of, judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.analysis.verdict import result_of
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.plan import RunPlan, plan_of_workload, quotes_of
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.controller.plan.workload import Workload
from market_spread.controller.session.run import Run
from market_spread.loadgen.columns import Alerts, Decisions, Orders, Quotes
from market_spread.receiver import receiving as receiver
from market_spread.receiver.ledger import ALERTS, DECISIONS, Ledger, ledger_path
from market_spread.receiver.tally import Tally
from market_spread.v1.control_pb2 import StartReceivingRequest
from tests.mutants import loop, rig
from tests.mutants import wrong as simulated
from tests.mutants.jobs.variants import SEQUENCES, TRIED, VARIANTS
from tests.mutants.on_the_way import WAYS, WrongWay, encoded, some
from tests.support.paths import QUICK

HERE = Path(__file__).parent
WORKLOAD = HERE / "workload.yaml"
OUTPUT = frozenset({Criterion.ALERTS_MISSING, Criterion.ALERTS_UNEXPECTED, Criterion.ALERTS_WRONG})
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Wrong:
    """A system of a session, wrong unless it must pass. verdict, decisive: what it is called, by one of which criteria.

    topic: where its receiver reads; clock: that of its receiver; spoil: makes its receiver a wrong one. decided: what
    becomes of all decisions, which go to `decisions`; the alerts are the right ones then.
    """

    name: str
    sentence: str
    topic: str
    verdict: Verdict
    decisive: frozenset[Criterion]
    clock: Clock = _CLOCK
    spoil: Callable[[receiver.Receiving], None] = lambda receiving: None
    decided: simulated.Mutant | None = None

    @property
    def decisions(self) -> str:
        """The topic that its receiver has decisions from, if it has any."""
        return f"decisions-{self.name}" if self.decided else ""

    def is_found(self, result: Result) -> bool:
        """Whether the verdict is the right one, for a reason that names the fault."""
        if self.decided is not None:
            return self.decided.is_found(result)
        if self.verdict is Verdict.PASSED:
            return result.verdict is self.verdict
        return result.verdict is self.verdict and bool(self.decisive & set(result.decisive))


class _Behind(SystemClock):
    def unix_ns(self) -> int:
        return super().unix_ns() - 200_000_000


def _before_the_poll(self: receiver.Receiving) -> None:
    """receive_once, with the time taken before the poll instead of after it."""
    received_us = self._clock.unix_ns() // 1000
    for partition, found in self._consumer.poll(receiver._POLL_S).items():
        self._held.setdefault(partition, []).extend((record, received_us) for record in found)
    if self._clock.monotonic_ns() >= self._take_at_ns:
        self._take_held()
    self._answer_drains()


def _spoil_poll(receiving: receiver.Receiving) -> None:
    receiving.receive_once = _before_the_poll.__get__(receiving)  # type: ignore[method-assign]


class _WithoutNegatives(HdrCounts):
    def record(self, values_us: Int64s) -> None:
        super().record(np.maximum(values_us, 0))


def _spoil_negatives(receiving: receiver.Receiving) -> None:
    receiving._tally.end_to_end = {phase: _WithoutNegatives() for phase in receiving._tally.end_to_end}


def _spoil_duplicates(receiving: receiver.Receiving) -> None:
    every_alert = rig.named("duplicates_counted").wrong(Tally._sort_out)
    receiving._tally._sort_out = every_alert.__get__(receiving._tally)  # type: ignore[method-assign]


OF_THE_JOB = tuple(Wrong(each.name, each.sentence, each.topic, Verdict.FAILED, OUTPUT) for each in VARIANTS)
OF_THE_LOOP = tuple(
    Wrong(each.name, each.sentence, each.topic(), Verdict.PASSED if each is loop.Job else Verdict.FAILED, OUTPUT)
    for each in loop.JOBS
)
# Only where each order has two alerts.
OF_A_PAIR = (
    Wrong(
        "duplicates_counted", "the receiver counts each alert of an order", TOPICS.alerts, Verdict.VOID,
        frozenset({Criterion.RIG_DISAGREES}), spoil=_spoil_duplicates,
    ),
)  # fmt: skip
OF_THE_DECISIONS = tuple(
    Wrong(each.name, each.sentence, TOPICS.alerts, Verdict.FAILED, frozenset(), decided=each)
    for each in simulated.DECISIONS
)
OF_THE_WAY = (
    *(Wrong(each.name, each.sentence, each.topic, each.verdict, each.decisive) for each in WAYS),
    Wrong(
        "receiver_behind", "the receiver's clock is 200 ms behind", TOPICS.alerts, Verdict.VOID,
        frozenset({Criterion.STAMPS}), clock=_Behind(),
    ),
    Wrong(
        "receipt_before_poll", "the receipt is stamped before the poll", TOPICS.alerts, Verdict.VOID,
        frozenset({Criterion.STAMPS}), spoil=_spoil_poll,
    ),
    Wrong(
        "negatives_forgotten", "the receiver's clock is behind, and it forgets that latencies were negative",
        TOPICS.alerts, Verdict.VOID, frozenset({Criterion.STAMPS}), clock=_Behind(), spoil=_spoil_negatives,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """One run of real processes, and who is judged besides what it carries.

    patch: what `jobs/sitecustomize.py` makes of them; rig: the criterion by which the run is void, if its rig is a
    wrong one; kills: a replica, some seconds after the load began; is_quick: on the shipped quick workload.
    """

    name: str
    sentence: str
    wrong: tuple[Wrong, ...] = ()
    patch: str = ""
    mode: str = "real-time"
    replicas: int = 1
    batch_s: float = 8
    rig: Criterion | None = None
    kills: bool = False
    is_quick: bool = False

    def workload(self) -> Workload:
        """What is offered: `workload.yaml` of this folder, or the quick workload as it ships, for 15 s."""
        if self.is_quick:
            return read_workload(QUICK, Overrides(duration_s=15))
        workload = read_workload(WORKLOAD, Overrides(mode=self.mode))
        told = "all" if any(wrong.decided for wrong in self.wrong) else "rejected"
        return workload.changed(decisions=told, job={"replicas": self.replicas, "batch_s": self.batch_s})

    def is_right(self, result: Result) -> bool:
        """Whether what it carries is called what it is: passed, or void for the rig's fault."""
        if self.rig is None:
            return result.verdict is Verdict.PASSED
        return result.verdict is Verdict.VOID and self.rig in result.decisive


_OF_TIME = frozenset({Criterion.STAMPS, Criterion.STALLED, Criterion.LATENCY_P95, Criterion.LAG_GROWING})


def _of_way(*, of_time: bool) -> tuple[Wrong, ...]:
    """Of the wrong ways those that do something to time, or the others: all would be too many for one process."""
    return tuple(wrong for wrong in OF_THE_WAY if bool(wrong.decisive & _OF_TIME) is of_time)


def _of_rig(name: str) -> Session:
    wrong = rig.named(name)
    return Session(wrong.name, wrong.sentence, patch=name, rig=wrong.criterion)


SESSIONS = (
    Session("rules", "a right job that tries wrong rules and states besides", OF_THE_JOB, patch="variants"),
    Session(
        "quick", "a right job on the shipped quick workload, that tries a wrong rule and a wrong state besides",
        tuple(wrong for wrong in OF_THE_JOB if wrong.name in ("no_five_percent", "oldest_for_ever", "as_found")),
        patch="variants", is_quick=True,
    ),
    Session("output", "a right job, and wrong ways of its alerts", _of_way(of_time=False)),
    Session("time", "a right job, and ways that are late or stamp falsely", _of_way(of_time=True)),
    Session("decisions", "a right job that tells all decisions, and wrong ones beside them", OF_THE_DECISIONS),
    Session("states", "a right job, and beside it a loop with a right state and wrong ones", OF_THE_LOOP),
    Session("micro-batch", "a right job in micro-batch mode", mode="micro-batch", batch_s=2),
    Session(
        "pair", "two right jobs, one of which is killed and comes back",
        (
            *(wrong for wrong in OF_THE_WAY if wrong.name in ("one_in_40_lost", "bid_off_by_one", "accepted_too")),
            *OF_A_PAIR,
        ),
        replicas=2, batch_s=20, kills=True,
    ),
    *(_of_rig(name) for name in ("lag_from_plan", "half_recorded", "ledger_loses")),
)  # fmt: skip


def carried_out(session: Session, folder: Path, kept: Path | None = None) -> Iterator[tuple[Wrong | None, Result]]:
    """The results of the wrong systems of a session, and of the one that carries them (None).

    kept: a folder for what is observed; a session that has something there is not done again, but judged again.
    """
    path = kept / f"{session.name}.pickle" if kept else folder / "observed.pickle"
    if not path.exists():
        plan, found = observed_in(session, folder)
        path.write_bytes(pickle.dumps((plan, [(wrong and wrong.name, observed) for wrong, observed in found])))
    plan, named = pickle.loads(path.read_bytes())
    wrong = {each.name: each for each in session.wrong}
    return judged(plan, [(wrong.get(name), observed) for name, observed in named])


def observed_in(session: Session, folder: Path) -> tuple[RunPlan, list[tuple[Wrong | None, Observed]]]:
    """What was observed of each; of the one that carries them alone, if it did not come to its end."""
    plan = plan_of_workload(session.workload())
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, _environment(plan, session)))
        # A wrong system's alerts are counted twice a second: there are many receivers in this process.
        stack.enter_context(patch.object(receiver, "_TAKE_EVERY_NS", 500_000_000))
        processes = LocalStack(folder=folder, java=find_java(), jars=JarCache(), workload=plan.workload, clock=_CLOCK)
        stack.callback(processes.stop)
        beside = _Beside(session, folder)
        stack.callback(beside.close)
        run = Run(
            plan, processes, run_id="carrier", clock=_CLOCK, interrupted=threading.Event(), on_started=beside.start,
            show=_Killing(processes).follow if session.kills else lambda _: None,
        )  # fmt: skip
        carrier = run.carry_out()
        return run.plan, [(None, carrier), *(beside.observed(carrier) if carrier.error is None else ())]


def judged(plan: RunPlan, found: Sequence[tuple[Wrong | None, Observed]]) -> Iterator[tuple[Wrong | None, Result]]:
    """The results, each by the whole verdict of a run."""
    with patch.object(judging, "_add_input", _remembered(judging._add_input)):
        for wrong, observed in found:
            judge(plan, observed)
            yield wrong, result_of(plan, observed, wrong.name if wrong else "carrier")


def _remembered(add_input: Callable[[Any, RunPlan, Observed], None]) -> Callable[[Any, RunPlan, Observed], None]:
    """The input is made from the plan once, since all of a session have the same."""
    made = _Input([], [])

    def add(oracle: Any, plan: RunPlan, observed: Observed) -> None:
        if not made.orders:
            add_input(made, plan, observed)
        for quotes in made.quotes:
            oracle.add_quotes(quotes)
        for orders in made.orders:
            oracle.add_orders(orders)

    return add


@dataclass(frozen=True, slots=True)
class _Input:
    quotes: list[Quotes]
    orders: list[Orders]

    def add_quotes(self, quotes: Quotes) -> None:
        self.quotes.append(quotes)

    def add_orders(self, orders: Orders) -> None:
        self.orders.append(orders)


def _environment(plan: RunPlan, session: Session) -> dict[str, str]:
    path = os.pathsep.join([str(HERE / "jobs"), str(HERE.parents[1])])
    sequences = np.concatenate([quotes.sequence for quotes in quotes_of(plan.measured.open(0))])
    times_us = np.concatenate([quotes.intended_us for quotes in quotes_of(plan.measured.open(0))])
    later = sequences[np.searchsorted(times_us, times_us[0] + 7_000_000)]
    tried = ",".join(wrong.name for wrong in session.wrong)
    return {"PYTHONPATH": path, "WRONG": session.patch, SEQUENCES: f"{sequences.min()},{later}", TRIED: tried}


class _Killing:
    """Kills the second replica once, when both have answered the load for some seconds."""

    def __init__(self, processes: LocalStack) -> None:
        self._processes = processes
        self._at_ns = 0

    def follow(self, progress: RunProgress) -> None:
        if progress.phase != "measuring" or self._at_ns < 0:
            return
        if progress.receiver is None or not progress.receiver.alerts_duplicated:
            return
        self._at_ns = self._at_ns or _CLOCK.monotonic_ns() + 4_000_000_000
        if _CLOCK.monotonic_ns() >= self._at_ns:
            os.killpg(self._processes.children["job_1"].pid, signal.SIGKILL)
            self._at_ns = -1


class _Beside:
    """The receivers of the wrong systems, and what alters alerts on the way to them."""

    def __init__(self, session: Session, folder: Path) -> None:
        self._wrong, self._folder = session.wrong, folder
        names = {wrong.name for wrong in session.wrong}
        self._ways = tuple(way for way in WAYS if way.name in names)
        self._receivings: list[tuple[Wrong, receiver.Receiving]] = []
        self._on_the_way: _OnTheWay | None = None
        self._loop: loop.Loop | None = None
        self._bootstrap_servers = ""

    def start(self, addresses: Addresses) -> None:
        own = {topic for wrong in self._wrong for topic in (wrong.topic, wrong.decisions)} - {TOPICS.alerts, ""}
        if topics := dict.fromkeys(own, 1):
            KafkaBroker(addresses.bootstrap_servers).create_topics(topics, appended=topics)
        for wrong in self._wrong:
            ledger = Ledger(self._folder / "beside", wrong.name)
            receiving = receiver.Receiving(
                StartReceivingRequest(
                    alerts_topic=wrong.topic, invalid_topic=TOPICS.invalid, decisions_topic=wrong.decisions,
                    warm_up_order_id_min=WARM_UP_ORDER_ID_MIN,
                ),
                partitions=dict.fromkeys((wrong.topic, TOPICS.invalid, wrong.decisions), 1),
                consumer=KafkaBroker(addresses.bootstrap_servers, wrong.name).consumer(), ledger=ledger,
                recovered=ledger.open(),
                recorder=Recorder(source=wrong.name, clock=_CLOCK), clock=wrong.clock,
            )  # fmt: skip
            wrong.spoil(receiving)
            receiving.start()
            self._receivings.append((wrong, receiving))
        if self._ways:
            self._on_the_way = _OnTheWay(addresses.bootstrap_servers, self._ways)
        if jobs := [job for job in loop.JOBS if job.topic() in own]:
            self._loop = loop.Loop(addresses.bootstrap_servers, jobs)
        self._bootstrap_servers = addresses.bootstrap_servers

    def observed(self, right: Observed) -> Iterator[tuple[Wrong, Observed]]:
        """What a run would have observed with each of them."""
        if self._on_the_way is not None:
            self._on_the_way.drain()
        if self._loop is not None:
            self._loop.drain()
        self._decide(decisions_of(right))
        for wrong, receiving in self._receivings:
            receiving.drain(30)
            ledger = ledger_path(self._folder / "beside", wrong.name, ALERTS).read_bytes()
            received, alerts = receiving.status(), alerts_of(ledger)
            observed = replace(right, received=received, ledger=ledger, alerts=alerts, judgement=None, decisions=None)
            if wrong.decided is not None:
                told = ledger_path(self._folder / "beside", wrong.name, DECISIONS).read_bytes()
                observed = replace(observed, decisions_ledger=told)
            yield wrong, observed

    def _decide(self, right: Decisions) -> None:
        """Send what becomes of the decisions; at the end, as some faults choose among all, and none is one of time."""
        producer = KafkaBroker(self._bootstrap_servers, "decisions").producer()
        for wrong in self._wrong:
            decided = wrong.decided and wrong.decided.decided
            for record in encoded(DECISION, decided(right)) if decided else ():
                producer.send(wrong.decisions, 0, record, (), lambda offset, error: None)
        producer.close(30)

    def close(self) -> None:
        if self._on_the_way is not None:
            self._on_the_way.close()
        if self._loop is not None:
            self._loop.close()
        for _, receiving in self._receivings:
            receiving.stop()


class _OnTheWay:
    """Reads the job's alerts, and sends what each wrong way makes of them to its topic. Owns a thread."""

    def __init__(self, bootstrap_servers: str, ways: Sequence[WrongWay]) -> None:
        self._ways = ways
        self._consumer = KafkaBroker(bootstrap_servers, "on-the-way").consumer()
        self._producer = KafkaBroker(bootstrap_servers, "on-the-way").producer()
        self._waiting: list[tuple[int, int, str, bytes]] = []
        self._numbers = count()
        self._first_us: int | None = None
        self._read = 0
        self._unacknowledged = 0
        self._lock = threading.Lock()
        self._stopping, self._drained = threading.Event(), threading.Event()
        self._draining = False
        self._thread = threading.Thread(target=self._run, name="on-the-way", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Wait until all that the job has said is where it belongs."""
        self._draining = True
        if not self._drained.wait(60):
            raise MarketSpreadError("alerts are still on their way after 60 s")

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.close(5)
        self._consumer.close()

    def _run(self) -> None:
        self._consumer.assign({(TOPICS.alerts, 0): 0})
        while not self._stopping.is_set():
            _CLOCK.sleep_ns(50_000_000)  # there are many ways, so what comes in this time goes on together
            found = self._consumer.poll(0).get((TOPICS.alerts, 0), [])
            if found:
                self._read = found[-1].offset + 1
                self._take(np.frombuffer(b"".join(record.value for record in found), np.uint8).reshape(-1, ALERT.width))
            self._send_due()
            if self._draining and not found and not self._waiting and not self._unacknowledged:
                (end,) = self._consumer.end_offsets([(TOPICS.alerts, 0)]).values()
                if self._read >= end:
                    self._drained.set()

    def _take(self, rows: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]") -> None:
        alerts = Alerts.from_rows(rows, np.zeros(len(rows), np.int64))
        alerts = alerts[alerts.order_id < WARM_UP_ORDER_ID_MIN]
        if not len(alerts):
            return
        if self._first_us is None:
            self._first_us = int(alerts.intended_us.min())
        age_us, now_ns = alerts.intended_us - self._first_us, _CLOCK.monotonic_ns()
        for way in self._ways:
            for delay_us, part in way.on(alerts, age_us):
                for record in encoded(ALERT, part):
                    self._put(now_ns + delay_us * 1000, way.topic, record)
            if way.beside is not None:
                for record in encoded(ALERT, alerts[some(alerts)]):
                    self._put(now_ns, way.topic, way.beside(record))

    def _put(self, due_ns: int, topic: str, value: bytes) -> None:
        heapq.heappush(self._waiting, (due_ns, next(self._numbers), topic, value))

    def _send_due(self) -> None:
        while self._waiting and self._waiting[0][0] <= _CLOCK.monotonic_ns():
            _, _, topic, value = heapq.heappop(self._waiting)
            with self._lock:
                self._unacknowledged += 1
            self._producer.send(topic, 0, value, (), self._acknowledged)

    def _acknowledged(self, offset: int, error: Exception | None) -> None:
        with self._lock:
            self._unacknowledged -= 1
