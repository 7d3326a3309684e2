"""The modes by their names: what the driver has to know of the one that it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from market_spread.streaming.modes import micro_batch, real_time
from market_spread.streaming.modes.settings import MICRO_BATCH, REAL_TIME


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode.

    slots_needed: tasks that have to run at the same time, by partitions of the input and of the state.
    warm_up_batch_s: length of the short batches that a new checkpoint begins with; None: it needs none.
    """

    session_settings: Mapping[str, str]
    start_query: Callable[..., StreamingQuery]
    slots_needed: Callable[[int, int], int]
    warm_up_batch_s: float | None


BY_NAME: Mapping[str, Mode] = {
    REAL_TIME: Mode(
        real_time.SESSION_SETTINGS, real_time.start_query, real_time.slots_needed, real_time.WARM_UP_BATCH_S
    ),
    # Its batches are short anyway, and its tasks wait for each other.
    MICRO_BATCH: Mode(micro_batch.SESSION_SETTINGS, micro_batch.start_query, lambda partitions, state: 1, None),
}
