"""Figures by partition: a series for each of the first ones, and one for all others."""

import pytest

from market_spread.common.telemetry.recorder import (
    OTHERS,
    PARTITION_SERIES_MAX,
    Recorder,
    partition_label,
    record_committed,
)
from market_spread.metrics_aggregator.model.store import SERIES_MAX
from tests.support.clock import ManualClock


def committed(recorder: Recorder) -> dict[tuple[str, str], float]:
    (push,) = recorder.take()
    return {(it.key.labels["topic"], it.key.labels["partition"]): it.value for it in push.counters}


def test_what_is_committed_is_counted_from_the_begin_and_0_where_nothing_is() -> None:
    recorder = Recorder(source="job", clock=ManualClock())
    begin = {("trips", 0): 100, ("trips", 1): 0, ("stops", 0): 7}

    record_committed(recorder, begin, 1, {("trips", 0): 130, ("stops", 0): 5, ("fares", 0): 99})

    # Of `stops` the group is still behind what the topic held before the run.
    assert committed(recorder) == {("trips", "0"): 30, ("trips", "1"): 0, ("stops", "0"): 0}


def test_the_last_of_many_partitions_are_counted_together() -> None:
    recorder = Recorder(source="job", clock=ManualClock())
    places = [("trips", partition) for partition in range(1024)]

    record_committed(recorder, dict.fromkeys(places, 0), 1, {place: place[1] for place in places})

    found = committed(recorder)
    assert len(found) == PARTITION_SERIES_MAX + 1
    assert found["trips", str(PARTITION_SERIES_MAX - 1)] == PARTITION_SERIES_MAX - 1
    assert found["trips", OTHERS] == sum(range(PARTITION_SERIES_MAX, 1024))


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (1, 9), (4, 9), (30, 9)])
def test_no_run_has_more_series_by_partition_than_the_aggregator_takes(inputs: int, outputs: int) -> None:
    groups = inputs * outputs
    labels = {partition_label(partition, groups) for partition in range(1024)}

    assert "0" in labels
    assert (groups + inputs) * len(labels) < SERIES_MAX
