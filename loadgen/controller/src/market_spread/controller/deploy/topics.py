"""The topics of Market Spread on a broker that someone else runs."""

from collections.abc import Callable

from market_spread.common.clock import Clock
from market_spread.common.errors import RunVoidError
from market_spread.common.job_contract import ALL_DECISIONS, TOPICS
from market_spread.common.kafka.client import KafkaBroker

# A broker that was installed together with us may still be starting.
WAIT_S = 60.0
_POLL_NS = 2_000_000_000


def topic_partitions(partitions: int, decisions: str) -> dict[str, int]:
    """The topics and their numbers of partitions: what the job reads has so many, what leaves has one.

    The receiver reads all of it anyway, and one partition keeps the decisions of a symbol in the order of their making.
    """
    outputs = [TOPICS.alerts, TOPICS.invalid] + ([TOPICS.decisions] if decisions == ALL_DECISIONS else [])
    return {TOPICS.nbbo: partitions, TOPICS.orders: partitions, **dict.fromkeys(outputs, 1)}


def ensure_topics(
    broker: KafkaBroker, *, partitions: int, decisions: str, replicas: int, clock: Clock, say: Callable[[str], None]
) -> None:
    """Make those of the topics that are not there. UsageError if one has another number of partitions.

    RunVoidError if no broker answers within a minute.
    """
    wanted = topic_partitions(partitions, decisions)
    deadline_ns = clock.monotonic_ns() + round(WAIT_S * 1e9)
    while True:
        try:
            made = broker.create_topics(wanted, replicas=replicas, appended=(TOPICS.alerts,))
            break
        except RunVoidError:
            if clock.monotonic_ns() > deadline_ns:
                raise
            clock.sleep_ns(_POLL_NS)
    for topic, count in wanted.items():
        say(f"{topic}: {'made' if topic in made else 'is there'}, {count} partition{'s' if count > 1 else ''}")
