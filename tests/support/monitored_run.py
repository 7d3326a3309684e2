"""A real run that a real Prometheus reads, with the rules and the configuration that ship, and the host beside it."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from market_spread.controller.deploy.local.broker import free_port
from tests.support.waiting import eventually
from tests.unit.monitoring.monitoring_fixtures import program

COMMAND = str(Path(sys.executable).with_name("market-spread"))
RUN_S = 180.0
# Alerts by which rates have a window full of samples, and Spark's query has progress to show.
SAMPLES = 2_500
TARGETS = {
    *("market-spread-aggregator", "market-spread-kafka", "market-spread-spark", "market-spread-spark-executors"),
    "node",
}
# What is compared with a limit of the workload has data, and as these are wide, nothing is above.
LIMITS = "slo: {p50_ms: 50000, p99_ms: 60000, max_ms: 70000, rate_share: 0.1, loss: 1000}\n"


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

    def is_judged(self) -> bool:
        """Whether the run has ended, with a verdict."""
        return (self.folder / "result.json").exists()

    def wait_for_the_end(self, *, within_s: float = RUN_S) -> None:
        """Until the run is judged, and what was pushed last is scraped."""
        eventually("the run is judged", self.is_judged, within_s=within_s, detail=lambda: self.said.read_text()[-2000:])
        ended_at = time.time()
        eventually("everything is scraped once more", lambda: self.scraped_at() > ended_at + 1)


@contextmanager
def monitored_run(
    workload: Path, folder: Path, *options: object, interval_s: int, within_s: float = RUN_S
) -> Iterator[Watched]:
    """A run from when all of it is measured and scraped until the end of the body; it goes on serving its metrics.

    interval_s: between two scrapes, and between two evaluations of the rules.
    """
    prometheus = program("prometheus", "prometheus")
    node_exporter = program("prometheus-node-exporter", "prometheus-node-exporter")
    runs = folder / "runs"
    said, log, node_log = folder / "run.log", folder / "prometheus.log", folder / "node_exporter.log"
    node_address, address = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    run_command = (COMMAND, "run", workload, "--monitored", "--keep", "--runs-folder", runs, *options)
    with (
        started(node_log, node_exporter, f"--web.listen-address={node_address}"),
        started(said, *run_command) as run,
    ):
        _wait("the configuration is written", lambda: any(runs.glob("*/prometheus.yml")), within_s, run, said)
        (shipped,) = runs.glob("*/prometheus.yml")
        told = yaml.safe_load(shipped.read_text())["scrape_configs"]
        (aggregator,) = (
            config["static_configs"][0]["targets"][0]
            for config in told
            if config["job_name"] == "market-spread-aggregator"
        )
        command = (
            prometheus,
            f"--config.file={_configuration(shipped, folder, node_address, interval_s)}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--log.level=warn",
        )
        with started(log, *command) as server:
            base = f"http://{address}"
            _wait("Prometheus is ready", lambda: answers(f"{base}/-/ready"), 60, server, log)
            early = Watched(shipped.parent, base, f"http://{aggregator}", said, at=0.0)
            _wait("alerts are measured", lambda: _measured(early) > SAMPLES, within_s, run, said)
            _wait("everything is scraped", lambda: _scraped(early) == TARGETS, within_s, run, said)
            yield Watched(shipped.parent, base, f"http://{aggregator}", said, at=time.time())


@contextmanager
def started(log: Path, *command: object) -> Iterator["subprocess.Popen[bytes]"]:
    """A process until the end of the body; all that it says goes to the log."""
    with log.open("wb") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()  # in the background of a shell, tests and what they start ignore SIGINT
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def answers(address: str) -> bool:
    """Whether a GET of it succeeds."""
    try:
        return httpx.get(address, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _wait(
    what: str, condition: Callable[[], bool], within_s: float, alive: "subprocess.Popen[bytes]", log: Path
) -> None:
    def said() -> str:
        return log.read_text()[-2000:]

    def check() -> None:
        assert alive.poll() is None, f"{alive.args!r} has ended: {said()}"

    eventually(what, condition, within_s=within_s, check=check, detail=said)


def _configuration(shipped: Path, folder: Path, node_exporter: str, interval_s: int) -> Path:
    """What the run has written, with other intervals and the host beside it."""
    configuration = yaml.safe_load(shipped.read_text())
    configuration["global"] = dict.fromkeys(configuration["global"], f"{interval_s}s")
    configuration["scrape_configs"].append({"job_name": "node", "static_configs": [{"targets": [node_exporter]}]})
    path = folder / "prometheus-of-the-test.yml"
    path.write_text(yaml.safe_dump(configuration))
    return path


def _measured(watched: Watched) -> float:
    found = watched.query('sum(market_spread_receiver_end_to_end_seconds_count{phase="measured"})')
    return float(found[0]["value"][1]) if found else 0.0


def _scraped(watched: Watched) -> set[str]:
    """The targets of which a rate over the last 30 s has values enough."""
    return {series["metric"]["job"] for series in watched.query("sum_over_time(up[30s]) >= 3")}
