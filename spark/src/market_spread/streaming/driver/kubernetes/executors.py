"""Executors as pods: the driver's configuration for them, and Spark's."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from market_spread.common.process.service import ServiceConfig
from market_spread.streaming.settings import read_settings

KUBERNETES = "k8s://"
_SETTINGS = Path(__file__).with_name("executors.conf")
_MEMORY = re.compile(r"[1-9][0-9]*[mg]")
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsConfig(ServiceConfig):
    """Environment of a driver whose executors are pods; ignored with any other master.

    pod_name, pod_ip: the driver's own pod; driver_host: the name by which executors find it (a headless Service);
    executor_slots: tasks that an executor runs at the same time; executor_cpus: as Kubernetes writes it, both request
    and limit; executor_memory, executor_memory_overhead: as Java writes it, the pod gets the sum; executor_template: a
    pod template, for what settings cannot express; lease: name of the Lease that the driver must hold to open the
    checkpoint; None: no lease.
    """

    namespace: str = ""
    pod_name: str = ""
    pod_ip: str = ""
    driver_host: str = ""
    driver_port: int = 7078
    block_manager_port: int = 7079
    executor_image: str = ""
    executor_image_pull_policy: str = "IfNotPresent"
    executor_service_account: str = ""
    executor_template: Path | None = None
    executors: int = 1
    executor_slots: int = 3
    executor_cpus: str = "1"
    executor_memory: str = "2g"
    executor_memory_overhead: str = "1g"
    executor_java_options: str = ""
    lease: str | None = None

    def pods_errors(self) -> list[str]:
        """What is wrong with it, for a driver whose executors are pods."""
        needed = ("namespace", "pod_name", "pod_ip", "driver_host", "executor_image")
        errors = [f"{name} is not set; executors as pods need it" for name in needed if not getattr(self, name)]
        counts = {"executors": self.executors, "executor_slots": self.executor_slots}
        errors += [f"{name}={value}; use 1 or more" for name, value in counts.items() if value < 1]
        sizes = {"executor_memory": self.executor_memory, "executor_memory_overhead": self.executor_memory_overhead}
        errors += [f"{name}={size!r}; write 512m or 2g" for name, size in sizes.items() if not _MEMORY.fullmatch(size)]
        return errors


def pod_settings(config: PodsConfig, slots_timeout_s: float) -> dict[str, str]:
    """Spark's settings for its executors, those of `executors.conf`. An empty value means unset."""
    values = {
        **asdict(config),
        "executor_template": config.executor_template or "",
        "lost_executors_max": 10 * config.executors,
        "slots_timeout_s": round(slots_timeout_s),
    }
    return read_settings(_SETTINGS, values)


def without_collector(default_options: str, own_options: str) -> str:
    """The mode's JVM options, without its garbage collector if the operator has chosen one: Java refuses two."""
    if not _COLLECTOR.search(own_options):
        return default_options
    return " ".join(_COLLECTOR.sub("", default_options).split())


def is_on_kubernetes(master: str) -> bool:
    """Whether executors are pods."""
    return master.startswith(KUBERNETES)
