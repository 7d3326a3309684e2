"""Every benchmark that a page or the Makefile names starts: nothing else runs them, so what breaks one shows here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "Makefile", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
NAMED = re.compile(r"python ((?:-m )?tests[/.]benchmarks[a-z_./]*[a-z_])")
BENCHMARKS = sorted({named for page in PAGES for named in NAMED.findall(page.read_text())})


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_benchmark_says_how_it_is_used(benchmark: str) -> None:
    command = [sys.executable, *benchmark.split(), "--help"]

    told = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert told.returncode == 0, told.stderr
    assert "usage: " in told.stdout


def test_the_four_targets_are_among_them() -> None:
    targets = re.findall(r"^bench\S*:", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert len(targets) == 4 < len(BENCHMARKS)
