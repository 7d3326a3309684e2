"""The process that stands for the job when a peer runs: it starts the peer, and answers for it as Spark's driver does.

It is not on the path of messages. Its own CPU time is not the peer's and is not counted.
"""

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc
import psutil
from committed import BytewaxStore, Committed, GroupOffsets
from counting import Counts, FrameCounter

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment, inherited_environment
from market_spread.common.errors import DeadlineError, RunFailedError
from market_spread.common.process.service import ServiceConfig, run_main, serving
from market_spread.common.processes import call_on_signals, cpu_us, cpu_us_of, family, set_in_handler
from market_spread.common.telemetry.metrics import JOB_COMMITTED, JOB_MESSAGES
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.deploy.local.services import Child
from market_spread.v1.control_pb2 import (
    DescribeJobRequest,
    DescribeJobResponse,
    DrainJobRequest,
    DrainJobResponse,
    JobStatusRequest,
    JobStatusResponse,
    PartitionOffset,
    Phase,
)
from market_spread.v1.control_pb2_grpc import JobServicer

Partition = tuple[str, int]

RESTARTS_MAX = 3
_LOOK_S = 0.2
_DRAIN_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarConfig(ServiceConfig):
    """command, environment: of the peer's process, as JSON; commits_to: see `peers.Peer`; store: Bytewax's folder.

    run_id: of which its metrics are.
    """

    source: str = "job"
    run_id: str = ""
    peer: str
    command: str
    environment: str = "{}"
    commits_to: str = "group"
    group: str
    store: Path
    log: Path
    partitions: int


class PeerProcess:
    """The peer's process, which is started again when it ends by itself. Its CPU time counts through that."""

    def __init__(self, config: SidecarConfig) -> None:
        self._config = config
        self._command = json.loads(config.command)
        self._environment = {**inherited_environment(), **json.loads(config.environment)}
        self.restarts = 0
        self.child = self._started()

    def keep_running(self) -> None:
        """Start it again if it has ended, a few times; RunFailedError with its last words after that."""
        if self.child.running:
            return
        if self.restarts >= RESTARTS_MAX:
            raise RunFailedError(f"{self._config.peer} ended: {' '.join(self.child.last_lines(3))}")
        self.child.stop()
        self.restarts += 1
        self.child = self._started()

    def cpu_us(self) -> int:
        """Of the peer's processes, those that have ended included."""
        return cpu_us_of(family()) - cpu_us()

    def process_ids(self) -> list[int]:
        """The peer's, the one that was started first."""
        try:
            return [process.pid for process in family(psutil.Process(self.child.pid))]
        except psutil.Error:
            return []

    def _started(self) -> Child:
        config = self._config
        return Child.start(config.peer, self._command, environment=self._environment, log=config.log)


class PeerService(JobServicer):
    """Answers what a run asks of its job, from what the peer has committed."""

    def __init__(self, peer: PeerProcess, *, name: str, committed: Committed, counts: Counts, clock: Clock) -> None:
        self._peer = peer
        self._name = name
        self._committed = committed
        self._counts = counts
        self._clock = clock
        self._offsets: Mapping[Partition, int] = {}
        self._counted_unix_ns = self._counted_cpu_us = 0
        self.stopping = threading.Event()

    @property
    def messages(self) -> int:
        """How many are committed."""
        return self._counts.below(self._offsets)

    def look(self) -> None:
        """Read the peer's commits again. What it has committed once, it has; so a failed look changes nothing."""
        offsets = {**self._offsets, **self._committed.offsets()}
        if offsets != self._offsets:
            self._counted_unix_ns, self._counted_cpu_us = self._clock.unix_ns(), self._peer.cpu_us()
        self._offsets = offsets

    def Status(self, request: JobStatusRequest, context: grpc.ServicerContext) -> JobStatusResponse:  # noqa: N802
        offsets = self._offsets
        has_begun = sum(offsets.values()) > 0
        messages = self.messages
        return JobStatusResponse(
            phase=Phase.PHASE_RUNNING if has_begun else Phase.PHASE_STARTING,
            detail="" if has_begun else f"{self._name} has committed nothing yet",
            mode=self._name,
            batch_id=0 if has_begun else -1,
            committed=_partition_offsets(offsets),
            messages_committed=messages,
            records_read=self._counts.records_below(offsets),
            messages_processed=messages,
            restarts=self._peer.restarts,
            cpu_us=self._peer.cpu_us(),
            counted_unix_ns=self._counted_unix_ns,
            counted_cpu_us=self._counted_cpu_us,
            unix_ns=self._clock.unix_ns(),
            process_ids=self._peer.process_ids(),
        )

    def Describe(self, request: DescribeJobRequest, context: grpc.ServicerContext) -> DescribeJobResponse:  # noqa: N802
        return DescribeJobResponse()  # a peer has no Spark

    def Drain(self, request: DrainJobRequest, context: grpc.ServicerContext) -> DrainJobResponse:  # noqa: N802
        left_s = context.time_remaining()
        deadline_ns = self._clock.monotonic_ns() + round(min(left_s or _DRAIN_TIMEOUT_S, _DRAIN_TIMEOUT_S) * 1e9)
        while behind := [it for it in request.until if self._offsets.get((it.topic, it.partition), 0) < it.offset]:
            if self._clock.monotonic_ns() > deadline_ns - 200_000_000 or self.stopping.is_set():
                first = behind[0]
                raise DeadlineError(f"{self._name} has not committed {first.topic}-{first.partition} to {first.offset}")
            self._clock.sleep_ns(round(_LOOK_S * 1e9))
        return DrainJobResponse(committed=_partition_offsets(self._offsets))


def body() -> None:
    """Serve until a signal, and end the peer then."""
    config, clock = from_environment(SidecarConfig), SystemClock()
    peer = PeerProcess(config)
    counts = Counts()
    counter = FrameCounter(config.bootstrap_servers, config.partitions, counts)
    committed: Committed = (
        GroupOffsets(config.bootstrap_servers, config.group)
        if config.commits_to == "group"
        else BytewaxStore(config.store)
    )
    service = PeerService(peer, name=config.peer, committed=committed, counts=counts, clock=clock)
    call_on_signals(lambda: set_in_handler(service.stopping))

    counter.start()
    recorder = Recorder(source=config.source, clock=clock, run_id=config.run_id)
    try:
        with serving(config, "Job", service, recorder=recorder, clock=clock):
            while not service.stopping.wait(_LOOK_S):
                peer.keep_running()
                service.look()
                for metric in (JOB_MESSAGES, JOB_COMMITTED):
                    recorder.counter(metric).set(service.messages)
    finally:
        counter.stop()
        peer.child.stop(within_s=5)
        committed.close()


def _partition_offsets(offsets: Mapping[Partition, int]) -> list[PartitionOffset]:
    return [
        PartitionOffset(topic=topic, partition=partition, offset=offset)
        for (topic, partition), offset in sorted(offsets.items())
    ]


if __name__ == "__main__":
    sys.exit(run_main(body))
