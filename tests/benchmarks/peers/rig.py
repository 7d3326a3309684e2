"""A contender's processes and the loads that go through them, step by step: for what no whole run measures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil
from contenders import Contender

from market_spread.common.clock import SystemClock
from market_spread.common.wire.codec import decode_ledger
from market_spread.controller.clients.services import Clients, sent_ends
from market_spread.controller.plan.plan import PlannedLoad, orders_of, plan_of_workload, quotes_of, universe_of
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import WHOLE_RUN, Judgement, Oracle
from market_spread.v1.control_pb2 import Phase, SenderStatusResponse, StartSendingRequest

RUN_ID = "peers"
CLOCK = SystemClock()
_START_TIMEOUT_S = 180.0
_TIMEOUT_S = 300.0


class Rig:
    """`start`, then `stop`."""

    def __init__(self, contender: Contender, workload: Workload, folder: Path) -> None:
        self.plan = plan_of_workload(workload)
        self._contender = contender
        self._workload = workload
        self.stack = contender.stack(workload, folder, RUN_ID)
        self._sent: list[SenderStatusResponse] = []
        self._starts: list[tuple[PlannedLoad, int]] = []

    def start(self) -> None:
        """All processes, the initial quotes committed, and the job ready for orders."""
        addresses = self.stack.start()
        self.metrics_url = addresses.aggregator_http
        self.clients = Clients(addresses)
        self.clients.start_receiving(RUN_ID)
        self.send(self.plan.initial)
        self._until(lambda: self.clients.job_status().phase == Phase.PHASE_RUNNING, "the job runs", _START_TIMEOUT_S)
        self.clients.drain_job(sent_ends(self._sent), _TIMEOUT_S)

    def stop(self) -> None:
        """End all."""
        if hasattr(self, "clients"):
            self.clients.close()
        self.stack.stop()

    def send(self, load: PlannedLoad) -> None:
        """Offer a load to its end."""
        self.begin(load)
        self.finish()

    def begin(self, load: PlannedLoad) -> None:
        """Offer a load, and do not wait for its end."""
        linger_us = round(self._workload.frames.linger_ms * 1000)
        frame_messages = self._workload.frames.messages
        start = self.clients.start_sending(
            load, StartSendingRequest(run_id=RUN_ID, linger_us=linger_us, frame_messages=frame_messages)
        )
        self._starts.append((load, start))

    def finish(self) -> None:
        """Wait for the end of the load that was begun."""

        def is_finished() -> bool:
            status = self.clients.sender_status()
            if status.phase == Phase.PHASE_FAILED:
                raise RuntimeError(status.detail)
            return status.phase == Phase.PHASE_FINISHED

        self._until(is_finished, "the sender is done", _TIMEOUT_S)
        self._sent.append(self.clients.sender_status())

    def drain(self) -> None:
        """All that was sent is committed, and every alert received."""
        self.clients.drain_job(sent_ends(self._sent), _TIMEOUT_S)
        self.clients.drain_receiver(60)

    @property
    def messages_sent(self) -> int:
        """Of all loads that have ended."""
        return sum(int(status.messages_sent) for status in self._sent)

    def processes(self) -> list[psutil.Process]:
        """Those that do the job's work: Spark's driver and what it started, or the peer without its side-car."""
        job = psutil.Process(self.stack.children["job"].pid)
        children = job.children(recursive=True)
        return children if self._contender.peer is not None else [job, *children]

    def workers(self) -> list[psutil.Process]:
        """Those that read and write: of Spark its JVM, of a peer all."""
        return [it for it in self.processes() if self._contender.peer is not None or "java" in it.name()]

    def kill(self) -> int:
        """Kill the job's processes with SIGKILL and have it started again at once; when it was, Unix microseconds."""
        killed = self.processes()
        now_us = CLOCK.unix_ns() // 1000
        for process in killed:
            process.kill()
        if self._contender.peer is None:  # a peer's side-car does it
            self.stack.restart_job()
        return now_us

    def alerts_and_repeats(self) -> int:
        """Alerts of measured orders so far, repeated ones included."""
        status = self.clients.receiver_status()
        return int(status.alerts + status.alerts_duplicated)

    def received_us(self) -> npt.NDArray[np.int64]:
        """When each alert came, in order."""
        ledger = decode_ledger(self.clients.ledger(RUN_ID, "alerts"))
        return np.sort(ledger.received_us)

    def judgement(self) -> Judgement:
        """The oracle's, of all that was sent; an alert may come twice."""
        ledger = decode_ledger(self.clients.ledger(RUN_ID, "alerts"))
        oracle = Oracle(Alerts.from_rows(ledger.rows, ledger.received_us), replayed=WHOLE_RUN)
        for load, start in self._starts:
            for quotes in quotes_of(load.open(start)):
                oracle.add_quotes(quotes)
        for load, start in self._starts:
            for orders in orders_of(load.open(start)):
                oracle.add_orders(orders)
        return oracle.judgement()

    def rejected(self, load: PlannedLoad) -> int:
        """How many orders of a load are rejected, if it has a tight_share of 0: then probes always reject."""
        symbols = universe_of(self._workload)
        names = symbols.names[np.concatenate((symbols.rejecting_ids, symbols.probe_ids))]
        return sum(int(np.isin(orders.symbol, names).sum()) for orders in orders_of(load.open(0)))

    def wait_for_alerts(self, count: int) -> None:
        """Until so many alerts have come, repeated ones included."""
        self._until(lambda: self.alerts_and_repeats() >= count, f"{count} alerts came", _TIMEOUT_S, every_s=0.05)

    def _until(self, is_so: Callable[[], bool], what: str, timeout_s: float, every_s: float = 0.1) -> None:
        deadline_ns = CLOCK.monotonic_ns() + round(timeout_s * 1e9)
        while not is_so():
            self.stack.check_alive()
            if CLOCK.monotonic_ns() > deadline_ns:
                raise TimeoutError(f"not so within {timeout_s:g} s: {what}")
            CLOCK.sleep_ns(round(every_s * 1e9))


@contextmanager
def rig(contender: Contender, workload: Workload, folder: Path) -> Iterator[Rig]:
    """A started rig, which is ended whatever happens."""
    made = Rig(contender, workload, folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
