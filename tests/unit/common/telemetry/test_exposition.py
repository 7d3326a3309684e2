"""The text that Prometheus scrapes."""

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.exposition import (
    EDGES_US,
    ExposedSeries,
    exposition,
    quantile_name,
)
from market_spread.common.telemetry.metrics import FRAMES_LATE, JOB_BATCH, METRICS, SEND_LAG, STAGE

LABELS = {"source": "sender-0", "run_id": "r1"}


def samples(*series: ExposedSeries) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = exposition(series).decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def histogram(*values_us: int) -> HdrCounts:
    recorded = HdrCounts()
    recorded.record(np.array(values_us, np.int64))
    return recorded


def bucket(found: dict[tuple[str, frozenset[tuple[str, str]]], float], le: str) -> float:
    return found[f"{SEND_LAG.name}_bucket", frozenset({**LABELS, "le": le}.items())]


def quantiles_named(found: dict[tuple[str, frozenset[tuple[str, str]]], float], metric: str) -> dict[str, float]:
    return {dict(labels)["q"]: value for (name, labels), value in found.items() if name == metric}


def test_there_are_41_edges_from_64_us_to_67_s() -> None:
    assert len(EDGES_US) == 41
    assert EDGES_US[:4] == (64, 96, 128, 192)
    assert EDGES_US[-2:] == (50_331_648, 67_108_864)


def test_buckets_are_cumulative_and_include_their_edge() -> None:
    found = samples(ExposedSeries(SEND_LAG, LABELS, histogram(0, 63, 64, 95, 96, 1_000_000, 90_000_000)))

    assert bucket(found, "6.3e-05") == 2
    assert bucket(found, "9.5e-05") == 4
    assert bucket(found, "0.000127") == 5
    assert bucket(found, "0.786431") == 5
    assert bucket(found, "1.048575") == 6
    assert bucket(found, "67.108863") == 6
    assert bucket(found, "+Inf") == 7


def test_every_bucket_equals_the_exact_count() -> None:
    values = np.random.default_rng(7).lognormal(8.5, 2.0, 20_000).astype(np.int64)
    recorded = HdrCounts()
    recorded.record(values)

    found = samples(ExposedSeries(SEND_LAG, LABELS, recorded))

    for edge_us in EDGES_US:
        assert bucket(found, repr((edge_us - 1) / 1e6)) == np.count_nonzero(values < edge_us)


def test_count_and_sum_are_exact_and_in_seconds() -> None:
    found = samples(ExposedSeries(SEND_LAG, LABELS, histogram(1_234_567, 1)))

    assert found[f"{SEND_LAG.name}_count", frozenset(LABELS.items())] == 2
    assert found[f"{SEND_LAG.name}_sum", frozenset(LABELS.items())] == pytest.approx(1.234568)


def test_quantiles_stand_only_where_values_are_enough() -> None:
    found = samples(ExposedSeries(SEND_LAG, LABELS, histogram(*range(1, 1001))))

    assert quantiles_named(found, quantile_name(SEND_LAG)) == {
        "0.5": 0.0005,
        "0.95": 0.00095,
        "0.99": 0.00099,
        "1": 0.001,
    }


def test_recent_values_have_quantiles_of_their_own() -> None:
    all_values, recent = histogram(*range(1, 1001)), histogram(*range(1, 21))

    found = samples(ExposedSeries(SEND_LAG, LABELS, all_values, recent))

    assert quantiles_named(found, quantile_name(SEND_LAG, recent=True)) == {"0.5": 0.00001, "1": 0.00002}
    assert quantiles_named(found, quantile_name(SEND_LAG))["0.5"] == 0.0005


def test_nothing_recent_shows_nothing() -> None:
    text = exposition([ExposedSeries(SEND_LAG, LABELS, histogram(1))]).decode()

    assert quantile_name(SEND_LAG, recent=True) not in text


def test_an_empty_histogram_has_zeros_and_no_quantile() -> None:
    found = samples(ExposedSeries(SEND_LAG, LABELS, HdrCounts()))

    assert bucket(found, "+Inf") == 0
    assert not [name for name, _ in found if name == quantile_name(SEND_LAG)]


def test_counters_and_gauges_keep_name_and_labels() -> None:
    found = samples(ExposedSeries(FRAMES_LATE, LABELS, 3.0), ExposedSeries(JOB_BATCH, LABELS, -1.0))

    assert found == {
        ("market_spread_sender_frames_late_total", frozenset(LABELS.items())): 3.0,
        ("market_spread_job_batch_id", frozenset(LABELS.items())): -1.0,
    }


def test_series_of_one_metric_are_one_family() -> None:
    first = ExposedSeries(STAGE, {**LABELS, "phase": "measured", "stage": "ingest"}, histogram(5))
    second = ExposedSeries(STAGE, {**LABELS, "phase": "measured", "stage": "compute"}, histogram(5))

    text = exposition([first, second]).decode()

    assert text.count(f"# TYPE {STAGE.name} histogram") == 1


def test_no_quantile_name_is_a_registered_name() -> None:
    names = {quantile_name(metric, recent=recent) for metric in METRICS.values() for recent in (False, True)}

    assert not names & METRICS.keys()
