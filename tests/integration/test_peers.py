"""Peers on real processes: a short run with the oracle's verdict, and a kill that loses nothing.

What they cost, `make bench-peers` measures.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks" / "peers"))

from contenders import Contender, contender_of
from recovering import longest_silence_us
from rig import Rig, rig

from market_spread.runs.workload import read_workload

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
    running.begin(running.plan.measured)
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
