"""What the tuner's process is told by its environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTunerConfig:
    """Environment of the tuner."""

    profile: Annotated[Path, "The YAML file of what is wanted."]
    host_root: Annotated[Path, "Where the host's /proc and /sys are."] = Path("/host")
    state_folder: Annotated[Path, "Where the original settings are kept, on the host's disk."] = Path(
        "/var/lib/market-spread/host-tuner"
    )
    pod_resources_socket: Annotated[Path | None, "The kubelet's, to see which CPUs are whose."] = None
    node_name: Annotated[str | None, "This pod's node; unset outside Kubernetes."] = None
    namespace: Annotated[str | None, "This pod's; unset outside Kubernetes."] = None
    daemon_set: Annotated[str | None, "This pod's; unset outside Kubernetes."] = None
    interval_s: Annotated[float, "Seconds between two looks at the host, 0.1 to 3600."] = 10.0
    dry_run: Annotated[bool, "Only look: write nothing, on the host or to the node."] = False
    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    http_port: Annotated[int, "Port of health and metrics; 0 takes a free one."] = 9850
    ports_file: Annotated[Path | None, "Where to say which port was taken, as JSON."] = None

    def __post_init__(self) -> None:
        if not 0.1 <= self.interval_s <= 3600:
            raise ValueError(f"MARKET_SPREAD_INTERVAL_S={self.interval_s:g}; use 0.1 to 3600")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalConfig:
    """Environment of the removal."""

    namespace: Annotated[str, "The DaemonSet's."]
    daemon_set: Annotated[str, "The DaemonSet to remove."]
    deadline_s: Annotated[float, "Seconds that its pods have to put their hosts back."] = 120.0
