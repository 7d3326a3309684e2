"""The driver's configuration, from its environment."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from market_spread.common.job_contract import BATCH_S_DEFAULT, BATCH_S_MIN, MODES, REAL_TIME, REPLICAS_BATCH_S_MIN
from market_spread.common.process.service import ServiceConfig

KUBERNETES = "k8s://"
_MEMORY = re.compile(r"[1-9][0-9]*[mg]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig(ServiceConfig):
    """Environment of the driver. With a master that is none of Kubernetes what is for executors as pods is ignored."""

    namespace: Annotated[str, "For executors as pods: where they are."] = ""
    pod_name: Annotated[str, "For executors as pods: the driver's own pod."] = ""
    pod_ip: Annotated[str, "For executors as pods: of the driver's own pod."] = ""
    driver_host: Annotated[str, "For executors as pods: how they find the driver (a headless Service)."] = ""
    driver_port: Annotated[int, "For executors as pods: where the driver listens for them."] = 7078
    block_manager_port: Annotated[int, "For executors as pods: of the driver's block manager."] = 7079
    executor_image: Annotated[str, "Image of an executor's pod."] = ""
    executor_image_pull_policy: Annotated[str, "As Kubernetes writes it."] = "IfNotPresent"
    executor_service_account: Annotated[str, "Of an executor's pod."] = ""
    executor_template: Annotated[Path | None, "A pod template, for what settings cannot express."] = None
    executors: Annotated[int, "How many pods."] = 1
    executor_slots: Annotated[int, "Tasks that an executor runs at the same time."] = 3
    executor_cpus: Annotated[str, "As Kubernetes writes it; both request and limit."] = "1"
    executor_memory: Annotated[str, "As Java writes it; the pod gets this and the overhead."] = "2g"
    executor_memory_overhead: Annotated[str, "As Java writes it."] = "1g"
    executor_java_options: Annotated[str, "Of an executor's JVM."] = ""
    lease: Annotated[str | None, "Name of the Lease that the driver must hold to open the checkpoint."] = None

    source: Annotated[str, "Its name in metrics."] = "job"
    run_id: Annotated[str, "The run that its metrics are of, if it has only one."] = ""
    application: Annotated[str, "The pipeline to run: the name of one of ours, or FILE:FUNCTION."] = "market_spread"
    mode: Annotated[str, f"One of {', '.join(MODES)}."] = REAL_TIME
    master: Annotated[str, "`local[N]`, or `k8s://` and the API server, for executors as pods."] = "local[8]"
    checkpoint: Annotated[str, "A folder that the driver and all executors reach."]
    class_path: Annotated[str, "What comes before Spark's own jars, such as those of its Kafka connector."] = ""
    batch_s: Annotated[float, "Seconds between two commits."] = BATCH_S_DEFAULT[REAL_TIME]
    shuffle_partitions: Annotated[int, "Partitions of the state."] = 1
    topics: Annotated[str, "Topics of sources, sinks and `invalid` that have other names: `orders=orders-7`,..."] = ""
    topic_prefix: Annotated[str, "Goes before the names of all topics but those that `topics` renames."] = ""
    topic_partitions: Annotated[int, "Makes missing topics, those of sources with so many; 0 waits for them."] = 0
    topic_replicas: Annotated[int, "Copies of each partition of topics that it makes."] = 1
    driver_memory: Annotated[str, "Heap of the driver's JVM, as Java writes it."] = "2g"
    java_options: Annotated[str, "Of the driver's JVM."] = ""
    local_folder: Annotated[Path | None, "For temporary files of Spark; unset: one that is removed at the end."] = None
    restarts_max: Annotated[int, "Restarts after failures without a commit between; the next ends the job."] = 3
    slots_timeout_s: Annotated[float, "Seconds to wait for executors with enough slots."] = 300.0
    stop_wait_s: Annotated[float, "Seconds that a signal waits for the batch; with 0 the next start repeats it."] = 0.0
    replica: Annotated[int, "Which of the replicas this is, from 0."] = 0
    replicas: Annotated[int, "Jobs that read the same topics, each with its own checkpoint, and commit in turn."] = 1
    standby: Annotated[bool, "Stand by, warm, while another driver with the same checkpoint lives."] = False
    warm_up_batches: Annotated[int, "Short batches that a new checkpoint begins with."] = 30
    warm_up_timeout_s: Annotated[float, "Seconds after which there are no more of them."] = 60.0
    ui_port: Annotated[int | None, "Of Spark's UI and its Prometheus endpoints; unset: neither is there."] = None

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
        return {name: renamed.get(name, self.topic_prefix + name) for name in names}
