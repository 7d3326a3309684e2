"""A run whose system is the user's: its own messages to warm it up, the measured load, the drain, the judgement."""

from dataclasses import dataclass
from pathlib import Path

from market_spread.common.clock import polls
from market_spread.common.errors import DeadlineError, RunFailedError, UsageError
from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.kafka.access import FINDS
from market_spread.common.kafka.client import KafkaBroker, Partition, Record
from market_spread.common.user_functions import load_function, place_of, user_errors
from market_spread.common.wire.layout import ID_HEADER, INTENDED_HEADER, WARM_UP_ORDER_ID_MIN, output_number
from market_spread.controller.analysis.observed import Observed, reads_max_of
from market_spread.controller.analysis.outputs import comparable, counted, judge_checked, judge_counts
from market_spread.controller.clients.services import Addresses, Clients
from market_spread.controller.plan.system import ATTACHED, COMMAND, ONE, PIPELINE, SystemWorkload
from market_spread.controller.session.run import POLL_S, Run, receiving
from market_spread.loadgen.message_files import Message
from market_spread.v1.control_pb2 import MatchedTopic, Phase, StartReceivingRequest

_WARM_WITHIN_S = 120.0


@dataclass(eq=False)
class SystemRun(Run):
    """Carries the plan of a `SystemWorkload` through its environment."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.plan.workload, SystemWorkload)
        self._workload = self.plan.workload
        self._topics = tuple(each.topic for each in self._workload.input)
        self._begin: dict[Partition, int] = {}
        self._kafka = KafkaBroker("")
        system = self._workload.system
        self._has = f"its group {self._workload.group} has" if system.kind in (COMMAND, ATTACHED) else "it has"
        self._names = [self._workload.plain(each.topic) for each in self._workload.output]
        self._expected: list[tuple[int, str]] | None = None
        self._got: list[tuple[int, str]] = []
        self._numbers: dict[str, int] = {}  # of the messages, by their ids
        self._due_us: dict[int, int] = {}

    def _prepare(self, clients: Clients, observed: Observed, addresses: Addresses) -> None:
        """Warm it up, until it has worked that off and every answer has come."""
        workload, outputs = self._workload, self._workload.output
        due = sum(each.expects == ONE for each in outputs)
        self._kafka = KafkaBroker(addresses.bootstrap_servers, security=addresses.security)
        topics = [*self._topics, *(each.topic for each in outputs)]
        if workload.system.kind == PIPELINE and not self.environment.is_new:
            sources = {each.topic: each.partitions for each in workload.input}
            self._end_others(clients, observed, sources, topics)
        self._begin, before = self._kafka.end_offsets(topics), observed.sent_before
        matched = StartReceivingRequest(
            inputs=[
                MatchedTopic(topic=it.topic, finds_json=FINDS.to_json(workload.finds(it))) for it in workload.input
            ],
            outputs=[MatchedTopic(topic=it.topic, finds_json=FINDS.to_json(it.finds)) for it in outputs],
        )
        clients.start_receiving(self.run_id, partition_offsets(self._begin), matched)
        # A pipeline begins with short batches, which last until there was something to warm up with.
        clients.wait_for_job(self._starting, or_first_batch=workload.system.kind == PIPELINE)
        self.on_ready(addresses)
        self._send("warm_up", clients, observed, "warming up")
        clients.wait_for_job(self._starting)
        sent, what = observed.sent_before - before, ""
        for _ in polls(self.clock, _WARM_WITHIN_S, every_s=POLL_S):
            if self.interrupted.is_set():
                return
            self.environment.check_alive()
            job, received = clients.job_status(), receiving(clients.receiver_status())
            self._show("working off the warm-up", receiver=received, job=job)
            if job.phase == Phase.PHASE_FAILED:
                raise RunFailedError(f"the job failed: {job.detail}")
            if (left := before + sent - job.messages_processed) > 0:
                what = f"{self._has} not committed {left:,} of the {sent:,} messages"
            # What names no message has come all the same, and fails the run once it is judged.
            elif (silent := due * sent - received.warm_up_alerts - received.alerts_unreadable) > 0:
                what = f"{silent:,} of the {due * sent:,} outputs did not come"
            else:
                return
        raise DeadlineError(f"{what} of the warm-up within {_WARM_WITHIN_S:.0f} s")

    def _collect(self, clients: Clients, observed: Observed) -> None:
        super()._collect(clients, observed)
        if observed.drained and self._workload.check is not None:
            self._expect(self._workload.check)
        if observed.drained and (self._expected is not None or observed.received.alerts_unreadable):
            self._read_outputs(observed)

    def _judge(self, observed: Observed) -> None:
        """By the check, or by the counts; nothing is said of a run that was not carried through."""
        if not observed.drained or observed.interrupted or observed.alerts is None:
            return
        sent, reads_max = observed.sent.messages_sent, reads_max_of(observed)
        if self._expected is not None:
            right, got = counted(self._expected), counted(self._got)
            observed.judgement = judge_checked(sent, right, got, self._names, self._due_us, reads_max)
        else:
            are_one = [each.expects == ONE for each in self._workload.output]
            numbers, due_us = observed.alerts.order_id, observed.alerts.intended_us
            observed.judgement = judge_counts(sent, numbers, are_one, self._names, reads_max, due_us)

    def _expect(self, reference: str) -> None:
        """Have the check say what is right of all messages. UsageError if it raises."""
        messages: list[tuple[int, Message]] = []
        for keys in self._workload.input:
            find = self._workload.finds(keys).finder()
            for record in self._read(keys.topic):
                headers = dict(record.headers)
                if ID_HEADER in headers:
                    number = int(headers[ID_HEADER])
                    self._numbers[find(record) or ""] = number
                    told = Message(record.value, record.key, tuple(record.headers), keys.topic, number)
                    messages.append((int(headers[INTENDED_HEADER]), told))
        # In the order of their sends: those of a microsecond by their numbers, behind the warm-up's.
        messages.sort(key=lambda each: (each[0], each[1].number))
        self._due_us = {message.number: due_us for due_us, message in messages}
        function, expected = load_function(reference), []
        with user_errors(reference):
            for cause, value, *of in function([message for _, message in messages]):
                if not isinstance(cause, Message) or cause.number < 0:
                    raise UsageError(f"{reference} yields {cause!r:.60}; yield a message that it got, and its output")
                topic = of[0] if of else self._names[0] if len(self._names) == 1 else None
                if topic not in self._names:
                    raise UsageError(f"{reference} yields the topic {topic!r}; use one of {', '.join(self._names)}")
                if cause.number < WARM_UP_ORDER_ID_MIN:
                    expected.append((output_number(cause.number, self._names.index(topic)), comparable(value)))
        self._expected = expected

    def _read_outputs(self, observed: Observed) -> None:
        """Read what came, to compare it with what is right; and why the first that is unreadable is so."""
        raised: list[UsageError] = []
        for at, output in enumerate(self._workload.output):
            find, read = output.finds.finder(raised.append), load_function(output.reads) if output.reads else bytes
            for record in self._read(output.topic):
                message = self._numbers.get(find(record) or "")
                if message is not None and message < WARM_UP_ORDER_ID_MIN:
                    try:
                        with user_errors(output.reads or ""):
                            value = comparable(read(record.value))
                    except UsageError as told:  # its bytes are wrong, or the function is
                        error = told.__cause__ or told
                        where, kind = Path(place_of(output.reads or "", error)).name, type(error).__name__
                        value = f"that raises {kind} ({error}) at {where} where it is read: {record.value!r}"
                    self._got.append((output_number(message, at), value))
        observed.unreadable_because = str(raised[0]) if raised else ""

    def _read(self, topic: str) -> list[Record]:
        """All that came to the topic since the run began."""
        return [it for _, it in self._kafka.records(self._kafka.end_offsets([topic], committed=True), self._begin)]
