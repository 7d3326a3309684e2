"""What stays of processes that have ended: their logs, and not what Spark and the broker had for themselves."""

from pathlib import Path
from typing import cast

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache, Java
from market_spread.controller.deploy.local.command import BackgroundStack, RegisteredStack
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from tests.support.clock import ManualClock


class NoJars:
    def paths(self, group: str) -> list[Path]:
        return []


@pytest.fixture
def processes(tmp_path: Path) -> Path:
    """The folder of processes that have written something."""
    removed = ("spark/librocksdbjni-linux64.so", "spark_1/blockmgr/0c", "broker/data/nbbo-0/0.log")
    for name in (*removed, "broker/broker.log", "checkpoint/offsets/0", "job.log"):
        path = tmp_path / "processes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("something")
    return tmp_path / "processes"


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_keeps_no_working_files(processes: Path) -> None:
    stack = LocalStack(
        folder=processes, java=Java(Path("/usr/bin/java"), 17), jars=cast(JarCache, NoJars()),
        workload=DEFAULT_WORKLOAD, clock=ManualClock(),
    )  # fmt: skip

    stack.stop()

    assert left(processes) == ["broker/broker.log", "checkpoint/offsets/0", "job.log"]


def test_down_leaves_no_working_files(processes: Path, tmp_path: Path) -> None:
    RegisteredStack(processes, None, ()).write(tmp_path / "up.json")

    BackgroundStack(tmp_path, clock=SystemClock()).bring_down()

    assert left(processes) == ["broker/broker.log", "checkpoint/offsets/0", "job.log"]
