"""What the store merges, counts and refuses."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from market_spread.common.errors import UsageError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import (
    ACKNOWLEDGE,
    ALERTS,
    CPU,
    END_TO_END,
    FRAME_DELAY,
    FRAMES_LATE,
    FRAMES_SENT,
    JOB_BATCH,
    MEMORY,
    MESSAGES_SENT,
    SEND_LAG,
    Metric,
)
from market_spread.metrics_aggregator.model.intervals import bytes_of
from market_spread.metrics_aggregator.model.run import Epoch
from market_spread.metrics_aggregator.model.series import CounterSeries, GaugeSeries, HistogramSeries
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import aggregator_view, exposed_series
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest, Sample, SeriesKey

SECOND = 1_000_000_000
EPOCH = 1_000 * SECOND


def histogram(metric: Metric, values_us: list[int], **labels: str) -> IntervalHistogram:
    values = HdrCounts()
    values.record(np.array(values_us, np.int64))
    return IntervalHistogram(
        key=SeriesKey(name=metric.name, labels=labels),
        encoded=values.encode(),
        count=values.count,
        sum=values.sum_us,
        min=values.min_us,
        max=values.max_us,
        overflow=values.overflow,
        negative=values.negative,
    )


def sample(metric: Metric, value: float, **labels: str) -> Sample:
    return Sample(key=SeriesKey(name=metric.name, labels=labels), value=value)


def push(
    sequence: int,
    *,
    source: str = "sender-0",
    run_id: str = "r1",
    epoch_unix_ns: int = EPOCH,
    histograms: list[IntervalHistogram] | None = None,
    counters: list[Sample] | None = None,
    gauges: list[Sample] | None = None,
) -> PushRequest:
    return PushRequest(
        source=source,
        run_id=run_id,
        epoch_unix_ns=epoch_unix_ns,
        sequence=sequence,
        start_unix_ns=epoch_unix_ns + (sequence - 1) * SECOND,
        end_unix_ns=epoch_unix_ns + sequence * SECOND,
        histograms=histograms or [],
        counters=counters or [],
        gauges=gauges or [],
    )


def only_histogram(store: Store) -> HistogramSeries:
    ((_, series),) = store.series()
    assert isinstance(series, HistogramSeries)
    return series


def only_counter(store: Store) -> CounterSeries:
    ((_, series),) = store.series()
    assert isinstance(series, CounterSeries)
    return series


def only_gauge(store: Store) -> GaugeSeries:
    ((_, series),) = store.series()
    assert isinstance(series, GaugeSeries)
    return series


def only_epoch(store: Store) -> Epoch:
    (run,) = store.runs()
    (epoch,) = run.epochs.values()
    return epoch


def test_intervals_are_merged_without_loss() -> None:
    store = Store()

    store.push(push(1, histograms=[histogram(SEND_LAG, [5, 1_234_567])]))
    store.push(push(2, histograms=[histogram(SEND_LAG, [3, -1, 4_000_000_000])]))

    merged = only_histogram(store).merged
    assert (merged.count, merged.sum_us, merged.min_us, merged.max_us) == (5, 4_001_234_575, 0, 4_000_000_000)
    assert (merged.negative, merged.overflow) == (1, 1)
    assert merged.counts[[0, 3, 5]].tolist() == [1, 1, 1]
    assert [interval.exact.count for interval in only_histogram(store).history] == [2, 3]


def test_a_push_is_merged_once() -> None:
    store = Store()
    request = push(1, histograms=[histogram(SEND_LAG, [5])])

    store.push(request)
    store.push(request)

    assert only_histogram(store).merged.count == 1
    epoch = only_epoch(store)
    assert (epoch.pushes, epoch.duplicates, epoch.missing) == (1, 1, 0)


def test_missing_pushes_are_counted_and_do_not_come_back() -> None:
    store = Store()
    store.push(push(1, counters=[sample(FRAMES_LATE, 1)]))

    store.push(push(4, counters=[sample(FRAMES_LATE, 4)]))
    store.push(push(3))

    epoch = only_epoch(store)
    assert (epoch.sequence, epoch.pushes, epoch.duplicates, epoch.missing) == (4, 2, 1, 2)


def test_pushes_before_the_aggregators_start_are_missing() -> None:
    store = Store()

    store.push(push(8, counters=[sample(FRAMES_LATE, 80)]))

    assert only_epoch(store).missing == 7
    assert only_counter(store).value == 80


def test_series_of_sources_and_runs_are_apart() -> None:
    store = Store()

    store.push(push(1, source="sender-0", counters=[sample(FRAMES_LATE, 1)]))
    store.push(push(1, source="sender-1", counters=[sample(FRAMES_LATE, 2)]))
    store.push(push(1, source="sender-1", run_id="r2", epoch_unix_ns=EPOCH + 1, counters=[sample(FRAMES_LATE, 3)]))

    assert [(series_id.source, series_id.run_id) for series_id, _ in store.series()] == [
        ("sender-0", "r1"),
        ("sender-1", "r1"),
        ("sender-1", "r2"),
    ]


def test_a_counter_goes_on_over_a_restart_of_its_source() -> None:
    store = Store()

    store.push(push(1, counters=[sample(FRAMES_LATE, 10)]))
    store.push(push(2, counters=[sample(FRAMES_LATE, 12)]))
    store.push(push(1, epoch_unix_ns=EPOCH + 9 * SECOND, counters=[sample(FRAMES_LATE, 5)]))

    assert only_counter(store).value == 17


def test_a_counter_never_goes_back() -> None:
    store = Store()

    store.push(push(1, counters=[sample(CPU, 10)]))
    store.push(push(2, counters=[sample(CPU, 8)]))
    store.push(push(3, counters=[sample(CPU, 11)]))

    assert only_counter(store).value == 11


def test_a_gauge_is_the_newest_value_of_the_newest_process() -> None:
    store = Store()

    store.push(push(1, gauges=[sample(JOB_BATCH, 4)]))
    store.push(push(1, epoch_unix_ns=EPOCH + SECOND, gauges=[sample(JOB_BATCH, -1)]))
    store.push(push(2, gauges=[sample(JOB_BATCH, 5)]))

    assert only_gauge(store).value == -1


def test_growth_of_missing_pushes_is_spread_over_their_time() -> None:
    store = Store()
    for sequence in (1, 2, 12):
        store.push(push(sequence, counters=[sample(FRAMES_LATE, sequence * 100)]))

    assert list(only_counter(store).history)[-1] == (EPOCH + 2 * SECOND, EPOCH + 12 * SECOND, 1_000.0)


def test_history_before_the_aggregators_start_is_no_sudden_rate() -> None:
    store = Store()

    store.push(push(100, counters=[sample(FRAMES_LATE, 10_000)]))

    assert list(only_counter(store).history) == [(EPOCH, EPOCH + 100 * SECOND, 10_000.0)]


def test_older_intervals_become_fewer_and_the_total_stays() -> None:
    store = Store()
    for sequence in range(1, 1_101):
        store.push(push(sequence, histograms=[histogram(SEND_LAG, [sequence])]))

    series = only_histogram(store)

    intervals = list(series.history)
    assert len(intervals) == 920
    assert (intervals[0].exact.count, intervals[0].exact.max_us) == (10, 10)
    assert (intervals[-1].exact.count, intervals[-1].exact.max_us) == (1, 1_100)
    assert sum(interval.exact.count for interval in intervals) == series.merged.count == 1_100


def test_histories_of_a_day_of_200_series_stay_within_the_bound() -> None:
    bound = 2_000_000
    store = Store(history_bytes_max=bound)
    wide = np.unique(np.geomspace(1, 3_000_000, 300).astype(np.int64)).tolist()
    histograms = [histogram(ACKNOWLEDGE, wide), histogram(SEND_LAG, wide), histogram(FRAME_DELAY, wide)]
    numbers = range(98)
    highest = 0

    for step in range(1, 289):  # five minutes each
        request = push(step, histograms=histograms)
        request.counters.extend(sample(FRAMES_SENT, step * 300, topic="orders", partition=str(n)) for n in numbers)
        request.counters.extend(sample(MESSAGES_SENT, step * 300, topic="orders", partition=str(n)) for n in numbers)
        request.start_unix_ns, request.end_unix_ns = EPOCH + (step - 1) * 300 * SECOND, EPOCH + step * 300 * SECOND
        store.push(request)
        highest = max(highest, store.history_bytes)

    assert len(store) == 199
    assert bound / 2 < highest <= bound
    (run,) = store.runs()
    assert run.resolution.level >= 3
    assert run.held.bytes == sum(bytes_of(each) for _, series in store.series() for each in series.history)
    for _, series in store.series():
        if isinstance(series, HistogramSeries):
            assert series.merged.count == sum(interval.exact.count for interval in series.history) == 288 * len(wide)
        elif isinstance(series, CounterSeries):
            assert series.value == sum(point.value for point in series.history) == 288 * 300


def test_series_that_fell_silent_grow_old_with_their_run() -> None:
    store = Store()
    store.push(push(1, histograms=[histogram(SEND_LAG, [5])], counters=[sample(CPU, 1)]))
    for sequence in range(2, 122):
        request = push(sequence, counters=[sample(CPU, sequence)])
        request.start_unix_ns, request.end_unix_ns = (
            EPOCH + 900 * number * SECOND for number in (sequence - 1, sequence)
        )
        store.push(request)

    silent = next(series for series_id, series in store.series() if series_id.name == SEND_LAG.name)

    assert isinstance(silent, HistogramSeries)
    assert (silent.merged.count, list(silent.history)) == (1, [])


def test_history_that_cannot_become_coarser_loses_its_oldest_intervals_but_no_total() -> None:
    store = Store(history_bytes_max=4_000)
    for sequence in range(1, 200):
        store.push(push(sequence, histograms=[histogram(SEND_LAG, list(range(sequence * 40, sequence * 40 + 40)))]))

    series = only_histogram(store)

    assert store.history_bytes <= 4_000
    assert store.runs()[0].held.dropped > 0
    assert series.merged.count == 199 * 40


def envelope(**fields: int | str) -> PushRequest:
    request = push(1)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def other_digits() -> IntervalHistogram:
    wrong = histogram(SEND_LAG, [5])
    other = HdrHistogram(1, 3_600_000_000, 2, word_size=8, b64_wrap=False)
    other.record_value(5)
    wrong.encoded = other.encode()
    return wrong


def changed(**fields: int | bytes) -> IntervalHistogram:
    wrong = histogram(SEND_LAG, [5, 6])
    for name, value in fields.items():
        setattr(wrong, name, value)
    return wrong


WRONG: Mapping[str, Callable[[], PushRequest]] = {
    "source is empty": lambda: envelope(source=""),
    "source has 201 characters": lambda: envelope(source="s" * 201),
    "'; use letters, digits, .*, at most 100": lambda: envelope(run_id="r" * 101),
    "epoch_unix_ns=0": lambda: envelope(epoch_unix_ns=0),
    "sequence=0": lambda: envelope(sequence=0),
    "ends 1 ns before it starts": lambda: envelope(start_unix_ns=EPOCH + 1, end_unix_ns=EPOCH),
    "count=3 is not the sum of the buckets, 2": lambda: push(1, histograms=[changed(count=3)]),
    "cannot be decompressed": lambda: push(1, histograms=[changed(encoded=b"nonsense")]),
    "with 2 digits": lambda: push(1, histograms=[other_digits()]),
    "min=6 is not in the first bucket": lambda: push(1, histograms=[changed(min=6)]),
    "max=9 is not in the last bucket": lambda: push(1, histograms=[changed(max=9)]),
    "'made_up' is no registered metric": lambda: push(1, gauges=[Sample(key=SeriesKey(name="made_up"))]),
    "was pushed as a gauge; it is a counter": lambda: push(1, gauges=[sample(FRAMES_LATE, 1)]),
    r"with the labels \[\]; it has \['phase'\]": lambda: push(1, counters=[sample(ALERTS, 1)]),
    r"with the labels \['host'\]; it has \[\]": lambda: push(1, counters=[sample(FRAMES_LATE, 1, host="a")]),
    "phase has 201 characters": lambda: push(1, counters=[sample(ALERTS, 1, phase="p" * 201)]),
    "total=nan": lambda: push(1, counters=[sample(FRAMES_LATE, float("nan"))]),
    "bytes=-inf; a gauge": lambda: push(1, gauges=[sample(MEMORY, float("-inf"))]),
    "total=inf": lambda: push(1, counters=[sample(FRAMES_LATE, float("inf"))]),
    "total=-1.0": lambda: push(1, counters=[sample(FRAMES_LATE, -1)]),
    "stands twice": lambda: push(1, counters=[sample(FRAMES_LATE, 1), sample(FRAMES_LATE, 2)]),
}


@pytest.mark.parametrize(("message", "make"), WRONG.items(), ids=list(WRONG))
def test_a_wrong_push_is_refused_whole(message: str, make: Callable[[], PushRequest]) -> None:
    store = Store()
    wrong = make()
    wrong.histograms.append(histogram(END_TO_END, [1], phase="measured"))

    with pytest.raises(UsageError, match=message):
        store.push(wrong)

    assert len(store) == 0
    assert store.runs() == []
    assert store.refused == 1


def test_a_refused_push_may_be_followed_by_its_next() -> None:
    store = Store()
    with pytest.raises(UsageError):
        store.push(push(1, counters=[sample(FRAMES_LATE, -1)]))

    store.push(push(2, counters=[sample(FRAMES_LATE, 2)]))

    assert only_epoch(store).missing == 1


def held(store: Store) -> list[tuple[str, str]]:
    return [(series_id.run_id, series_id.name) for series_id, _ in store.series()]


def test_run_that_was_silent_for_longest_makes_room() -> None:
    store = Store(series_max=3)
    store.push(push(1, run_id="r1", counters=[sample(FRAMES_LATE, 1)]))
    store.push(push(1, run_id="r2", epoch_unix_ns=EPOCH + 1, counters=[sample(FRAMES_LATE, 1), sample(CPU, 1)]))
    store.push(push(2, run_id="r1", counters=[sample(FRAMES_LATE, 2)]))

    store.push(push(1, run_id="r3", epoch_unix_ns=EPOCH + 2, counters=[sample(FRAMES_LATE, 3)]))

    assert held(store) == [("r1", FRAMES_LATE.name), ("r3", FRAMES_LATE.name)]
    assert (store.evicted, store.refused) == (2, 0)


def test_as_many_runs_make_room_as_must() -> None:
    store = Store(series_max=3)
    for number in range(3):
        store.push(push(1, run_id=f"r{number}", epoch_unix_ns=EPOCH + number, counters=[sample(FRAMES_LATE, 1)]))

    store.push(push(1, run_id="new", epoch_unix_ns=EPOCH + 9, counters=[sample(FRAMES_LATE, 1), sample(CPU, 1)]))

    assert {run_id for run_id, _ in held(store)} == {"r2", "new"}
    assert store.evicted == 2


def test_pushing_run_does_not_make_room_for_itself() -> None:
    store = Store(series_max=2)
    store.push(push(1, run_id="r1", counters=[sample(FRAMES_LATE, 1)]))
    store.push(push(1, run_id="r2", epoch_unix_ns=EPOCH + 1, counters=[sample(FRAMES_LATE, 1)]))

    store.push(push(2, run_id="r1", counters=[sample(FRAMES_LATE, 2), sample(CPU, 1)]))

    assert held(store) == [("r1", CPU.name), ("r1", FRAMES_LATE.name)]
    assert {series_id.name: series.value for series_id, series in store.series()}[FRAMES_LATE.name] == 2  # type: ignore[union-attr]


def test_evicted_run_comes_back_with_its_counters_whole() -> None:
    store = Store(series_max=1)
    store.push(push(1, run_id="r1", counters=[sample(FRAMES_LATE, 10)]))
    store.push(push(1, run_id="r2", epoch_unix_ns=EPOCH + 1, counters=[sample(FRAMES_LATE, 1)]))

    store.push(push(2, run_id="r1", counters=[sample(FRAMES_LATE, 12)]))

    assert (held(store), only_counter(store).value) == ([("r1", FRAMES_LATE.name)], 12)
    assert store.evicted == 2


def test_evictions_are_exposed() -> None:
    store = Store(series_max=1)
    for number in range(4):
        store.push(push(1, run_id=f"r{number}", epoch_unix_ns=EPOCH + number, counters=[sample(FRAMES_LATE, 1)]))

    values = {series.metric.name: series.value for series in exposed_series(store, EPOCH)}

    assert values["market_spread_aggregator_series_evicted_total"] == 3
    assert aggregator_view(store)["series_evicted"] == 3


def test_run_that_alone_exceeds_the_bound_is_refused_and_evicts_nothing() -> None:
    store = Store(series_max=2)
    store.push(push(1, run_id="r2", epoch_unix_ns=EPOCH + 1, counters=[sample(FRAMES_LATE, 1)]))
    three = [sample(FRAMES_LATE, 1), sample(CPU, 1), sample(ALERTS, 1, phase="measured")]

    with pytest.raises(
        UsageError, match=r"^the run 'r1' has 3 series with this push and the aggregator takes at most 2"
    ):
        store.push(push(1, counters=three))

    assert held(store) == [("r2", FRAMES_LATE.name)]
    assert (store.evicted, store.refused) == (0, 1)


def test_series_of_one_run_beyond_the_bound_are_refused() -> None:
    store = Store(series_max=2)
    store.push(push(1, counters=[sample(FRAMES_LATE, 1), sample(ALERTS, 1, phase="measured")]))

    with pytest.raises(
        UsageError, match="'r1' has 3 series with this push and the aggregator takes at most 2; push fewer labels"
    ):
        store.push(push(2, counters=[sample(FRAMES_LATE, 2), sample(ALERTS, 1, phase="warm_up")]))

    store.push(push(3, counters=[sample(FRAMES_LATE, 3), sample(ALERTS, 2, phase="measured")]))
    assert len(store) == 2


def test_epochs_beyond_the_bound_are_refused() -> None:
    store = Store()
    for number in range(2_000):
        store.push(push(1, epoch_unix_ns=EPOCH + number))

    with pytest.raises(UsageError, match="knows 2000 starts of processes"):
        store.push(push(1, epoch_unix_ns=EPOCH + 2_000))

    store.push(push(2, epoch_unix_ns=EPOCH))
    assert store.runs()[0].epochs["sender-0", EPOCH].sequence == 2


def test_what_the_source_says_about_its_clock_and_drops_is_kept() -> None:
    store = Store()
    request = push(1)
    request.clock_error_us, request.clock_synchronised, request.pushes_dropped = 250, True, 3

    store.push(request)

    epoch = only_epoch(store)
    assert (epoch.clock_error_us, epoch.clock_synchronised, epoch.pushes_dropped) == (250, True, 3)
