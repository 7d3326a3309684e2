"""Draws docs/pictures/terminal.svg: `python tests/benchmarks/terminal_picture.py runs/RUN/result.json`."""

import io
import json
import re
import sys
from pathlib import Path

from rich.console import Console

from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.result import Result
from market_spread.controller.views.progress import result_table

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "terminal.svg"


def main(path: Path) -> None:
    document = json.loads(path.read_text())
    result = Result(**{**document, "verdict": Verdict(document["verdict"])})
    console = Console(record=True, width=108, file=io.StringIO(), force_terminal=True)
    console.print(result_table(result))
    drawn = console.export_svg(title=f"market-spread run loadgen/workloads/{result.workload}.yaml")
    # The reader's own font will do: a picture that fetches one is not offline.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\n?", "", drawn, flags=re.DOTALL))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
