"""Every metric that a scrape may show, as Prometheus's own linter sees it."""

import numpy as np
import pytest

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.exposition import ExposedSeries, exposition
from market_spread.common.telemetry.metrics import METRICS, MetricKind
from tests.support.own_metrics import HOST_TUNER_METRICS, OWN_METRICS
from tests.unit.monitoring.monitoring_fixtures import promtool


@pytest.mark.promtool
def test_names_units_and_labels_follow_the_conventions_of_prometheus() -> None:
    values = HdrCounts()
    values.record(np.arange(100_000, dtype=np.int64))
    pushed = [(metric, (*metric.labels, "source", "run_id")) for metric in METRICS.values()]
    own = [(metric, metric.labels) for metric in (*OWN_METRICS, *HOST_TUNER_METRICS)]
    exposed = exposition(
        ExposedSeries(metric, dict.fromkeys(labels, "x"), values, values)
        if metric.kind is MetricKind.HISTOGRAM
        else ExposedSeries(metric, dict.fromkeys(labels, "x"), 1.0)
        for metric, labels in (*pushed, *own)
    )

    checked = promtool("check", "metrics", stdin=exposed)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert exposed.count(b"# TYPE ") > 60
