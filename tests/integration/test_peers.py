"""Peers on real processes: a short run with the oracle's verdict, and a kill that loses nothing.

What they cost, `make bench-peers` measures.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks" / "peers" / "systems"))
sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks" / "peers"))

from contenders import Contender, contender_of
from java import compiled, jars
from judging import Judge, stamped
from peers import COMMON, SYSTEMS, streams_class_path
from recovering import longest_silence_us
from rig import Rig, rig
from venvs import python_of

from market_spread.common.jvm.java import find_java
from market_spread.common.wire.layout import ALERT
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.workload import Overrides, read_workload

PEERS = Path(__file__).parent.parent / "benchmarks" / "peers"
SMALL = Path(__file__).parent / "workloads" / "small.yaml"
# Flink's environment is a gigabyte; `make bench-peers` has it.
LIGHT = ("kafka-python", "kafka-streams", "bytewax")

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(params=LIGHT)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    contender: Contender = contender_of(request.param)
    with rig(contender, read_workload(SMALL), tmp_path) as made:
        yield made


def test_peer_is_right_and_a_kill_loses_nothing(running: Rig) -> None:
    running.begin(running.plan.measured.with_parameters(tight_share=0))  # probes always reject: all can be counted
    running.wait_for_alerts(200)

    killed_us = running.kill()
    running.finish()
    running.drain()

    judgement = running.judgement()
    assert (judgement.missing, judgement.unexpected, judgement.wrong) == (0, 0, 0), judgement.sentences
    assert judgement.received == judgement.expected > 1_300
    status = running.clients.job_status()
    assert status.restarts == 1
    assert status.messages_committed == running.messages_sent
    assert status.cpu_us > 0
    assert longest_silence_us(running.received_us(), killed_us) > 100_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A file of records, and the alerts that the peers' rule in Python gives: without the times that differ."""
    plan = plan_of_workload(read_workload(SMALL, Overrides(duration_s=3)))
    judge, lines, alerts = Judge(), [], []
    for load in (plan.initial, plan.measured):
        for block in load.open(0).blocks():
            for topic, messages in (("nbbo", block.quotes.rows), ("orders", block.orders.rows)):
                if not len(messages):
                    continue
                frame = messages.tobytes()
                lines.append(f"{topic} 1700000000000001 {frame.decode()}\n")
                if topic == "nbbo":
                    judge.take_quotes(frame)
                else:
                    alerts += [
                        stamped(alert, 0).decode() for _, alert in judge.alerts_of(frame, b"1700000000000001", 0)
                    ]
    path = tmp_path_factory.mktemp("recorded") / "records"
    path.write_text("".join(lines))
    assert len(alerts) > 200
    return path, [untimed(alert) for alert in alerts]


def untimed(alert: str) -> str:
    """Up to the time of sending; when it was read and emitted is another thing each time."""
    assert len(alert) == ALERT.width
    return alert[: ALERT.offset("read_us")]


def printed(words: list[object], environment: dict[str, str]) -> list[str]:
    ended = subprocess.run(
        [str(word) for word in words], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return [untimed(line) for line in ended.stdout.splitlines() if line.startswith("A")]


def test_kafka_streams_gives_the_same_alerts_for_recorded_frames(
    recorded: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, expected = recorded
    java = find_java()
    class_path = [*jars("streams-test", java), *streams_class_path(java)]
    program = compiled(SYSTEMS / "kafka_streams" / "RecordedFrames.java", class_path, java)

    words = [
        java.executable,
        "-cp",
        os.pathsep.join(map(str, [program, *class_path])),
        "RecordedFrames",
        path,
        tmp_path,
    ]
    assert printed(words, {}) == expected


def test_bytewax_gives_the_same_alerts_for_recorded_frames(recorded: tuple[Path, list[str]]) -> None:
    path, expected = recorded

    words = [python_of("bytewax"), SYSTEMS / "bytewax_recorded.py", path]
    assert printed(words, {"PYTHONPATH": str(COMMON)}) == expected
