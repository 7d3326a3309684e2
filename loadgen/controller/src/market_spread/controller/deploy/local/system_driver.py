"""The process that stands for the job of a system that is not ours: it starts it, and answers for it.

It is not on the path of messages. What the system has done is told by what its consumer group has committed, or by the
checkpoints of its queries.
"""

import ctypes
import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc
import psutil

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment, inherited_environment
from market_spread.common.errors import DeadlineError
from market_spread.common.grpc.calls import partition_offsets, time_to_answer_s
from market_spread.common.kafka.client import KafkaBroker, Partition
from market_spread.common.process.service import ServiceConfig, run_main, serving
from market_spread.common.processes import call_on_signals, cpu_us, cpu_us_of, family, set_in_handler
from market_spread.common.telemetry.metrics import JOB_COMMITTED, JOB_MESSAGES
from market_spread.common.telemetry.recorder import Recorder, record_committed
from market_spread.controller.deploy.local.services import Child
from market_spread.streaming.driver.checkpoint import committed_offsets
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import JobServicer

_LOOK_S, _DRAIN_TIMEOUT_S = 0.2, 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDriverConfig(ServiceConfig):
    """command: its words as a JSON list, empty for a system that runs already; environment: on top of ours, JSON.

    begin: where each partition of its input ended before, JSON of [topic, partition, offset]; kind: for statuses;
    checkpoints: where a Spark job has those of its queries, each in a folder of its own; None: it commits to the group.
    run_id: of which its metrics are; groups: as in `partition_label`.
    """

    source: str = "job"
    run_id: str
    groups: int
    kind: str
    group: str
    checkpoints: Path | None = None
    begin: str
    folder: Path
    log: Path
    command: str = "[]"
    environment: str = "{}"


# Up to where a system has committed, of each partition of which that is known.
Committed = Callable[[], Mapping[Partition, int]]


def committed_by_queries(checkpoints: Path) -> Mapping[Partition, int]:
    """What the queries of a Spark job have committed: a partition is as far as the last query that reads it."""
    found: dict[Partition, int] = {}
    for query in checkpoints.glob("*"):
        for place, offset in committed_offsets(query).items():
            found[place] = min(offset, found.get(place, offset))
    return found


class SystemService(JobServicer):
    """Answers what a run asks of its job."""

    def __init__(
        self, kind: str, child: Child | None, committed: Committed, begin: Mapping[Partition, int], clock: Clock
    ) -> None:
        self._kind, self._child = kind, child
        self._committed, self._begin, self._clock = committed, begin, clock
        self._offsets: Mapping[Partition, int] = {}
        self._counted_unix_ns = self._counted_cpu_us = 0
        self.stopping = threading.Event()

    def look(self) -> Mapping[Partition, int]:
        """Read again what is committed: the ends of the partitions."""
        offsets = {place: end for place, end in self._committed().items() if place in self._begin}
        if offsets != self._offsets and self._child is not None:
            self._counted_unix_ns, self._counted_cpu_us = self._clock.unix_ns(), self._cpu_us()
        self._offsets = offsets
        return offsets

    @property
    def messages(self) -> int:
        """How many are committed."""
        return sum(max(0, end - self._begin[place]) for place, end in self._offsets.items())

    def Status(self, request: pb.JobStatusRequest, context: grpc.ServicerContext) -> pb.JobStatusResponse:  # noqa: N802
        phase, detail, messages = pb.Phase.PHASE_RUNNING, "", self.messages
        if self._child is not None and not self._child.running:
            said = " ".join(self._child.last_lines(3)) or "it said nothing"
            phase, detail = pb.Phase.PHASE_FAILED, f"it {self._child.end} by itself: {said} (log: {self._child.log})"
        process_ids: list[int] = []
        with suppress(psutil.Error):
            process_ids = [it.pid for it in family(psutil.Process(self._child.pid))] if self._child is not None else []
        return pb.JobStatusResponse(
            phase=phase, detail=detail, mode=self._kind, committed=partition_offsets(self._offsets),
            messages_committed=messages, records_read=messages, messages_processed=messages, cpu_us=self._cpu_us(),
            counted_unix_ns=self._counted_unix_ns, counted_cpu_us=self._counted_cpu_us,
            unix_ns=self._clock.unix_ns(), process_ids=process_ids,
        )  # fmt: skip

    def Describe(self, request: pb.DescribeJobRequest, context: grpc.ServicerContext) -> pb.DescribeJobResponse:  # noqa: N802
        return pb.DescribeJobResponse()

    def Drain(self, request: pb.DrainJobRequest, context: grpc.ServicerContext) -> pb.DrainJobResponse:  # noqa: N802
        until_ns = self._clock.monotonic_ns() + round(time_to_answer_s(context, _DRAIN_TIMEOUT_S) * 1e9)
        while behind := [it for it in request.until if self._offsets.get((it.topic, it.partition), 0) < it.offset]:
            if self._clock.monotonic_ns() > until_ns or self.stopping.is_set():
                first = behind[0]
                at = self._offsets.get((first.topic, first.partition), 0)
                raise DeadlineError(
                    f"it has committed {first.topic}/{first.partition} up to {at}, and not to {first.offset}"
                )
            self._clock.sleep_ns(round(_LOOK_S * 1e9))
        return pb.DrainJobResponse(committed=partition_offsets(self._offsets))

    def _cpu_us(self) -> int:
        """Of the system's processes, those that have ended included; 0 where it is not ours to see."""
        return cpu_us_of(family()) - cpu_us() if self._child is not None else 0


def body() -> None:
    """Serve until a signal, and end the system then."""
    config, clock = from_environment(SystemDriverConfig), SystemClock()
    command, child = json.loads(config.command), None
    with ExitStack() as ending:
        if config.checkpoints is None:
            broker = KafkaBroker(config.bootstrap_servers, config.source, config)
            committed: Committed = ending.enter_context(broker.group_offsets(config.group))
        else:
            committed = partial(committed_by_queries, config.checkpoints)
        if command:
            environment = {**inherited_environment(), **json.loads(config.environment)}
            ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: its daemons are of our family, too
            child = Child.start(config.kind, command, environment=environment, log=config.log, folder=config.folder)
            ending.callback(child.stop, within_s=5, adopted=True)
        begin = {(topic, partition): offset for topic, partition, offset in json.loads(config.begin)}
        recorder = Recorder(source=config.source, clock=clock, run_id=config.run_id)
        record = partial(record_committed, recorder, begin, config.groups)
        service = SystemService(config.kind, child, committed, begin, clock)
        call_on_signals(lambda: set_in_handler(service.stopping))
        with serving(config, "Job", service, recorder=recorder, clock=clock):
            while not service.stopping.wait(_LOOK_S):
                record(service.look())
                for metric in (JOB_MESSAGES, JOB_COMMITTED):
                    recorder.counter(metric).set(service.messages)


if __name__ == "__main__":
    sys.exit(run_main(body))
