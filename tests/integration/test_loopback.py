"""What a local Spark lets strangers do: nothing, as it listens on loopback and asks for a secret of its run."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from market_spread.common.job_contract import MODES, REAL_TIME
from tests.support.sockets import answer_to_a_stranger, listening

OPEN = """
import sys, tempfile
from market_spread.streaming.modes.registry import BY_NAME, open_session
mode, folder, *more = sys.argv[1:]
open_session(
    BY_NAME[mode], master="local[2]", state_partitions=1, memory="512m", folder=folder,
    more=dict(word.split("=") for word in more),
)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def session(mode: str, folder: Path, *more: str) -> Iterator[psutil.Process]:
    """A process with an open session, as users' tests and benchmarks have it: nothing is said of addresses."""
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    words = [sys.executable, "-c", OPEN, mode, str(folder), *more]
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield psutil.Process(process.pid)
        process.communicate("")


def answers(process: psutil.Process) -> Mapping[int, str]:
    """What the JVM says to a stranger at each of its ports that speaks Spark's transport."""
    ids = [process.pid, *(it.pid for it in process.children(recursive=True))]
    given = {it.port: answer_to_a_stranger(it.port) for it in listening(ids) if it.process == "java"}
    return {port: answer for port, answer in given.items() if answer is not None}


@pytest.mark.parametrize("mode", MODES)
def test_a_session_listens_on_loopback_alone_and_asks_for_its_secret(tmp_path: Path, mode: str) -> None:
    with session(mode, tmp_path) as process:
        ids = [process.pid, *(it.pid for it in process.children(recursive=True))]
        found, refused = listening(ids), answers(process)
        (words,) = [it.cmdline() for it in process.children(recursive=True) if it.name() == "java"]

    assert found
    assert not [it for it in found if not it.is_local]
    assert len(refused) >= 2  # the driver's RPC and its blocks
    assert all("Unknown challenge message" in answer for answer in refused.values())
    assert not [word for word in words if "authenticate.secret" in word]


def test_without_a_secret_a_strangers_bytes_would_be_deserialized(tmp_path: Path) -> None:
    open_to_all = ("spark.authenticate=false", "spark.network.crypto.enabled=false")
    with session(REAL_TIME, tmp_path, *open_to_all) as process:
        taken = answers(process)

    assert taken
    assert not [answer for answer in taken.values() if "Unknown challenge message" in answer]
