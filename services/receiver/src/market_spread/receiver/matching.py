"""Outputs of a system of any kind, each matched with the message that caused it, and told as an alert is.

An alert names its order and has the order's times. An output that names a message, with the times of that message's
record, says the same, so all that is done with alerts is done with outputs: ledger, counts, histograms.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from market_spread.common.clock import Clock
from market_spread.common.errors import UsageError
from market_spread.common.kafka.access import Finder
from market_spread.common.kafka.client import Partition, Record
from market_spread.common.wire.layout import EMITTED_HEADER, ID_HEADER, OUR_HEADERS, READ_HEADER, output_number

# An output can be read before its input, which is in another topic. What has none when inputs are read that were sent
# so long after its receipt, or when none have come for so long, was caused by no message.
UNMATCHED_AFTER_NS = 3_000_000_000
_STAMPS = (READ_HEADER, EMITTED_HEADER)
_NOBODY_S = b"answers no message: "

# A record and when it was received, Unix microseconds.
Receipt = tuple[Record, int]


@dataclass(frozen=True, slots=True)
class _Message:
    """A message that was sent: its number in the run, its times, the number of its topic and its partition."""

    number: int
    intended_us: int
    sent_us: int
    topic: int
    partition: int


@dataclass(frozen=True, slots=True)
class _Output:
    """An output that was read then."""

    place: Partition
    record: Record
    received_us: int
    read_ns: int


class Matcher:
    """Holds every message of the inputs by its id (some 300 bytes), and makes alerts of outputs. Not thread-safe."""

    def __init__(self, inputs: Mapping[str, Finder], outputs: Mapping[str, Finder], clock: Clock) -> None:
        """How messages and outputs name the message, by topic."""
        self.inputs, self.outputs = inputs, outputs
        self._topics = {topic: number for of in (inputs, outputs) for number, topic in enumerate(of)}
        self._clock = clock
        self._messages: dict[str, _Message] = {}
        self._waiting: dict[str, list[_Output]] = {}  # by id, the longest first
        self._inputs_sent_us = self._inputs_read_ns = 0

    @property
    def waits(self) -> bool:
        """Whether there are outputs whose messages may still come."""
        return bool(self._waiting)

    def alerts(self, held: Mapping[Partition, list[Receipt]]) -> dict[Partition, list[Receipt]]:
        """What was received, alerts in place of outputs, without inputs. UsageError if two messages have one id."""
        alerts: dict[Partition, list[Receipt]] = {}
        now_ns = self._clock.monotonic_ns()
        told: list[tuple[_Output, _Message | None]] = []
        for (topic, partition), receipts in held.items():
            if topic in self.inputs:
                self._inputs_read_ns = now_ns
                for sent_id, sent in self._take(topic, partition, [record for record, _ in receipts]):
                    told += [(output, sent) for output in self._waiting.pop(sent_id, ())]
        for place, receipts in held.items():
            if place[0] in self.outputs:
                find = self.outputs[place[0]]
                for record, received_us in receipts:
                    id_, output = find(record), _Output(place, record, received_us, now_ns)
                    if id_ is None or id_ in self._messages:
                        told.append((output, None if id_ is None else self._messages[id_]))
                    else:
                        self._waiting.setdefault(id_, []).append(output)
            elif place[0] not in self.inputs:
                alerts[place] = receipts
        while self._waiting and self._is_nobodys((first := next(iter(self._waiting.items())))[1][0], now_ns):
            told += [(output, None) for output in self._waiting.pop(first[0])]
        for output, message in told:
            record, number = output.record, self._topics[output.place[0]]
            value = _alert(message, number, record, output.received_us) if message else _NOBODY_S + record.value
            alerts.setdefault(output.place, []).append((replace(record, value=value), output.received_us))
        return alerts

    def _is_nobodys(self, output: _Output, now_ns: int) -> bool:
        """Whether its message would have been read. Not before: with slow inputs a right system would seem wrong."""
        is_read_past = (self._inputs_sent_us - output.received_us) * 1000 >= UNMATCHED_AFTER_NS
        return is_read_past or now_ns - max(output.read_ns, self._inputs_read_ns) >= UNMATCHED_AFTER_NS

    def _take(self, topic: str, partition: int, records: list[Record]) -> Iterator[tuple[str, _Message]]:
        """Keep the messages among the records, each told with its id."""
        find, of = self.inputs[topic], self._topics[topic]
        for record in records:
            headers = dict(record.headers)
            ours = [headers.get(name) or b"" for name in OUR_HEADERS]
            if ID_HEADER not in headers or not all(each.isdigit() and len(each) <= 16 for each in ours):
                continue  # somebody else's
            number, intended_us, sent_us = map(int, ours)
            message, id_ = _Message(number, intended_us, sent_us, of, partition), find(record)
            if id_ is None:
                raise UsageError(
                    f"{topic}/{partition}, offset {record.offset}: message {message.number} has no id where the "
                    "workload says; mend its id: or the generator"
                )
            earlier = self._messages.setdefault(id_, message)
            if earlier.number != message.number:
                raise UsageError(
                    f"messages {earlier.number} and {message.number} both have the id {id_!r}, so no output can be "
                    "told to be of one of them; name an id that each message has alone"
                )
            self._inputs_sent_us = max(self._inputs_sent_us, sent_us)
            yield id_, earlier


def _alert(message: _Message, topic: int, record: Record, received_us: int) -> bytes:
    """The alert of an output. Without stamps in its headers all of its time is up to the broker's append, if told.

    Its account is the number of the message's topic, its price the partition, and so is its symbol.
    """
    stamps = {name: int(value) for name, value in record.headers if name in _STAMPS and value and value.isdigit()}
    appended_us = received_us if record.appended_ms is None else record.appended_ms * 1000
    emitted_us = min(max(stamps.get(EMITTED_HEADER, appended_us), message.sent_us), received_us)
    read_us = min(max(stamps.get(READ_HEADER, message.sent_us), message.sent_us), emitted_us)
    number, place = output_number(message.number, topic), f"P{message.partition:05d}B{message.topic:06d}"
    order = f"A{number:010d}{place}+{0:08d}{message.partition:010d}"
    quote = f"{0:010d}{0:010d}{0:012d}"
    times = f"{message.intended_us:016d}{message.sent_us:016d}{read_us:016d}{emitted_us:016d}"
    return f"{order}{quote}{times}".encode()
