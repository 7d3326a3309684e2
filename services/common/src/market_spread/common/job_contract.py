"""What the job and those who start it agree on: modes, their limits, topics, ids of runs. Needs no Spark."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

# Which decisions leave: those that reject, as alerts; or besides all of them, to a topic of their own. With each, the
# application that does it.
REJECTED_DECISIONS, ALL_DECISIONS = "rejected", "all"
APPLICATIONS: Mapping[str, str] = {REJECTED_DECISIONS: "market_spread", ALL_DECISIONS: "market_spread_all_decisions"}

REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
MODES = (REAL_TIME, MICRO_BATCH)

# Time between the starts of two batches, seconds: the least that a mode takes, and what it has unless told otherwise.
BATCH_S_MIN: Mapping[str, float] = {REAL_TIME: 5.0, MICRO_BATCH: 0.0}
# With shorter batches a replica loses too much of its period while it realigns.
REPLICAS_BATCH_S_MIN = 20.0
BATCH_S_DEFAULT: Mapping[str, float] = {REAL_TIME: 60.0, MICRO_BATCH: 0.5}

# A run's id names folders, whatever the system.
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RUN_ID_REMEDY = "use letters, digits, '.', '_' and '-', a letter or digit first, at most 100"

# How many batches a job tells of, the newest ones.
BATCHES_MAX = 1000


def slots_needed(mode: str, partitions: int, state_partitions: int) -> int:
    """How many tasks must run at the same time: in Real-Time Mode one per partition of the input and of the state."""
    return partitions + state_partitions if mode == REAL_TIME else 1


def duration(seconds: float) -> str:
    """A duration as Spark reads it."""
    return f"{round(seconds * 1000)} milliseconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Names of the topics that Market Spread reads and writes."""

    nbbo: str = "nbbo"
    orders: str = "orders"
    alerts: str = "alerts"
    decisions: str = "decisions"
    invalid: str = "invalid"

    def prefixed(self, prefix: str) -> "Topics":
        """The same on a broker where all of them begin with the prefix."""
        return Topics(**{name: prefix + topic for name, topic in asdict(self).items()})


TOPICS = Topics()
