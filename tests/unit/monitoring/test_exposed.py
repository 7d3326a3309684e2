"""What the aggregator shows of itself and of the sources that push to it."""

from typing import Any

import numpy as np
import pytest

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.exposition import ExposedSeries
from market_spread.common.telemetry.metrics import END_TO_END, FRAMES_LATE, FRAMES_SENT, STAGE, Metric
from market_spread.common.telemetry.recorder import interval_histogram
from market_spread.metrics_aggregator import prometheus_view as exposed
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import exposed_series
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import IntervalHistogram, Judgement, NoteRequest, PushRequest, Sample, SeriesKey
from tests.support.clock import ManualClock
from tests.support.own_metrics import OWN_METRICS

SECOND_NS = 1_000_000_000
START_NS = 1_700_000_000 * SECOND_NS
NOW_NS = START_NS + 20 * SECOND_NS
OF_JOB = {"source": "job", "run_id": "r1"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(unix_ns=START_NS + 2 * SECOND_NS)


@pytest.fixture
def store(clock: ManualClock) -> Store:
    return Store(clock=clock)


def push(sequence: int = 1, *, epoch: int = 0, **changes: object) -> PushRequest:
    """A second of the job, the sequence's; `epoch` tells its starts apart."""
    fields: dict[str, object] = {
        "source": "job",
        "run_id": "r1",
        "epoch_unix_ns": START_NS + epoch,
        "sequence": sequence,
        "start_unix_ns": START_NS + (sequence - 1) * SECOND_NS,
        "end_unix_ns": START_NS + sequence * SECOND_NS,
        "counters": [Sample(key=SeriesKey(name="market_spread_job_restarts_total"), value=0)],
        "clock_error_us": 250,
        "clock_synchronised": True,
        **changes,
    }
    return PushRequest(**fields)  # type: ignore[arg-type]


def interval(*values_us: int, metric: Metric = END_TO_END, **labels: str) -> IntervalHistogram:
    values = HdrCounts()
    values.record(np.array(values_us, np.int64))
    return interval_histogram(metric, values, **{"phase": "measured", **labels})


def limits_note(limits: RunLimits) -> NoteRequest:
    return NoteRequest(run_id="r1", unix_ns=START_NS, kind="limits", name="quick", limits=limits)


def verdict_note(*failed: FailedCheck, **said: Any) -> NoteRequest:
    judgement = Judgement(failed=failed, **said)
    return NoteRequest(run_id="r1", unix_ns=NOW_NS, kind="verdict", name="void", judgement=judgement)


def frames(sequence: int = 1, *, sent: int, late: int) -> PushRequest:
    """A second of the sender; counters since its start."""
    labels = {"topic": "orders", "partition": "0"}
    counters = [
        Sample(key=SeriesKey(name=FRAMES_SENT.name, labels=labels), value=sent),
        Sample(key=SeriesKey(name=FRAMES_LATE.name), value=late),
    ]
    return push(sequence, source="sender", counters=counters)


def shown(store: Store, metric: Metric) -> list[ExposedSeries]:
    return [series for series in exposed_series(store, NOW_NS) if series.metric == metric]


def value(store: Store, metric: Metric) -> float | HdrCounts:
    (series,) = shown(store, metric)
    return series.value


def test_a_source_shows_its_newest_push_and_its_clock(store: Store) -> None:
    store.push(push(1))
    store.push(push(2, clock_error_us=300))

    assert shown(store, exposed.LAST_PUSH) == [ExposedSeries(exposed.LAST_PUSH, OF_JOB, 1_700_000_002.0)]
    assert value(store, exposed.CLOCK_ERROR) == 0.0003
    assert value(store, exposed.CLOCK_SYNCHRONISED) == 1.0
    assert value(store, exposed.PUSHES) == 2


def test_an_unknown_clock_error_is_not_shown_as_a_number(store: Store) -> None:
    store.push(push(clock_error_us=-1, clock_synchronised=False))

    assert shown(store, exposed.CLOCK_ERROR) == []
    assert value(store, exposed.CLOCK_SYNCHRONISED) == 0.0


def test_starts_of_a_process_are_counted_and_its_losses_summed_over_them(store: Store) -> None:
    store.push(push(2, pushes_dropped=3))
    store.push(push(1, epoch=1, pushes_dropped=1))

    assert value(store, exposed.STARTS) == 2
    assert value(store, exposed.DROPPED) == 4
    assert value(store, exposed.MISSING) == 4, "more were dropped than are missing below the last: they came after it"


def test_a_run_shows_its_phase_and_what_it_is(store: Store) -> None:
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="title", name="quick: 20,000 messages/s"))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS + 1, kind="phase", name="measuring"))

    (series,) = shown(store, exposed.RUN_INFO)

    assert series.labels == {
        "run_id": "r1",
        "title": "quick: 20,000 messages/s",
        "phase": "measuring",
        "verdict": "",
        "cause": "",
        "outcome": "",
    }


