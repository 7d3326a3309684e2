"""A real run that has passed, carried out once for all tests that only read what a run leaves."""

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WORKLOAD = Path(__file__).parents[1] / "integration" / "workloads" / "small.yaml"
TIMEOUT_S = 240


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """The folder of runs that has it alone, and what it said on both outputs. Nobody writes there."""

    runs: Path
    said: str

    @property
    def folder(self) -> Path:
        (found,) = self.runs.iterdir()
        return found


def golden_run_in(shared: Path) -> GoldenRun:
    """The run in a folder that all processes share; the first of them that asks carries it out."""
    shared.mkdir(parents=True, exist_ok=True)
    runs, said = shared / "runs", shared / "said"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            assert not runs.exists(), "the run has failed in another process that runs tests"
            said.write_text(_carried_out(runs))
    return GoldenRun(runs, said.read_text())


def _carried_out(runs: Path) -> str:
    program = str(Path(sys.executable).with_name("market-spread"))
    command = [program, "run", str(WORKLOAD), "--runs-folder", str(runs), "--keep-input"]
    wide = {**os.environ, "COLUMNS": "200"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=wide)
    assert ended.returncode == 0, ended.stderr
    assert "http://127.0.0.1:" in ended.stderr
    return ended.stdout + ended.stderr
