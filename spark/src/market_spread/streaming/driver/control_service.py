"""Control calls of the driver."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import grpc

from market_spread.common.clock import Clock
from market_spread.common.grpc.calls import partition_offsets, time_to_answer_s
from market_spread.common.processes import cpu_us_of, family
from market_spread.streaming.driver.supervisor import Supervisor
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import JobServicer

_DRAIN_TIMEOUT_S = 600.0


@dataclass(eq=False)
class JobService(JobServicer):
    """Answers for the supervisor. settings: what Spark and its JVM really run with, as `session.effective_settings`."""

    supervisor: Supervisor
    _: KW_ONLY
    mode: str
    settings: Mapping[str, Mapping[str, str]]
    clock: Clock

    def Status(self, request: pb.JobStatusRequest, context: grpc.ServicerContext) -> pb.JobStatusResponse:
        state = self.supervisor.state
        progress = state.progress
        return pb.JobStatusResponse(
            phase=state.phase, detail=state.detail, mode=self.mode, batch_id=progress.batch_id,
            committed=partition_offsets(progress.offsets), messages_committed=progress.messages_committed,
            records_read=progress.records_live, messages_processed=progress.messages_live, restarts=state.restarts,
            cpu_us=cpu_us_of(family()), unix_ns=self.clock.unix_ns(), counted_unix_ns=progress.counted_unix_ns,
            counted_cpu_us=progress.counted_cpu_us, process_ids=[process.pid for process in family()],
            rows_late=progress.late,
            batches=[
                pb.CommittedBatch(
                    batch_id=batch.batch_id, start_unix_ns=batch.start_unix_ns, duration_ns=batch.duration_ns,
                    messages=batch.messages,
                )
                for batch in progress.batches
            ],
        )  # fmt: skip

    def Describe(self, request: pb.DescribeJobRequest, context: grpc.ServicerContext) -> pb.DescribeJobResponse:
        return pb.DescribeJobResponse(spark=self.settings["spark"], jvm=self.settings["jvm"])

    def Drain(self, request: pb.DrainJobRequest, context: grpc.ServicerContext) -> pb.DrainJobResponse:
        until = {(end.topic, end.partition): end.offset for end in request.until}
        committed = self.supervisor.drain(until, time_to_answer_s(context, _DRAIN_TIMEOUT_S))
        return pb.DrainJobResponse(committed=partition_offsets(committed))
