"""Prometheus beside the processes: what it is to read of them, as the configuration that it is started with."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

SCRAPE_INTERVAL_S = 5
_CONFIGURATION = Path(__file__).with_name("prometheus.yml")
# Beside the code in a checkout; what is installed without one is scraped without rules.
RULES = Path(__file__).parents[7] / "charts" / "monitoring" / "rules"


@dataclass(frozen=True, slots=True)
class Targets:
    """Where Prometheus finds metrics, each host and port. jobs: Spark's UI of each replica."""

    aggregator: str
    broker: str
    jobs: tuple[str, ...]


def write_configuration(folder: Path, targets: Targets, *, rules: Path = RULES) -> Path:
    """Write prometheus.yml into the folder, with those rules if there are any; its path."""
    values = {
        "interval_s": SCRAPE_INTERVAL_S,
        "rules": json.dumps([str(rules / "*.yaml")] if rules.is_dir() else []),
        **asdict(targets),
        "jobs": json.dumps(targets.jobs),
    }
    path = folder / "prometheus.yml"
    path.write_text(_CONFIGURATION.read_text().format(**values))
    return path
