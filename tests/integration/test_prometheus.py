"""A real Prometheus that reads a real run: every query and every rule has data, and counts are exact."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml

from market_spread.common.hdr.histogram import latency_summary_ns, lowest_values
from market_spread.common.telemetry.exposition import EDGES_US, quantile_name
from market_spread.common.telemetry.metrics import END_TO_END
from market_spread.controller.deploy.local.broker import free_port
from tests.support.aggregators import histogram_of
from tests.support.waiting import eventually
from tests.unit.monitoring.monitoring_fixtures import (
    DASHBOARDS,
    Shown,
    alerts,
    dashboard,
    marks,
    metrics_in,
    program,
    queries,
    rules,
)

COMMAND = str(Path(sys.executable).with_name("market-spread"))
SMALL = Path(__file__).parent / "workloads" / "small.yaml"
START_S, RUN_S = 120.0, 180.0
# Alerts by which rates have a window full of samples, and Spark's query has progress to show.
SAMPLES = 2_500
TARGETS = {
    *("market-spread-aggregator", "market-spread-kafka", "market-spread-spark", "market-spread-spark-executors"),
    "node",
}
# Of a board's annotations, those that a run without a fault has.
OF_ANY_RUN = {"Phases", "Batch boundaries"}
# Nothing that a run without a fault could have.
NEVER = {"market_spread_receiver_invalid_total"}
# The workload sets limits of its own, wide ones: what is compared with them has data, and nothing is above.
LIMITS = "slo: {p50_ms: 50000, p99_ms: 60000, max_ms: 70000, rate_share: 0.1, loss: 1000}\n"
JUDGING = "MarketSpreadLatencyAboveLimit|MarketSpreadFramesLate|MarketSpreadLagGrows|MarketSpreadClockNotSynchronised"
LE = {repr((edge_us - 1) / 1e6): edge_us for edge_us in EDGES_US}

pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Watched:
    """A run that Prometheus has read. at: Unix seconds when it was in full swing."""

    folder: Path
    prometheus: str
    aggregator: str
    said: Path
    at: float

    def query(self, expr: str, *, at: float | None = None) -> list[dict[str, Any]]:
        """The series that the expression gives, at `at` or now."""
        parameters = {"query": expr} if at is None else {"query": expr, "time": str(at)}
        answer = httpx.get(f"{self.prometheus}/api/v1/query", params=parameters, timeout=30)
        found: dict[str, Any] = answer.json()
        assert found["status"] == "success", f"{expr}: {found.get('error')}"
        if found["data"]["resultType"] == "scalar":
            return [{"value": found["data"]["result"]}]
        series: list[dict[str, Any]] = found["data"]["result"]
        return series

    def scraped_at(self) -> float:
        """When the aggregator was last scraped, as Unix seconds."""
        (found,) = self.query('timestamp(up{job="market-spread-aggregator"})')
        return float(found["value"][1])

    def substituted(self, expr: str) -> str:
        """A dashboard's query as Grafana would send it."""
        values = {"run": self.folder.name, "instance": ".+", "topic": ".+"}
        values |= {"__rate_interval": "20s", "__interval": "5s"}
        sent = re.sub(r"\$(\w+)", lambda found: values[found[1]], expr)
        # A run here is shorter than a minute, and may lie between two of those at which a week is looked at.
        return sent.replace("[7d:1m]", "[7d:5s]")


def wait(
    what: str, condition: Callable[[], bool], within_s: float, alive: "subprocess.Popen[bytes]", log: Path
) -> None:
    def said() -> str:
        return log.read_text()[-2000:]

    def check() -> None:
        assert alive.poll() is None, f"{alive.args!r} has ended: {said()}"

    eventually(what, condition, within_s=within_s, check=check, detail=said)


