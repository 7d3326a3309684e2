"""The topics of Market Spread on a broker that someone else runs."""

from collections.abc import Callable

from market_spread.common.clock import Clock, polls
from market_spread.common.errors import BrokerAwayError, UsageError
from market_spread.common.job_contract import ALL_DECISIONS, TOPICS, Topics
from market_spread.common.kafka.client import KafkaBroker

# A broker that was installed together with us may still be starting.
WAIT_S, _POLL_S = 60.0, 2.0


def topic_partitions(partitions: int, decisions: str, topics: Topics = TOPICS) -> dict[str, int]:
    """The topics and their numbers of partitions: what the job reads has so many, what leaves has one.

    The receiver reads all of it anyway, and one partition keeps the decisions of a symbol in the order of their making.
    """
    outputs = [topics.alerts, topics.invalid] + ([topics.decisions] if decisions == ALL_DECISIONS else [])
    return {topics.nbbo: partitions, topics.orders: partitions, **dict.fromkeys(outputs, 1)}


def ensure_topics(
    broker: KafkaBroker, *, partitions: int, decisions: str, replicas: int, clock: Clock, say: Callable[[str], None],
    prefix: str = "",
) -> list[tuple[str, int, bool]]:  # fmt: skip
    """Make those of the topics that are not there, each with the prefix.

    Returns of each its name, its partitions and whether it was made. say: told if the broker is waited for.
    UsageError if one has another number of partitions, or if no broker answers within a minute.
    """
    topics = TOPICS.prefixed(prefix)
    wanted = topic_partitions(partitions, decisions, topics)
    away: BrokerAwayError | None = None
    for _ in polls(clock, WAIT_S, every_s=_POLL_S):
        try:
            made = broker.create_topics(wanted, replicas=replicas, appended=(topics.alerts,))
            break
        except BrokerAwayError as error:
            if away is None:
                say(f"{error} Waiting for {WAIT_S:.0f} s")
            away = error
    else:
        raise UsageError(str(away)) from away
    return [(topic, count, topic in made) for topic, count in wanted.items()]
