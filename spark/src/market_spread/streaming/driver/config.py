"""The driver's configuration, from its environment."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.job_contract import BATCH_S_DEFAULT, BATCH_S_MIN, MODES, REAL_TIME, REPLICAS_BATCH_S_MIN
from market_spread.common.process.service import ServiceConfig

KUBERNETES = "k8s://"
_MEMORY = re.compile(r"[1-9][0-9]*[mg]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig(ServiceConfig):
    """Environment of the driver. master: `local[N]`, or `k8s://` and the API server, for executors as pods.

    application: the pipeline to run, as `applications.registry.find` takes it; topics: Kafka's names for its sources,
    its sinks and `invalid` where they differ, such as `orders=orders-7,invalid=rejects`; checkpoint: a folder that the
    driver and all executors reach; class_path: what the driver's comes to before Spark's own jars, such as those of its
    Kafka connector; batch_s: time between two commits; local_folder: where Spark and its JVM write temporary files, by
    default a folder in the system's that the driver removes when it ends; restarts_max: failures in a row, without a
    commit between them, after which the process gives up; stop_wait_s: how long a signal waits for the running batch
    (with 0 nothing is lost, but the next start repeats the batch); warm_up_batches: how many short batches a new
    checkpoint begins with, or fewer if they take longer than warm_up_timeout_s; replica, replicas: which of how many
    jobs this is that read the same topics, each with its own checkpoint, and begin their batches at different times;
    standby: another driver may have the same checkpoint, and this one stands by, warm, as long as that one lives;
    ui_port: where Spark's UI and its Prometheus endpoints listen; without it there is neither.

    For executors as pods, ignored with any other master: namespace; pod_name, pod_ip: the driver's own pod;
    driver_host: the name by which executors find it (a headless Service); executor_slots: tasks that an executor runs
    at the same time; executor_cpus: as Kubernetes writes it, both request and limit; executor_memory,
    executor_memory_overhead: as Java writes it, the pod gets the sum; executor_template: a pod template, for what
    settings cannot express; lease: name of the Lease that the driver must hold to open the checkpoint; None: no lease.
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

    source: str = "job"
    run_id: str = ""
    application: str = "market_spread"
    mode: str = REAL_TIME
    master: str = "local[8]"
    checkpoint: str
    class_path: str = ""
    batch_s: float = BATCH_S_DEFAULT[REAL_TIME]
    shuffle_partitions: int = 1
    topics: str = ""
    driver_memory: str = "2g"
    java_options: str = ""
    local_folder: Path | None = None
    restarts_max: int = 3
    slots_timeout_s: float = 300.0
    stop_wait_s: float = 0.0
    replica: int = 0
    replicas: int = 1
    standby: bool = False
    warm_up_batches: int = 30
    warm_up_timeout_s: float = 60.0
    ui_port: int | None = None

    @property
    def is_on_kubernetes(self) -> bool:
        """Whether executors are pods."""
        return self.master.startswith(KUBERNETES)

    def errors(self) -> list[str]:
        errors = ServiceConfig.errors(self)
        if self.is_on_kubernetes:
            needed = ("namespace", "pod_name", "pod_ip", "driver_host", "executor_image")
            errors += [f"{name} is not set; executors as pods need it" for name in needed if not getattr(self, name)]
            counts = {"executors": self.executors, "executor_slots": self.executor_slots}
            errors += [f"{name}={value}; use 1 or more" for name, value in counts.items() if value < 1]
            sizes = {"executor_memory": self.executor_memory, "executor_memory_overhead": self.executor_memory_overhead}
            wrong = {name: size for name, size in sizes.items() if not _MEMORY.fullmatch(size)}
            errors += [f"{name}={size!r}; write 512m or 2g" for name, size in wrong.items()]
        if self.mode not in MODES:
            errors.append(f"mode={self.mode!r}; use one of {', '.join(MODES)}")
        elif self.batch_s < BATCH_S_MIN[self.mode]:
            errors.append(f"batch_s={self.batch_s}; {self.mode} takes {BATCH_S_MIN[self.mode]:g} seconds or more")
        if self.shuffle_partitions < 1:
            errors.append(f"shuffle_partitions={self.shuffle_partitions}; use at least 1")
        if self.warm_up_batches < 0:
            errors.append(f"warm_up_batches={self.warm_up_batches}; use 0 or more")
        if not 0 <= self.replica < self.replicas:
            errors.append(f"replica={self.replica} of replicas={self.replicas}; number them from 0")
        if self.replicas > 1 and self.batch_s < REPLICAS_BATCH_S_MIN:
            errors.append(f"batch_s={self.batch_s} with replicas; use {REPLICAS_BATCH_S_MIN:g} seconds or more")
        if self.standby and self.replicas > 1:
            errors.append(f"standby with replicas={self.replicas}; use one of the two")
        if self.standby and self.is_on_kubernetes:
            errors.append(f"standby with master={self.master!r}; a driver stands by under local[N] only")
        if not all(all(part.partition("=")) for part in self.topics.split(",") if part):
            errors.append(f"topics={self.topics!r}; use name=topic, joined by commas")
        return errors

    def topic_names(self, names: Iterable[str]) -> dict[str, str]:
        """The Kafka topic of each of these sources and sinks."""
        renamed = dict(part.split("=", 1) for part in self.topics.split(",") if part)
        return {name: renamed.get(name, name) for name in names}
