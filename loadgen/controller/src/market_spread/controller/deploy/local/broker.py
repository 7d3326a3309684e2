"""The embedded broker: a real single-node Kafka (KRaft) from its jars, on loopback, with its data in a folder."""

import os
import re
import socket
import uuid
from base64 import urlsafe_b64encode
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from market_spread.common.clock import Clock, polls
from market_spread.common.config import inherited_environment
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.jvm.jars import Java
from market_spread.controller.archive.jvm_pauses import log_option
from market_spread.controller.deploy.local.services import Child

START_TIMEOUT_S = 60
MESSAGE_BYTES_MAX = 8 * 1024 * 1024
# Small and quick to start: the broker shares a laptop's cores with everything else.
_JVM_OPTIONS = ("-Xms512m", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
# Its settings, with names to be filled in; what it logs; which of its metrics the agent shows, and by what names.
_PROPERTIES = Path(__file__).with_name("broker.properties")
_LOGGING = Path(__file__).with_name("broker_log4j2.xml")
_METRICS_RULES = Path(__file__).with_name("broker_metrics.yaml")
# How a stack trace begins; the line before it says only that there was one.
_EXCEPTION = re.compile(r"[\w.$]+(Exception|Error): ")


@dataclass(eq=False, kw_only=True)
class Broker:
    """A Kafka broker of our own. `launch`, `wait`, then `stop`; to launch it again in the same folder keeps the data.

    jars: those of the group `broker`; port: 0 takes a free one; metrics_agent: the jar of the group `metrics`, for a
    broker that is to be scraped by Prometheus, at `metrics_address`, host and port, which is None without the agent;
    archive_option: what its JVM is told of its archive of classes.
    """

    folder: Path
    java: Java
    jars: list[Path]
    clock: Clock
    port: int = 0
    metrics_agent: Path | None = None
    archive_option: str = ""
    child: Child | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        self._controller_port = free_port()
        self.metrics_address = f"127.0.0.1:{free_port()}" if self.metrics_agent else None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def launch(self, *, outlives_parent: bool = False) -> int:
        """Start its process and return its id; what needs it may start beside. UsageError: its port is taken."""
        if _accepts_connections(self.port):
            raise UsageError(
                f"port {self.port} is in use; stop what listens there or choose another port for the broker"
            )
        options = [self.archive_option, log_option(self.folder / "broker.gc.log")]
        if self.metrics_agent is not None:
            options.append(f"-javaagent:{self.metrics_agent}={self.metrics_address}:{_METRICS_RULES}")
        command: list[str | Path] = [
            self.java.executable, *_JVM_OPTIONS, f"-Dlog4j2.configurationFile={_LOGGING}",
            "-cp", os.pathsep.join(map(str, self.jars)), *filter(None, options), "kafka.Kafka", self._prepare_folder(),
        ]  # fmt: skip
        at, own = self.folder / "broker.log", inherited_environment()
        self.child = Child.start(
            "broker", command, environment=own, log=at, folder=at.parent, outlives_parent=outlives_parent
        )
        return self.child.pid

    def stop(self) -> None:
        """End it. Nothing happens if it does not run."""
        if self.child is not None:
            self.child.stop(within_s=15)

    def check_alive(self) -> None:
        """RunVoidError if it has ended by itself."""
        if self.child is not None and not self.child.running:
            raise RunVoidError(f"the broker {self.child.end}; {self._reason()}")

    def _prepare_folder(self) -> str:
        """Write the configuration, whose name this returns, and, the first time, what makes a folder a broker's own.

        `kafka-storage format` writes the same `meta.properties` (version 1), and the
        features to begin with, which are the release's own where none are written. It would take a second and a JVM.
        """
        of_folder, properties = self.folder / "data" / "meta.properties", self.folder / "server.properties"
        of_folder.parent.mkdir(parents=True, exist_ok=True)
        values = {"port": self.port, "controller_port": self._controller_port, "message_bytes_max": MESSAGE_BYTES_MAX}
        properties.write_text(_PROPERTIES.read_text("utf-8").format(**values), "utf-8")
        if not of_folder.exists():
            of_folder.write_text(f"version=1\nnode.id=1\ncluster.id={_new_id()}\ndirectory.id={_new_id()}\n", "utf-8")
        return properties.name

    def wait(self) -> None:
        """Wait until it accepts connections. UsageError if it does not start, with the reason from its log."""
        for _ in polls(self.clock, START_TIMEOUT_S, every_s=0.05):
            if self.child is None or not self.child.running:
                raise UsageError(f"the broker did not start; {self._reason()}")
            if _accepts_connections(self.port):
                return
        self.stop()
        raise UsageError(f"the broker did not answer within {START_TIMEOUT_S} s; {self._reason()}")

    def _reason(self) -> str:
        log = self.folder / "broker.log"
        if self.child and self.child.disk_is_full:
            return f"No space left on device: {log.parent}"
        lines = self.child.last_lines(200) if self.child else []
        telling = [line for line in lines if _EXCEPTION.match(line)] or [
            line for line in lines if "ERROR" in line or "FATAL" in line or "Exception" in line
        ]
        return f"{telling[0].strip() if telling else 'it gave no reason'} (log: {log})"


def _new_id() -> str:
    """A random id as Kafka writes it; none begins with a dash."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)


def free_port() -> int:
    """A TCP port of the loopback interface, for the process that listens there within the next minute.

    A closed connection holds it in TIME_WAIT, so the system does not give it to anyone who asks for any port. Without
    that, two calls in a row can return the same one. A server that sets SO_REUSEADDR, as those here do, can bind it.
    """
    with closing(socket.socket()) as listener, closing(socket.socket()) as client:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        client.connect(listener.getsockname())
        listener.accept()[0].close()  # who closes first waits, so it is this end
        return int(listener.getsockname()[1])


def _accepts_connections(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
