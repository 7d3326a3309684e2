"""`market-spread up`, `status` and `down`: processes that outlive a command, and of which none outlives `down`."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.errors import UsageError
from market_spread.common.kafka import client as kafka
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.local.broker import free_port
from market_spread.controller.deploy.local.command import BackgroundStack, Process, RegisteredStack, end_all
from tests.support.sockets import listening

COMMAND = Path(sys.executable).with_name("market-spread")
CLOCK = SystemClock()
NOWHERE = "127.0.0.1:1"
NAMES = ["broker", "sender", "job", "receiver", "metrics-aggregator"]


def market_spread(command: str, folder: Path, *options: object) -> "subprocess.CompletedProcess[str]":
    words = [COMMAND, command, "--folder", folder, *options]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=150, check=False)


def poll(condition: Callable[[], bool], *, within_s: float = 30) -> bool:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        CLOCK.sleep_ns(50_000_000)
    return True


def processes_of(folder: Path) -> set[int]:
    """Whatever runs with something of the folder in its command line or environment."""
    found = set()
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
            if process.status() != psutil.STATUS_ZOMBIE and any(str(folder) in word for word in words):
                found.add(process.pid)
        except psutil.Error:  # it has ended meanwhile
            continue
    return found


@contextmanager
def sleeping(seconds: int = 60) -> Iterator[Process]:
    """A process that does nothing, as `up` would remember it."""
    with subprocess.Popen(["sleep", str(seconds)]) as child:
        process = Process.running_now("sender", child.pid)
        assert process is not None
        try:
            yield process
        finally:
            child.kill()


def remember(folder: Path, *processes: Process, replicas: tuple[str, ...] = ()) -> None:
    folder.mkdir(exist_ok=True)
    addresses = Addresses(NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, f"http://{NOWHERE}", replicas)
    RegisteredStack(folder / "logs", addresses, processes).write(folder / "up.json")


def test_processes_stay_up_until_down_and_none_is_left(tmp_path: Path) -> None:
    folder, port = tmp_path / "state", free_port()
    try:
        up = market_spread("up", folder, "--port", port)
        assert up.returncode == 0, up.stderr
        remembered = RegisteredStack.read(folder / "up.json")
        assert remembered is not None
        own = [process.pid for process in remembered.processes]
        everything = processes_of(folder)
        sockets = listening(everything)
        again, status = market_spread("up", folder), market_spread("status", folder)
        topics = kafka.KafkaBroker(f"127.0.0.1:{port}").partition_counts(["nbbo", "orders", "alerts", "invalid"])
    finally:
        down = market_spread("down", folder)

    rows = [line.split() for line in status.stdout.splitlines()[1:]]
    assert (status.returncode, [row[0] for row in rows]) == (0, NAMES)
    assert sorted(int(row[1]) for row in rows) == sorted(own)
    assert [row[2] for row in rows] == ["running"] * 5
    assert [row[4] for row in rows] == ["serving", "idle", "running", "idle", "serving"]
    assert rows[0][3] == f"127.0.0.1:{port}"
    assert up.stdout == status.stdout
    assert topics == {"nbbo": 1, "orders": 1, "alerts": 1, "invalid": 1}
    assert again.returncode == 2
    assert again.stderr.startswith("market-spread: the processes are up already (")
    assert again.stderr.count("\n") == 1
    assert down.returncode == 0, down.stderr
    assert all(f"({pid})" in down.stdout for pid in own)
    assert {it.process for it in sockets} >= {"java"}
    # Spark's streaming shuffle alone takes no address (docs/security.md).
    assert {(it.process, it.address) for it in sockets if not it.is_local} <= {("java", "::")}
    assert set(own) < everything  # Spark's Java process is the job's child
    assert not [pid for pid in everything if Process.running_now("left", pid)]
    assert processes_of(folder) == set()
    assert not (folder / "up.json").exists()
    assert not (remembered.folder / "broker" / "data").exists()
    assert (remembered.folder / "job.log").exists()


def test_port_in_use_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

        up = market_spread("up", tmp_path, "--port", port)

    assert up.returncode == 2
    assert up.stderr.splitlines()[1:] == [
        f"market-spread: port {port} is in use; stop what listens there or choose another port for the broker"
    ]
    assert processes_of(tmp_path) == set()
    assert not (tmp_path / "up.json").exists()


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_interrupted_up_leaves_nothing(processes: int, tmp_path: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "up", "--folder", tmp_path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as up:
        started = poll(lambda: len(processes_of(tmp_path) - {up.pid}) >= processes)
        up.send_signal(signal.SIGTERM)
        _, said = up.communicate(timeout=60)

    assert started
    assert up.returncode == 3
    assert said.splitlines()[-1] == "market-spread: interrupted"
    assert processes_of(tmp_path) == set()
    assert not (tmp_path / "up.json").exists()


def test_down_spares_a_process_that_has_the_id_now(tmp_path: Path) -> None:
    with sleeping() as other:
        remember(tmp_path, replace(other, start_ticks=other.start_ticks - 1))

        ended = BackgroundStack(tmp_path, clock=CLOCK).bring_down()

        assert ended == []
        assert other.running
    assert not (tmp_path / "up.json").exists()


def test_down_ends_what_is_remembered(tmp_path: Path) -> None:
    with sleeping() as first, sleeping() as other:
        remember(tmp_path, first)

        ended = BackgroundStack(tmp_path, clock=CLOCK).bring_down()

        assert ended == [first]
        assert not first.running
        assert other.running


def test_stubborn_process_and_its_children_are_ended_by_force() -> None:
    script = "trap '' TERM; sleep 61 & echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = Process.running_now("job", child.pid)
        assert process is not None
        family = [process, *process.descendants()]

        end_all([process], clock=CLOCK, within_s=0.3)

        assert len(family) >= 2
        assert not any(member.running for member in family)


def test_ended_process_shows_in_status(tmp_path: Path) -> None:
    with sleeping() as process:
        remember(tmp_path, process, replace(process, name="job", start_ticks=1))

        status = market_spread("status", tmp_path)

        assert status.returncode == 1
        _, sender, job = status.stdout.splitlines()
        assert sender.split()[:4] == ["sender", str(process.pid), "running", NOWHERE]
        assert "the sender says: " in sender
        assert job.split() == ["job", str(process.pid), "ended", NOWHERE]


def test_each_of_a_pair_of_jobs_has_a_line_of_its_own(tmp_path: Path) -> None:
    with sleeping() as process:
        pair = [replace(process, name=name) for name in ("job_1", "job")]
        remember(tmp_path, *pair, replicas=("127.0.0.1:2",))

        status = market_spread("status", tmp_path)

    assert status.stderr == ""
    first, second = status.stdout.splitlines()[1:]
    assert first.split()[:4] == ["job", str(process.pid), "running", NOWHERE]
    assert second.split()[:4] == ["job-1", str(process.pid), "running", "127.0.0.1:2"]
    assert "the job says: " in second


def test_two_commands_do_not_mix(tmp_path: Path) -> None:
    standing = BackgroundStack(tmp_path, clock=CLOCK)
    with sleeping() as process:
        remember(tmp_path, process)
        with standing._alone(), pytest.raises(UsageError, match="another up or down is at work"):
            standing.bring_down()

        assert process.running
        assert json.loads((tmp_path / "up.json").read_text())["version"] == 2


def test_process_of_another_user_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError

    with sleeping() as process, monkeypatch.context() as patch:
        patch.setattr(os, "kill", refuse)

        with pytest.raises(UsageError, match=rf"the sender \(process {process.pid}\) is another user's; end it as"):
            process.send(signal.SIGTERM)