def test_a_run_shows_its_verdict_and_its_cause_in_words(store: Store) -> None:
    store.note(verdict_note(cause="rig", outcome="void (rig)"))

    (series,) = shown(store, exposed.RUN_INFO)

    assert (series.labels["verdict"], series.labels["cause"], series.labels["outcome"]) == ("void", "rig", "void (rig)")


def test_pushes_that_are_missing_are_a_share_of_those_of_all_sources(store: Store) -> None:
    for sequence in (1, 2, 5):
        store.push(push(sequence))
    store.push(push(source="sender"))

    assert value(store, exposed.RUN_MISSING_SHARE) == 2 / 6


def test_times_below_zero_are_the_worst_stages_share_of_the_load_that_has_settled(store: Store) -> None:
    store.note(limits_note(RunLimits(settle_us=1_000_000)))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="phase", name="measuring"))
    of_stages = [interval(-5, 7, 7, 7, metric=STAGE, stage="ingest"), interval(-5, 7, metric=STAGE, stage="compute")]
    warm_up = interval(-5, metric=STAGE, stage="ingest", phase="warm_up")
    store.push(push(1, histograms=[interval(-5, metric=STAGE, stage="delivery")]))
    assert shown(store, exposed.RUN_NEGATIVE_SHARE) == []
    store.push(push(2, histograms=[*of_stages, warm_up]))

    assert value(store, exposed.RUN_NEGATIVE_SHARE) == 0.5
    store.note(NoteRequest(run_id="r1", unix_ns=NOW_NS, kind="phase", name="draining"))
    assert shown(store, exposed.RUN_NEGATIVE_SHARE) == []


def test_recent_values_are_those_of_intervals_that_ended_in_the_last_ten_seconds(store: Store) -> None:
    for sequence in (5, 10, 11, 20):
        store.push(push(sequence, histograms=[interval(1_000 * sequence)]))

    (series,) = shown(store, END_TO_END)

    assert isinstance(series.value, HdrCounts)
    assert (series.value.count, series.value.max_us) == (4, 20_000)
    assert series.recent is not None
    assert (series.recent.count, series.recent.min_us, series.recent.max_us) == (2, 11_000, 20_000)
    assert series.recent.sum_us == 31_000


def test_a_series_that_is_silent_for_ten_seconds_has_no_recent_values(store: Store) -> None:
    store.push(push(10, histograms=[interval(1_000)]))

    (series,) = shown(store, END_TO_END)

    assert series.recent is None


def test_what_belongs_to_no_run_is_no_run(store: Store) -> None:
    store.push(push(run_id=""))

    assert shown(store, exposed.RUN_INFO) == []


def test_the_aggregator_shows_itself(store: Store, clock: ManualClock) -> None:
    clock.sleep_ns(SECOND_NS // 2)
    store.push(push(2))

    pushes = value(store, exposed.PUSH)
    assert isinstance(pushes, HdrCounts)
    assert pushes.count == 1
    assert value(store, exposed.LAG) == 0.5
    assert value(store, exposed.SERIES) == 1
    assert value(store, exposed.HISTORY_LIMIT) == store.history_bytes_max
    assert value(store, exposed.UNWRITTEN) == 0
    memory = value(store, exposed.MEMORY)
    assert isinstance(memory, int)
    assert memory > 1_000_000


def test_every_own_metric_is_shown_with_the_labels_that_it_is_registered_with(store: Store) -> None:
    store.push(push(histograms=[interval(1_000), interval(1_000, metric=STAGE, stage="ingest")]))
    store.note(limits_note(RunLimits(
        late_us=1, late_share_max=0.1, settle_us=0, stall_us=1, latency_us_max={"max": 1}, rate_share_min=1, loss_max=0,
        stolen_share_max=0.1, missing_share_max=0.05, negative_share_max=0.001,
    )))  # fmt: skip
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="phase", name="measuring"))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="event", name="planned fault", text="kill of the job"))
    store.push(frames(sent=100, late=1))

    seen = {series.metric: set(series.labels) for series in exposed_series(store, NOW_NS)}
    store.note(verdict_note(FailedCheck(check="late_generator", text="the generator was late", cause="rig")))
    seen |= {series.metric: set(series.labels) for series in exposed_series(store, NOW_NS)}

    assert {metric: seen.get(metric) for metric in OWN_METRICS} == {
        metric: set(metric.labels) for metric in OWN_METRICS
    }


