"""Executors as pods: the driver's configuration for them, and Spark's."""

import re
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.process.service import ServiceConfig

KUBERNETES = "k8s://"
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
    """Spark's settings for its executors; docs/adr/0011 has the reasons. An empty value means unset."""
    return {
        # Spark would mount a volume at its folder, in addition to the template's for /tmp; ours is not in the pods.
        "spark.local.dir": "",
        "spark.python.unix.domain.socket.dir": "",
        "spark.kubernetes.namespace": config.namespace,
        "spark.kubernetes.container.image": config.executor_image,
        "spark.kubernetes.container.image.pullPolicy": config.executor_image_pull_policy,
        "spark.kubernetes.authenticate.executor.serviceAccountName": config.executor_service_account,
        # The driver's pod owns its executors, so they end with it, and their names are unique.
        "spark.kubernetes.driver.pod.name": config.pod_name,
        "spark.kubernetes.executor.podNamePrefix": config.pod_name,
        "spark.kubernetes.executor.podTemplateFile": str(config.executor_template or ""),
        # Executors get the bound address: it must be the pod's, not 0.0.0.0.
        "spark.driver.host": config.driver_host,
        "spark.driver.bindAddress": config.pod_ip,
        "spark.driver.port": str(config.driver_port),
        "spark.driver.blockManager.port": str(config.block_manager_port),
        "spark.executor.instances": str(config.executors),
        "spark.executor.cores": str(config.executor_slots),
        "spark.kubernetes.executor.request.cores": config.executor_cpus,
        "spark.kubernetes.executor.limit.cores": config.executor_cpus,
        "spark.executor.memory": config.executor_memory,
        "spark.executor.memoryOverhead": config.executor_memory_overhead,
        "spark.executor.extraJavaOptions": config.executor_java_options,
        # By default, the third lost executor ends the driver, even after weeks.
        "spark.executor.maxNumFailures": str(10 * config.executors),
        "spark.executor.failuresValidityInterval": "10m",
        "spark.kubernetes.allocation.batch.delay": "200ms",
        # Only polling detects a pod deleted by force; with Spark's defaults that takes half a minute.
        "spark.kubernetes.executor.apiPollingInterval": "1s",
        "spark.kubernetes.executor.missingPodDetectDelta": "1s",
        "spark.kubernetes.executor.eventProcessingInterval": "200ms",
        # An executor on a node that is cut off is detected by its silence, by default after two minutes.
        "spark.storage.blockManagerHeartbeatTimeoutMs": "15s",
        "spark.network.timeoutInterval": "2s",
        "spark.kubernetes.dynamicAllocation.deleteGracePeriod": "1s",
        # An executor has nothing to clean up. With any other value, the pod on a node that does not answer stays until
        # someone deletes the node, and Spark does not replace it until then.
        "spark.kubernetes.executor.terminationGracePeriodSeconds": "0s",
        "spark.kubernetes.allocation.executor.timeout": f"{round(slots_timeout_s)}s",
    }


def without_collector(default_options: str, own_options: str) -> str:
    """The mode's JVM options, without its garbage collector if the operator has chosen one: Java refuses two."""
    if not _COLLECTOR.search(own_options):
        return default_options
    return " ".join(_COLLECTOR.sub("", default_options).split())


def registered_slots(executors: int, config: PodsConfig) -> int:
    """Tasks that this many registered executors run at the same time."""
    return executors * config.executor_slots


def is_on_kubernetes(master: str) -> bool:
    """Whether executors are pods."""
    return master.startswith(KUBERNETES)
