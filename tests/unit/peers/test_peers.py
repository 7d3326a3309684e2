"""What the peers are started with: the same for each where it can be."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "peers"))

import peers
from peers import PEERS, Command, Peer, Place

from market_spread.common.jvm.jars import Java
from market_spread.controller.plan.reading import read_workload
from market_spread.streaming.modes.registry import BY_NAME

WORKLOAD = Path(__file__).parents[2] / "benchmarks" / "peers" / "peers.yaml"
ON_A_JVM = [peer for peer in PEERS if peer.name not in ("kafka-python", "bytewax")]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Environments, jars and compiled classes by their names alone."""
    library = tmp_path / "lib" / "python3" / "site-packages" / "pyflink" / "lib"
    library.mkdir(parents=True)
    monkeypatch.setattr(peers, "python_of", lambda name: tmp_path / "bin" / "python")
    monkeypatch.setattr(peers, "jars", lambda group, java: [tmp_path / f"{group}.jar"])
    monkeypatch.setattr(peers, "compiled", lambda sources, class_path, java: tmp_path / f"{sources[0].stem}.jar")


def command_of(peer: Peer, commit_s: float = 1.0) -> Command:
    return peer.command(Place("127.0.0.1:9", 1, Path("/peer"), Java(Path("/java"), 17), commit_s))


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_told_how_often_to_commit(peer: Peer) -> None:
    each_second, each_ten = (map(str, command_of(peer, commit_s).words) for commit_s in (1.0, 10.0))

    ((one, ten),) = [pair for pair in zip(each_second, each_ten, strict=True) if pair[0] != pair[1]]
    assert float(one) in (1, 1000)
    assert float(ten) == 10 * float(one)


@pytest.mark.parametrize("peer", ON_A_JVM, ids=lambda peer: peer.name)
def test_every_jvm_has_the_heap_and_the_collector_of_sparks(peer: Peer) -> None:
    command = command_of(peer)

    given = [*command.environment.get("JVM_ARGS", "").split(), *map(str, command.words)]

    heap = read_workload(WORKLOAD).job.memory
    of_spark = BY_NAME["real-time"].session_settings["spark.driver.defaultJavaOptions"].split()
    # What is of Java; the others are limits of Avro's, which no peer reads.
    wanted = [f"-Xms{heap}", f"-Xmx{heap}", *(word for word in of_spark if word.startswith("-X"))]
    assert sorted(word for word in given if word.startswith("-X")) == sorted(wanted)
