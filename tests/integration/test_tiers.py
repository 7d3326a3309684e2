"""`--not-full` of our conftest, on tests of its own: what it leaves out, it counts, in one process and in two."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TESTS = """
import pytest

@pytest.mark.full
def test_one(): ...

@pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.full)])
def test_two(case): ...

@pytest.mark.full
@pytest.mark.alone
def test_three(): ...
"""
INI = "[pytest]\naddopts = -q --strict-markers\nmarkers =\n  full: a\n  alone: b\n"


def session(folder: Path, *words: str) -> str:
    (folder / "test_tiny.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(INI)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *words, "test_tiny.py"]
    told = {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(command, cwd=folder, env=inherited | told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_left_out_is_counted(tmp_path: Path, workers: str) -> None:
    said = session(tmp_path, "--not-full", "-m", "not alone", "-n", workers)

    assert "2 tests marked `full` are left to make test-full" in said
    assert "1 passed" in said


def test_without_the_option_nothing_is_left_out(tmp_path: Path) -> None:
    said = session(tmp_path)

    assert "4 passed" in said
    assert "left to" not in said
