"""What the topics hold before a load: their ends, and how far quotes are numbered."""

from collections.abc import Iterable, Mapping
from contextlib import closing

from market_spread.common.errors import DeadlineError
from market_spread.common.kafka.client import Consumer, Partition
from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import NBBO

# Frames of several senders stand side by side in a partition, so its last one need not hold the highest number.
NEWEST_RECORDS = 64
_POLL_S = 0.5
_POLLS_IN_VAIN_MAX = 40


def describe_topics(reader: Consumer, counts: Mapping[str, int], nbbo_topic: str) -> tuple[dict[Partition, int], int]:
    """Where each partition ends, and the highest sequence among the newest quotes, 0 if there is none.

    counts: partitions of each topic, `nbbo_topic` among them. Closes the reader. DeadlineError if the newest quotes
    cannot be read.
    """
    with closing(reader):
        ends = reader.end_offsets((topic, number) for topic, count in counts.items() for number in range(count))
        quotes = {key: end for key, end in ends.items() if key[0] == nbbo_topic and end}
        return ends, max(_newest(reader, quotes), default=0)


def _newest(reader: Consumer, ends: Mapping[Partition, int]) -> Iterable[int]:
    """The highest sequence of each record at the ends."""
    if not ends:
        return
    reader.assign({key: max(0, end - NEWEST_RECORDS) for key, end in ends.items()})
    behind = dict(ends)
    polls_in_vain = 0
    while behind:
        found = reader.poll(_POLL_S)
        polls_in_vain = 0 if found else polls_in_vain + 1
        if polls_in_vain == _POLLS_IN_VAIN_MAX:
            missing = ", ".join(f"{topic}/{number}" for topic, number in behind)
            waited_s = _POLL_S * _POLLS_IN_VAIN_MAX
            raise DeadlineError(f"the newest quotes of {missing} could not be read within {waited_s:g} s")
        for key, records in found.items():
            yield from (_sequence_of(record.value) for record in records)
            if key in behind and records[-1].offset + 1 >= behind[key]:
                del behind[key]


def _sequence_of(value: bytes) -> int:
    """The highest sequence in a frame; 0 if it is none of ours."""
    if not value or len(value) % NBBO.width:
        return 0
    quotes = decode(NBBO, value)
    sequences = quotes.ints("sequence")[quotes.readable]
    return int(sequences.max()) if len(sequences) else 0