@contextmanager
def started(log: Path, *command: object) -> Iterator["subprocess.Popen[bytes]"]:
    """A process until the end of the body; all that it says goes to the log."""
    with log.open("wb") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def configuration_for_tests(shipped: Path, folder: Path, node_exporter: str) -> Path:
    """What the run has written, with a scrape every 3 s and the host beside it."""
    configuration = yaml.safe_load(shipped.read_text())
    # Time enough for a broker's agent that is asked first while other JVMs compile.
    configuration["global"] = dict.fromkeys(configuration["global"], "3s")
    configuration["scrape_configs"].append({"job_name": "node", "static_configs": [{"targets": [node_exporter]}]})
    path = folder / "prometheus-of-the-test.yml"
    path.write_text(yaml.safe_dump(configuration))
    return path


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    prometheus = program("prometheus", "prometheus")
    node_exporter = program("prometheus-node-exporter", "prometheus-node-exporter")
    folder, runs = tmp_path_factory.mktemp("prometheus"), tmp_path_factory.mktemp("runs")
    said, log, node_log = folder / "run.log", folder / "prometheus.log", folder / "node_exporter.log"
    node_address, address = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    workload = folder / "limited.yaml"
    workload.write_text(SMALL.read_text() + LIMITS)
    run_command = (COMMAND, "run", workload, "--monitored", "--keep", "--duration", 40, "--runs-folder", runs)
    with (
        started(node_log, node_exporter, f"--web.listen-address={node_address}"),
        started(said, *run_command) as run,
    ):
        wait("the configuration is written", lambda: any(runs.glob("*/prometheus.yml")), START_S, run, said)
        (shipped,) = runs.glob("*/prometheus.yml")
        told = yaml.safe_load(shipped.read_text())["scrape_configs"]
        (aggregator,) = (
            config["static_configs"][0]["targets"][0]
            for config in told
            if config["job_name"] == "market-spread-aggregator"
        )
        command = (
            prometheus,
            f"--config.file={configuration_for_tests(shipped, folder, node_address)}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--log.level=warn",
        )
        with started(log, *command) as server:
            base = f"http://{address}"
            wait("Prometheus is ready", lambda: answers(f"{base}/-/ready"), 60, server, log)
            early = Watched(shipped.parent, base, f"http://{aggregator}", said, at=0.0)
            wait("alerts are measured", lambda: measured(early) > SAMPLES, RUN_S, run, said)
            wait("everything is scraped", lambda: scraped(early) == TARGETS, RUN_S, run, said)
            yield Watched(shipped.parent, base, f"http://{aggregator}", said, at=time.time())


def answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def measured(watched: Watched) -> float:
    found = watched.query('sum(market_spread_receiver_end_to_end_seconds_count{phase="measured"})')
    return float(found[0]["value"][1]) if found else 0.0


def scraped(watched: Watched) -> set[str]:
    """The targets of which a rate over the last 30 s has values enough."""
    return {series["metric"]["job"] for series in watched.query("sum_over_time(up[30s]) >= 3")}


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
def test_phases_and_boundaries_are_marked_and_nothing_else(shown: Shown, watched: Watched) -> None:
    found = watched.query(f"max_over_time(({watched.substituted(shown.expr)})[5m:5s])", at=watched.at)

    # A machine that is busy may well have an alert that is a hint.
    assert bool(found) == (shown.panel in OF_ANY_RUN) or shown.panel == "Alerts", found


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
    wait_for_the_end(watched)

    pushed = counted_by_the_aggregator(watched)
    buckets = watched.query('{__name__=~"market_spread_.+_bucket"}')
    scraped = {labels_of(series): int(series["value"][1]) for series in buckets}

    assert len(pushed) >= 10 * (len(LE) + 1)
    assert {labels: scraped.get(labels) for labels in pushed} == pushed
    assert max(pushed.values()) > SAMPLES


def test_exact_quantiles_in_prometheus_are_those_of_the_aggregator(watched: Watched) -> None:
    wait_for_the_end(watched)

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


def wait_for_the_end(watched: Watched) -> None:
    judged = (watched.folder / "result.json").exists
    eventually("the run is judged", judged, within_s=RUN_S, detail=lambda: watched.said.read_text()[-2000:])
    ended_at = time.time()
    # What was pushed last is scraped.
    eventually("everything is scraped once more", lambda: watched.scraped_at() > ended_at + 1)


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
