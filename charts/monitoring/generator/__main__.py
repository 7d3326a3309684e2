"""Write the dashboards of the boards. `make generated` runs it; with a folder, they go there instead."""

import sys
from pathlib import Path

from grafana import to_json


def main(into: Path) -> None:
    """Write all of them."""
    into.mkdir(parents=True, exist_ok=True)
    for board in sorted(Path(__file__).with_name("boards").glob("*.yaml")):
        (into / f"{board.stem}.json").write_text(to_json(board), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "dashboards")
