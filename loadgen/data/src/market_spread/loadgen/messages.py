"""Messages of the user's own, from generators or files, each a record of its topic, on the schedule."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.kafka.client import RECORD_BYTES_MAX, partition_of
from market_spread.common.load.schedule import Burst, Constant, Profile, Ramp, Steps, calls_for_messages
from market_spread.common.load.source import PlannedRecord, RecordLoad
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, number
from market_spread.common.wire.layout import ID_HEADER, OUR_HEADERS
from market_spread.loadgen.message_files import InputKeys, Message, messages_of
from market_spread.loadgen.recorded import Recorded, Times, by_time

_AT_ONCE = 256
_BYTES_MAX = RECORD_BYTES_MAX - 64 * 1024  # of a value, beside key, headers and Kafka's own bytes
# What a schema reads: a schedule, or the times of the files.
MessageProfile = Annotated[
    Constant | Steps | Ramp | Burst | Recorded,
    Field(discriminator="profile", description="The rate over time of all inputs together, or their recorded times."),
    AfterValidator(lambda profile: profile if isinstance(profile, Recorded) else calls_for_messages(profile)),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageParameters:
    """What the source `messages` takes.

    first_number: of the first message; after: how many messages of the sources an earlier load has taken.
    """

    __pydantic_config__ = ONLY_KNOWN_KEYS

    inputs: Annotated[tuple[InputKeys, ...], Field(min_length=1)]
    profile: MessageProfile
    seed: Annotated[int, number(0, 2**63 - 1, "Given to the generators.")]
    first_number: Annotated[int, number(0, 2**62, "Number of the first message.")] = 0
    after: Annotated[int, number(0, 2**62, "Messages that are left out first.")] = 0


MESSAGES = Schema(MessageParameters)


def messages(parameters: Mapping[str, object], start_unix_ns: int) -> RecordLoad:
    """The messages of generators and files; see MessageParameters for what it takes. UsageError for what is not so."""
    return MessageLoad(MESSAGES.read(parameters), start_unix_ns)


class MessageLoad:
    """A load of the user's messages, numbered in the order of their sends, over all inputs. Thread-safe."""

    def __init__(self, asked: MessageParameters, start_unix_ns: int) -> None:
        """UsageError for a file or a function that is not there, before anything is sent."""
        self._asked, self._start_ns = asked, start_unix_ns
        for each in asked.inputs:
            if next(messages_of(each, asked.seed), None) is None:
                raise UsageError(f"there is no message in {each.source.name}; name one that has some")
        profile = asked.profile
        self._profile: Profile = Times(profile, asked.inputs) if isinstance(profile, Recorded) else profile

    @property
    def messages(self) -> int:
        return self._profile.total()

    def messages_due(self, unix_ns: int) -> int:
        return self._profile.due(unix_ns - self._start_ns)

    def records(self) -> Iterator[list[PlannedRecord]]:
        """The messages as records. UsageError if a source ends before the load, or the user's function raises."""
        asked, profile, total = self._asked, self._profile, self.messages
        drawn = by_time(asked.inputs, asked.seed) if isinstance(profile, Times) else self._drawn()
        for _ in range(profile.skipped if isinstance(profile, Times) else asked.after):
            next(drawn)
        for first in range(0, total, _AT_ONCE):
            offsets_ns = profile.offsets_ns(first, min(_AT_ONCE, total - first)).tolist()
            yield [
                self._record(*next(drawn), asked.first_number + position, offset_ns)
                for position, offset_ns in enumerate(offsets_ns, first)
            ]

    def _drawn(self) -> Iterator[tuple[InputKeys, int, Message]]:
        """Message after message, of the input that is furthest behind its share, with its place in that."""
        inputs = self._asked.inputs
        sources = [messages_of(each, self._asked.seed) for each in inputs]
        counts = [0] * len(inputs)
        while True:
            which = min(range(len(inputs)), key=lambda i: (counts[i] + 1) / inputs[i].share)
            into = inputs[which]
            message = next(sources[which], None)
            if message is None:
                raise UsageError(
                    f"{into.source.name} ended after {counts[which]:,} messages, and warm-up "
                    "and load call for more; shorten them, or let it repeat"
                )
            yield into, counts[which], message
            counts[which] += 1

    def _record(self, into: InputKeys, count: int, message: Message, number_: int, offset_ns: int) -> PlannedRecord:
        what = f"{into.source.name}: message {count + 1:,} cannot be sent"
        with usage_errors(what, "correct it", (TypeError, ValueError, RecursionError)):
            value, key = message.encoded, message.key.encode() if isinstance(message.key, str) else message.key
            if not all(isinstance(each, bytes | None) for each in (key, *(each for _, each in message.headers))):
                raise TypeError(f"its key is {key!r}, its headers are {message.headers!r}; use bytes")
            if wrong := [name for name, _ in message.headers if name in OUR_HEADERS]:
                raise ValueError(f"its header {wrong[0]!r} is the run's own; use another name")
            if len(value) > _BYTES_MAX:
                raise ValueError(f"it has {len(value):,} bytes; use at most {_BYTES_MAX:,}")
        return PlannedRecord(
            topic=into.topic, partition=count % into.partitions if key is None else partition_of(key, into.partitions),
            value=value, key=key, headers=((ID_HEADER, b"%d" % number_), *message.headers),
            intended_ns=self._start_ns + offset_ns,
        )  # fmt: skip
