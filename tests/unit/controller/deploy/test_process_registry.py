"""The record of started processes: it grows with each of them, so that none is lost when `up` is killed."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.errors import UsageError
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import JarCache, Java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local import broker, command, stack
from market_spread.controller.deploy.local.command import BackgroundStack, RegisteredStack
from market_spread.controller.deploy.local.services import Child
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from tests.support.clock import ManualClock

WORKLOAD = DEFAULT_WORKLOAD.changed(
    market={"partitions": 1},
    job={"mode": "real-time", "batch_s": 5.0, "shuffle_partitions": 1, "memory": "1g", "replicas": 1},
    warm_up={"batches": 0},
)
JAVA = Java(Path("/usr/bin/java"), 17)


class NoJars:
    def paths(self, group: str) -> list[Path]:
        return []


JARS = cast(JarCache, NoJars())


class FakeChild:
    """A child that binds its ports at once."""

    started: list[str]
    running, exit_status = True, None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    @classmethod
    def start(cls, name: str, command: Sequence[object], *, environment: Mapping[str, str], **_: object) -> "FakeChild":
        if ports_file := environment.get("MARKET_SPREAD_PORTS_FILE"):
            Path(ports_file).write_text('{"grpc": 1, "http": 2}')
        cls.started.append(name)
        return cls(1_000 + len(cls.started))


def test_each_process_is_told_as_soon_as_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeChild.started = []
    monkeypatch.setattr(Child, "start", FakeChild.start)
    monkeypatch.setattr(broker, "_accepts_connections", lambda port: "broker" in FakeChild.started)
    monkeypatch.setattr(KafkaBroker, "create_topics", lambda kafka, topics, appended: None)
    monkeypatch.setattr(
        stack, "local_jvms", lambda java, jars: LocalJvms(java, jars, Path("/job.jsa"), Path("/broker.jsa"))
    )
    told: list[tuple[str, int, list[str]]] = []

    LocalStack(
        folder=tmp_path,
        java=JAVA,
        jars=JARS,
        workload=WORKLOAD,
        clock=ManualClock(),
        on_started=lambda name, pid: told.append((name, pid, FakeChild.started[-1:])),
    ).start()

    assert told == [
        ("metrics_aggregator", 1_001, ["metrics_aggregator"]),
        ("broker", 1_002, ["broker"]),
        ("job", 1_003, ["job"]),
        ("receiver", 1_004, ["receiver"]),
        ("sender", 1_005, ["sender"]),
    ]


class FakeStack:
    """Starts a process, which is this one, and then does what the test says."""

    def __init__(self, then: Callable[[], None], *, on_started: Callable[[str, int], None], **_: object) -> None:
        self._then = then
        self._on_started = on_started

    def start(self) -> None:
        self._on_started("broker", os.getpid())
        self._then()
        raise UsageError("the job did not start")

    def stop(self) -> None:
        pass


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Bring up one process, with something that happens then; it fails afterwards."""

    def bring_up(then: Callable[[], None]) -> None:
        def made(**collaborators: Any) -> FakeStack:
            return FakeStack(then, **collaborators)

        monkeypatch.setattr(command, "LocalStack", made)
        monkeypatch.setattr(command, "find_java", lambda home: JAVA)
        BackgroundStack(tmp_path, clock=SystemClock()).bring_up(workload=WORKLOAD, say=lambda text: None)

    return bring_up


def test_a_standby_is_refused_where_no_one_starts_the_lost_one_again(tmp_path: Path) -> None:
    workload = WORKLOAD.changed(job={"standby": 1})

    with pytest.raises(UsageError, match=r"job\.standby=1; after `up` no one starts a job again: leave it out"):
        BackgroundStack(tmp_path / "up", clock=SystemClock()).bring_up(workload=workload, say=lambda text: None)

    assert not (tmp_path / "up").exists()


def test_process_is_remembered_while_the_others_are_still_to_come(
    tmp_path: Path, up: Callable[[Callable[[], None]], None]
) -> None:
    found: list[RegisteredStack | None] = []

    with pytest.raises(UsageError, match="the job did not start"):
        up(lambda: found.append(RegisteredStack.read(tmp_path / "up.json")))

    remembered = found[0]
    assert remembered is not None
    assert [(process.name, process.pid) for process in remembered.running] == [("broker", os.getpid())]
    assert remembered.addresses is None
    assert not (tmp_path / "up.json").exists()


def test_status_of_what_is_not_all_up_says_so(tmp_path: Path, up: Callable[[Callable[[], None]], None]) -> None:
    found: list[command.ProcessStatus] = []

    with pytest.raises(UsageError, match="the job did not start"):
        up(lambda: found.extend(BackgroundStack(tmp_path, clock=SystemClock()).statuses()))

    assert [(status.process.name, status.running, status.well, status.address) for status in found] == [
        ("broker", True, False, "")
    ]
    assert (
        found[0].detail == "up has not finished; if it does not run any more, end what it left with: market-spread down"
    )
