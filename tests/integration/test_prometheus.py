"""A real Prometheus that reads a real run: every query and every rule has data, and counts are exact."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from market_spread.common.hdr.histogram import latency_summary_ns, lowest_values
from market_spread.common.telemetry.exposition import EDGES_US, quantile_name
from market_spread.common.telemetry.metrics import END_TO_END
from tests.support.aggregators import histogram_of
from tests.support.monitored_run import LIMITS, SAMPLES, TARGETS, Watched, monitored_run
from tests.unit.monitoring.monitoring_fixtures import (
    DASHBOARDS,
    Shown,
    alerts,
    dashboard,
    marks,
    metrics_in,
    queries,
    rules,
)

SMALL = Path(__file__).parent / "workloads" / "small.yaml"
# Short, and the only one: what it delays is within every limit.
FAULT = "faults: {recovers_within_s: 5, schedule: [{at_s: 5, do: stop, target: receiver, for_s: 0.2}]}\n"
# Of a board's annotations, those that such a run has.
OF_THE_RUN = {"Phases", "Batch boundaries", "Planned faults"}
# Nothing that a run whose parts are all right could have.
NEVER = {"market_spread_receiver_invalid_total"}
JUDGING = "MarketSpreadLatencyAboveLimit|MarketSpreadFramesLate|MarketSpreadLagGrows|MarketSpreadClockNotSynchronised"
LE = {repr((edge_us - 1) / 1e6): edge_us for edge_us in EDGES_US}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("prometheus")
    workload = folder / "limited.yaml"
    workload.write_text(SMALL.read_text() + LIMITS + FAULT)
    # Time enough between scrapes for a broker's agent that is asked first while other JVMs compile.
    with monitored_run(workload, folder, "--duration", 40, interval_s=3) as watched:
        yield watched


def test_the_run_says_how_to_watch_it(watched: Watched) -> None:
    said = watched.said.read_text()

    assert f"for Prometheus: prometheus --config.file={watched.folder / 'prometheus.yml'}" in said


def test_everything_is_scraped(watched: Watched) -> None:
    up = {series["metric"]["job"]: series["value"][1] for series in watched.query("up", at=watched.at)}

    assert up == dict.fromkeys(TARGETS, "1")


@pytest.mark.parametrize("shown", list(queries()), ids=lambda shown: f"{shown.board}: {shown.panel}")
def test_every_query_of_every_dashboard_has_data(shown: Shown, watched: Watched) -> None:
    found = watched.query(watched.substituted(shown.expr), at=watched.at)

    assert found, shown.expr


@pytest.mark.parametrize("shown", list(marks()), ids=lambda shown: f"{shown.board}: {shown.panel}")
def test_phases_boundaries_and_the_fault_are_marked_and_nothing_else(shown: Shown, watched: Watched) -> None:
    found = watched.query(f"max_over_time(({watched.substituted(shown.expr)})[5m:5s])", at=watched.at)

    # A machine that is busy may well have an alert that is a hint.
    assert bool(found) == (shown.panel in OF_THE_RUN) or shown.panel == "Alerts", found


def test_a_planned_fault_is_marked_at_the_moment_at_which_it_began(watched: Watched) -> None:
    watched.wait_for_the_end()

    (begun,) = watched.query(f'market_spread_run_fault_timestamp_seconds{{run_id="{watched.folder.name}"}}')

    (event,) = (
        event
        for event in json.loads((watched.folder / "result.json").read_text())["causes"]["events"]
        if event["kind"] == "fault"
    )
    assert begun["metric"]["fault"] == "1: stop of the receiver for 0.2 s"
    assert float(begun["value"][1]) * 1000 == pytest.approx(event["begin_unix_ms"], abs=1)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_variable_has_values(path: Path, watched: Watched) -> None:
    for variable in dashboard(path)["templating"]["list"]:
        if variable["type"] == "query":
            parts = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"])
            assert parts, variable["query"]
            assert watched.query(f'count by ({parts[2]}) ({parts[1]}{{{parts[2]}!=""}})', at=watched.at)


def test_every_rule_is_evaluated_without_an_error(watched: Watched) -> None:
    answer = httpx.get(f"{watched.prometheus}/api/v1/rules", timeout=30).json()

    evaluated = [rule for group in answer["data"]["groups"] for rule in group["rules"]]
    assert len(evaluated) == len(rules())
    assert [(rule["name"], rule.get("lastError")) for rule in evaluated if rule["health"] != "ok"] == []


def test_every_recording_rule_has_data(watched: Watched) -> None:
    recorded = [rule["record"] for rule in rules() if "record" in rule]

    assert [name for name in recorded if not watched.query(name, at=watched.at)] == []


# Those on the host tuner are about hosts of a cluster: promtool has tests of them.
@pytest.mark.parametrize("name", [name for name in alerts() if not name.startswith("MarketSpreadHost")])
def test_every_alert_is_about_something_that_is_there(name: str, watched: Watched) -> None:
    metrics = metrics_in(alerts()[name]["expr"]) - NEVER

    assert [metric for metric in metrics if not watched.query(f"count({metric})", at=watched.at)] == []


def test_what_the_workload_allows_is_no_alert(watched: Watched) -> None:
    assert watched.query(f'count_over_time(ALERTS{{alertname=~"{JUDGING}", alertstate="firing"}}[5m])') == []


def test_counts_in_prometheus_are_those_of_the_aggregator_to_the_last(watched: Watched) -> None:
    """After the run, when nothing changes any more: at every `le` of every histogram that was pushed."""
    watched.wait_for_the_end()

    pushed = counted_by_the_aggregator(watched)
    buckets = watched.query('{__name__=~"market_spread_.+_bucket"}')
    scraped = {labels_of(series): int(series["value"][1]) for series in buckets}

    assert len(pushed) >= 10 * (len(LE) + 1)
    assert {labels: scraped.get(labels) for labels in pushed} == pushed
    assert max(pushed.values()) > SAMPLES


def test_exact_quantiles_in_prometheus_are_those_of_the_aggregator(watched: Watched) -> None:
    watched.wait_for_the_end()

    gauges = watched.query(f'{quantile_name(END_TO_END)}{{run_id="{watched.folder.name}", phase="measured"}}')

    (measured,) = [
        series
        for series in histograms_of(watched)
        if series["name"] == END_TO_END.name and series["labels"]["phase"] == "measured"
    ]
    summary_ns = latency_summary_ns(histogram_of(measured["total"]))
    exact_ns = {name: value for name, value in summary_ns.items() if value is not None}
    scraped_ns = {shown_as(gauge["metric"]["q"]): round(float(gauge["value"][1]) * 1e9) for gauge in gauges}
    assert scraped_ns == exact_ns
    assert exact_ns.keys() >= {"p50", "p95", "p99", "max"}


def shown_as(quantile: str) -> str:
    """What the aggregator's API calls it."""
    return "max" if quantile == "1" else f"p{round(float(quantile) * 100, 4):g}"


def labels_of(series: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in series["metric"].items() if name not in ("job", "instance"))


def counted_by_the_aggregator(watched: Watched) -> dict[frozenset[tuple[str, str]], int]:
    """Of each histogram of the run, how many values are below each edge; from HdrHistogram's own buckets."""
    counts: dict[frozenset[tuple[str, str]], int] = {}
    for series in histograms_of(watched):
        merged = histogram_of(series["total"])
        used = np.flatnonzero(merged.counts)
        lowest, numbers = lowest_values(used), merged.counts[used]
        labels = {**series["labels"], "run_id": watched.folder.name, "__name__": f"{series['name']}_bucket"}
        for le, edge_us in LE.items():
            counts[frozenset({**labels, "le": le}.items())] = int(numbers[lowest < edge_us].sum())
        counts[frozenset({**labels, "le": "+Inf"}.items())] = merged.count
    return counts


def histograms_of(watched: Watched) -> list[dict[str, Any]]:
    """The run's histograms, as the aggregator serves them."""
    data = httpx.get(f"{watched.aggregator}/api/v1/runs/{watched.folder.name}/data", timeout=30).json()
    return [series for series in data["series"] if series["kind"] == "histogram"]
