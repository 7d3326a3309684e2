"""Write what is generated from code: the dashboards, and references. `make generated` runs it.

With a folder, all of it goes there instead: dashboards/*.json, metrics.md, workloads.md and environment.md.
"""

import argparse
from pathlib import Path

import references
import yaml
from grafana import to_json

_MONITORING = Path(__file__).parents[1]


def main() -> None:
    """Write all of it."""
    parser = argparse.ArgumentParser(
        description="Write the dashboards, and the references of metrics, workloads and environment."
    )
    parser.add_argument("--into", type=Path, help="a folder for all of it, instead of where it belongs")
    into: Path | None = parser.parse_args().into
    dashboards = into / "dashboards" if into else _MONITORING / "dashboards"
    docs = into or _MONITORING.parents[1] / "docs"
    dashboards.mkdir(parents=True, exist_ok=True)
    for board in sorted(Path(__file__).with_name("boards").glob("*.yaml")):
        (dashboards / f"{board.stem}.json").write_text(to_json(board))
    foreign = yaml.safe_load((_MONITORING / "foreign_metrics.yaml").read_text())
    (docs / "metrics.md").write_text(references.metrics(foreign))
    (docs / "workloads.md").write_text(references.workloads())
    (docs / "environment.md").write_text(references.environment())


if __name__ == "__main__":
    main()
