"""The topics of Market Spread on a broker that someone else runs."""

from collections.abc import Callable

from market_spread.common.clock import Clock
from market_spread.common.errors import RunVoidError
from market_spread.common.kafka import create_topics
from market_spread.common.kafka_security import KafkaSecurity
from market_spread.runs.environment import TOPICS, topic_partitions

# A broker that was installed together with us may still be starting.
WAIT_S = 60.0
_POLL_NS = 2_000_000_000


def ensure_topics(
    bootstrap_servers: str,
    *,
    partitions: int,
    decisions: str,
    replicas: int,
    security: KafkaSecurity,
    clock: Clock,
    say: Callable[[str], None],
) -> None:
    """Make those of the topics that are not there. UsageError if one has another number of partitions.

    RunVoidError if no broker answers within a minute.
    """
    wanted = topic_partitions(partitions, decisions)
    deadline_ns = clock.monotonic_ns() + round(WAIT_S * 1e9)
    while True:
        try:
            made = create_topics(
                bootstrap_servers, wanted, replicas=replicas, security=security, appended=(TOPICS.alerts,)
            )
            break
        except RunVoidError:
            if clock.monotonic_ns() > deadline_ns:
                raise
            clock.sleep_ns(_POLL_NS)
    for topic, count in wanted.items():
        say(f"{topic}: {'made' if topic in made else 'is there'}, {count} partition{'s' if count > 1 else ''}")
