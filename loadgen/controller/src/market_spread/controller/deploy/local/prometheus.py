"""Prometheus beside the processes: what it is to read of them, as the configuration that it is started with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SCRAPE_INTERVAL_S = 5
# Beside the code in a checkout; what is installed without one is scraped without rules.
RULES = Path(__file__).parents[7] / "charts" / "monitoring" / "rules"


@dataclass(frozen=True, slots=True)
class Targets:
    """Where Prometheus finds metrics, each host and port. jobs: Spark's UI of each replica."""

    aggregator: str
    broker: str
    jobs: tuple[str, ...]


def write_configuration(folder: Path, targets: Targets, *, rules: Path = RULES) -> Path:
    """Write prometheus.yml into the folder, with the rules of that folder if it exists; its path."""
    configuration: dict[str, Any] = {
        "global": {
            "scrape_interval": f"{SCRAPE_INTERVAL_S}s",
            "scrape_timeout": f"{SCRAPE_INTERVAL_S}s",
            "evaluation_interval": f"{SCRAPE_INTERVAL_S}s",
        },
        "rule_files": [str(rules / "*.yaml")] if rules.is_dir() else [],
        "scrape_configs": [
            _scrape("market-spread-aggregator", (targets.aggregator,)),
            _scrape("market-spread-kafka", (targets.broker,)),
            # Spark shows each gauge by two names.
            _scrape("market-spread-spark", targets.jobs, "/metrics/prometheus/")
            | {"metric_relabel_configs": [_drop("metrics_spark_.+_Value")]},
            _scrape("market-spread-spark-executors", targets.jobs, "/metrics/executors/prometheus"),
        ],
    }
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(configuration, sort_keys=False))
    return path


def how_to_watch(configuration: Path) -> str:
    """What to tell the user of it, in a line."""
    return f"for Prometheus: prometheus --config.file={configuration}"


def _scrape(job: str, targets: tuple[str, ...], path: str = "/metrics") -> dict[str, Any]:
    return {"job_name": job, "metrics_path": path, "static_configs": [{"targets": list(targets)}]}


def _drop(names: str) -> dict[str, Any]:
    return {"source_labels": ["__name__"], "regex": names, "action": "drop"}