def test_limits_are_shown_as_they_were_said_and_others_not_at_all(store: Store) -> None:
    store.push(push())
    store.note(limits_note(RunLimits(late_us=250_000, loss_max=0, latency_us_max={"p99": 300_000, "max": 2_000_000})))

    limits = {name: metric for name, (metric, _) in exposed.LIMITS.items()}
    assert value(store, limits["late_us"]) == 0.25
    assert value(store, limits["loss_max"]) == 0
    assert [(series.labels["q"], series.value) for series in shown(store, exposed.LIMIT_LATENCY)] == [
        ("1", 2.0),
        ("0.99", 0.3),
    ]
    for absent in ("late_share_max", "stall_us", "rate_share_min", "stolen_share_max"):
        assert shown(store, limits[absent]) == []


def test_late_frames_are_a_share_of_the_measured_load_alone(store: Store) -> None:
    store.push(frames(1, sent=1_000, late=900))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS + SECOND_NS, kind="phase", name="measuring"))
    store.push(frames(2, sent=2_000, late=910))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS + 2 * SECOND_NS, kind="phase", name="draining"))
    store.push(frames(3, sent=2_500, late=1_410))

    assert value(store, exposed.RUN_LATE_SHARE) == 0.01
    assert shown(store, exposed.RUN_MEASURING) == []


def test_latency_that_has_a_limit_is_of_the_load_that_has_settled(store: Store) -> None:
    store.note(limits_note(RunLimits(settle_us=2_000_000, latency_us_max={"max": 50_000, "p50": 20_000})))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="phase", name="measuring"))
    for sequence, value_us in ((1, 900_000), (2, 800_000), (3, 10_000), (4, 11_000)):
        store.push(push(sequence, histograms=[interval(value_us)]))

    (series,) = shown(store, exposed.RUN_LATENCY)  # two values are too few for a median

    assert (series.labels, series.value) == ({"run_id": "r1", "q": "1"}, 0.011)
    assert value(store, exposed.RUN_MEASURING) == START_NS / 1e9
    store.note(verdict_note())
    assert shown(store, exposed.RUN_LATENCY) == []


def test_a_verdict_shows_what_failed_and_whose_doing_it_is(store: Store) -> None:
    store.note(verdict_note(FailedCheck(check="missing", text="3 alerts are missing", cause="system")))

    (series,) = shown(store, exposed.RUN_FAILED)

    assert series.labels == {"run_id": "r1", "check": "missing", "cause": "system"}


def test_planned_faults_are_shown_with_the_time_at_which_each_began(store: Store) -> None:
    for second in (3, 1):
        at_ns = START_NS + second * SECOND_NS
        store.note(NoteRequest(run_id="r1", unix_ns=at_ns, kind="event", name="planned fault", text="kill of the job"))
    store.note(NoteRequest(run_id="r1", unix_ns=START_NS, kind="event", name="query restarted", text="again"))

    found = {series.labels["fault"]: series.value for series in shown(store, exposed.RUN_FAULT)}

    assert found == {f"{at}: kill of the job": START_NS / 1e9 + second for at, second in ((1, 1), (2, 3))}


@pytest.mark.parametrize(("hosts", "shown_hosts"), [(("a", "a"), 1), (("a", "b"), 2), (("", ""), 0), (("a", ""), 1)])
def test_hosts_are_those_that_are_known(store: Store, hosts: tuple[str, str], shown_hosts: int) -> None:
    for source, host in zip(("job", "sender"), hosts, strict=True):
        store.push(push(source=source, host=host))

    assert value(store, exposed.RUN_HOSTS) == shown_hosts
