"""The systems beside ours: how each is started, and where it says what it has committed."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from java import compiled, jars
from venvs import python_of

from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import Java

SYSTEMS = Path(__file__).with_name("systems")
COMMON = Path(__file__).parents[3] / "services" / "common" / "src"
GROUP = "market-spread-peer"
# Both Java peers get what Spark's driver has in the workloads; G1 is the default of a JVM with two cores and 2 GiB.
_HEAP = "3g"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer runs. folder: its own, for its state."""

    servers: str
    partitions: int
    folder: Path
    java: Java


@dataclass(frozen=True, slots=True)
class Command:
    """How a peer's process is started; environment: on top of what this process has."""

    words: Sequence[str | Path]
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[str | Path] = ()


@dataclass(frozen=True, slots=True)
class Peer:
    """A system that reads `nbbo` and `orders` and writes `alerts`.

    commits_to: `group` if it commits its offsets to Kafka, `bytewax-store` if to Bytewax's recovery store.
    """

    name: str
    title: str
    command: Callable[[Place], Command]
    commits_to: str = "group"


def _loop(place: Place) -> Command:
    words = [sys.executable, SYSTEMS / "loop.py", place.servers, str(place.partitions), place.folder / "state", GROUP]
    return Command(words)


def _bytewax(place: Place) -> Command:
    python, store = python_of("bytewax"), place.folder / "recovery"
    flow = f"{SYSTEMS / 'bytewax_flow.py'}:flow('{place.servers}')"
    return Command(
        [python, "-m", "bytewax.run", flow, "-r", store, "-s", "1", "-b", "0"],
        {"PYTHONPATH": str(COMMON)},
        before=[python, "-m", "bytewax.recovery", store, "1"],
    )


def _flink(place: Place) -> Command:
    python = python_of("flink")
    (libraries,) = python.parent.parent.glob("lib/*/site-packages/pyflink/lib")
    function = compiled(SYSTEMS / "flink" / "NowMicros.java", sorted(libraries.glob("flink-*.jar")), place.java)
    paths = ";".join(path.as_uri() for path in [*jars("flink", place.java), function])
    checkpoints = place.folder / "checkpoints"
    words = [python, SYSTEMS / "flink_sql.py", place.servers, str(place.partitions), checkpoints, GROUP, paths]
    home = str(place.java.executable.resolve().parent.parent)
    return Command(words, {"JAVA_HOME": home, "JVM_ARGS": f"-Xmx{_HEAP}"})


def _kafka_streams(place: Place) -> Command:
    java = [place.java.executable, f"-Xmx{_HEAP}", "-cp", os.pathsep.join(map(str, streams_class_path(place.java)))]
    return Command([*java, "MarketSpread", place.servers, str(place.partitions), place.folder / "streams", GROUP])


def streams_class_path(java: Java) -> list[Path]:
    """Kafka Streams and our program on it, compiled. The broker's own jars have what Streams needs besides."""
    libraries = [*jars("streams", java), *JarCache().paths("broker")]
    return [compiled(SYSTEMS / "kafka_streams" / "MarketSpread.java", libraries, java), *libraries]


PEERS = (
    Peer("kafka-python", "a loop around kafka-python", _loop),
    Peer("bytewax", "Bytewax", _bytewax, commits_to="bytewax-store"),
    Peer("flink", "Flink SQL", _flink),
    Peer("kafka-streams", "Kafka Streams", _kafka_streams),
)


def peer_of(name: str) -> Peer:
    """The peer of that name. KeyError if there is none."""
    return {peer.name: peer for peer in PEERS}[name]
