"""The systems beside ours: how each is started, and where it says what it has committed."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from java import compiled, jars
from venvs import python_of

from market_spread.common.jvm.jars import JarCache, Java

SYSTEMS = Path(__file__).with_name("systems")
COMMON = Path(__file__).parents[3] / "services" / "common" / "src"
GROUP = "market-spread-peer"
# What Spark's driver has in the workload: the heap, of its full size from the start, and the options of Real-Time Mode.
# Every JVM here has the same, so that none wins by its collector: by default it would be G1 and a heap that grows. Both
# compilers stay; which of them Spark's driver has is a setting of its job.
JVM_OPTIONS = ("-Xms3g", "-Xmx3g", "-XX:-DontCompileHugeMethods", "-XX:+UseParallelGC", "-XX:MetaspaceSize=256m")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer runs. folder: its own, for its state.

    commit_s: how long after a commit it makes the next; group: in which it commits its offsets to Kafka.
    """

    servers: str
    partitions: int
    folder: Path
    java: Java
    commit_s: float = 1.0
    group: str = GROUP

    @property
    def commit_ms(self) -> str:
        """The same in milliseconds, as a word of a command."""
        return str(round(self.commit_s * 1000))


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
    words = [sys.executable, SYSTEMS / "loop.py", place.servers, str(place.partitions), place.folder / "state"]
    return Command([*words, place.group, str(place.commit_s)])


def _bytewax(place: Place) -> Command:
    python, store = python_of("bytewax"), place.folder / "recovery"
    flow = f"{SYSTEMS / 'bytewax_flow.py'}:flow('{place.servers}')"
    return Command(
        # It takes whole seconds only, and says so if they are not.
        [python, "-m", "bytewax.run", flow, "-r", store, "-s", f"{place.commit_s:g}", "-b", "0"],
        {"PYTHONPATH": str(COMMON)},
        before=[python, "-m", "bytewax.recovery", store, "1"],
    )


def _flink_sql(place: Place) -> Command:
    python = python_of("flink")
    function = compiled([SYSTEMS / "flink" / "NowMicros.java"], _flink_libraries(), place.java)
    paths = ";".join(path.as_uri() for path in [*jars("flink", place.java), function])
    checkpoints = place.folder / "checkpoints"
    words = [python, SYSTEMS / "flink_sql.py", place.servers, str(place.partitions), checkpoints, place.group]
    home = str(place.java.executable.resolve().parent.parent)
    return Command([*words, place.commit_ms, paths], {"JAVA_HOME": home, "JVM_ARGS": " ".join(_jvm_options(place))})


def _flink_data_stream(place: Place, elements: str) -> Command:
    libraries = [*_flink_libraries(), *jars("flink", place.java)]
    words = _java(place, SYSTEMS / "flink" / "DataStreams.java", libraries, place.folder / "checkpoints")
    return Command([*words, elements])


def _kafka_streams(place: Place) -> Command:
    # The broker's own jars have what Streams needs besides.
    libraries = [*jars("streams", place.java), *JarCache().paths("broker")]
    return Command(_java(place, SYSTEMS / "kafka_streams" / "MarketSpread.java", libraries, place.folder / "streams"))


def _plain_consumer(place: Place) -> Command:
    libraries = JarCache().paths("broker")
    return Command(_java(place, SYSTEMS / "plain_consumer" / "PlainConsumer.java", libraries, place.folder / "state"))


def _flink_libraries() -> list[Path]:
    (libraries,) = python_of("flink").parent.parent.glob("lib/*/site-packages/pyflink/lib")
    return sorted(libraries.glob("*.jar"))


def _jvm_options(place: Place) -> list[str]:
    return [*JVM_OPTIONS, f"-Djava.io.tmpdir={place.folder}"]  # a Flink that is killed leaves a dozen folders there


def _java(place: Place, source: Path, libraries: list[Path], state: Path) -> list[str | Path]:
    """A program of ours in Java, which is compiled, with the arguments that all of them take."""
    class_path = [compiled([source, SYSTEMS / "Rule.java"], libraries, place.java), *libraries]
    words = [place.java.executable, *_jvm_options(place), "-cp", os.pathsep.join(map(str, class_path)), source.stem]
    return [*words, place.servers, str(place.partitions), state, place.group, place.commit_ms]


PEERS = (
    Peer("kafka-python", "a loop around kafka-python", _loop),
    Peer("bytewax", "Bytewax", _bytewax, commits_to="bytewax-store"),
    Peer("flink", "Flink SQL", _flink_sql),
    Peer("flink-datastream", "Flink DataStream", partial(_flink_data_stream, elements="messages")),
    Peer("flink-frames", "Flink DataStream, whole frames", partial(_flink_data_stream, elements="frames")),
    Peer("kafka-streams", "Kafka Streams", _kafka_streams),
    Peer("plain-consumer", "a plain Java consumer", _plain_consumer),
)


def peer_of(name: str) -> Peer:
    """The peer of that name. KeyError if there is none."""
    return {peer.name: peer for peer in PEERS}[name]
