"""What the tuner's process is told by its environment."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTunerConfig:
    """Environment of the tuner.

    profile: the YAML file of what is wanted; host_root: where the host's /proc and /sys are; state_folder: where the
    original settings are kept, on the host's disk; pod_resources_socket: the kubelet's; node_name, namespace,
    daemon_set: this pod's, absent outside Kubernetes; ports_file: where to say which port was taken (JSON).
    """

    profile: Path
    host_root: Path = Path("/host")
    state_folder: Path = Path("/var/lib/market-spread/host-tuner")
    pod_resources_socket: Path | None = None
    node_name: str | None = None
    namespace: str | None = None
    daemon_set: str | None = None
    interval_s: float = 10.0
    dry_run: bool = False
    host: str = "127.0.0.1"
    http_port: int = 9850
    ports_file: Path | None = None

    def __post_init__(self) -> None:
        if not 0.1 <= self.interval_s <= 3600:
            raise ValueError(f"MARKET_SPREAD_INTERVAL_S={self.interval_s:g}; use 0.1 to 3600")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalConfig:
    """Environment of the removal: the DaemonSet to remove."""

    namespace: str
    daemon_set: str
    deadline_s: float = 120.0
