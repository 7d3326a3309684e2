"""The processes of a run whose system is the user's: an `Environment` as any other, but for what stands for the job."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from market_spread.common.config import to_environment
from market_spread.common.errors import UsageError
from market_spread.common.job_contract import REAL_TIME, TOPICS, slots_needed
from market_spread.common.jvm.jars import spark_home
from market_spread.common.kafka.client import Partition
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.deploy.local.system_driver import SystemDriverConfig
from market_spread.controller.plan.system import SparkKeys, SystemWorkload
from market_spread.controller.run_folder import Section
from market_spread.streaming import INVALID
from market_spread.streaming.applications.registry import find_checked
from market_spread.streaming.modes.registry import LOOPBACK
from market_spread.streaming.modes.support import check


@dataclass(eq=False, kw_only=True)
class SystemStack(LocalStack):
    """With the system of the workload in place of our application, or nothing at all if it runs already.

    begin: where each partition of its topics ended before the run.
    """

    workload: SystemWorkload

    job_waits_for_topics = False

    def __post_init__(self) -> None:
        require_fitting(self.workload)
        super().__post_init__()
        self.begin: Mapping[Partition, int] = {}
        self.is_new = self.workload.kafka.bootstrap is None  # else its topics may hold something

    @property
    def bootstrap_servers(self) -> str:
        return self.workload.kafka.bootstrap or super().bootstrap_servers

    @property
    def security(self) -> KafkaSecurity:
        return self.workload.kafka.read_security

    def start(self) -> Addresses:
        return replace(super().start(), topics=replace(TOPICS, invalid=self.workload.invalid_topic))

    def broker_cpu_us(self) -> int | None:
        return super().broker_cpu_us() if self.is_new else None

    def _launch_broker(self) -> None:
        if self.is_new:
            super()._launch_broker()

    def sections(self, addresses: Addresses) -> Mapping[str, Section]:
        return {**super().sections(addresses), "system": {"kind": self.workload.system.kind}}

    def _make_topics(self) -> None:
        if self.is_new:
            self.broker.wait()
        workload, kafka = self.workload, self.kafka
        topics = workload.topics
        kafka.create_topics(topics, appended=[each.topic for each in workload.output])
        self.begin = kafka.end_offsets(list(topics))
        full = sorted({place[0] for place, at in self.begin.items() if at})
        if full and workload.system.pipeline is not None:
            raise UsageError(
                f"the topic {full[0]} holds records already, and a pipeline reads all of it; name a new one"
            )

    def _start_job(self, replica: int, port: int = 0) -> None:
        if (application := self.workload.system.pipeline) is None:
            self._start_system(port)
            return
        workload, config = self.workload, self._job_config(replica, port)
        partitions = sum(each.partitions for each in workload.input)
        ends = [it.topic for it in workload.input] + [it.topic for it in workload.output]
        topics = {workload.plain(topic): topic for topic in ends}
        config = replace(
            config,
            application=application,
            master=f"local[{slots_needed(REAL_TIME, partitions, config.shuffle_partitions)}]",
            topics=",".join(f"{name}={it}" for name, it in {**topics, INVALID: workload.invalid_topic}.items()),
        )
        # Where Spark's workers find what the application's file imports from beside it.
        self._start_driver(config, {"PYTHONPATH": str(Path(application.rpartition(":")[0]).parent)})

    def _start_system(self, port: int) -> None:
        workload, system = self.workload, self.workload.system
        inputs = {each.topic for each in workload.input}
        environment = {
            "MARKET_SPREAD_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "MARKET_SPREAD_GROUP": workload.group,
            "MARKET_SPREAD_INPUT": ",".join(each.topic for each in workload.input),
            "MARKET_SPREAD_OUTPUT": ",".join(each.topic for each in workload.output),
            **to_environment(self.security),
        }
        command, checkpoints = list(system.command or ()), None
        if self.is_new:  # else the system may be a Spark of several machines
            environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        if command[:1] == ["python"]:
            command[0] = sys.executable
        if system.spark is not None:
            checkpoints = self.folder / "checkpoints"
            command = self._submit(system.spark, checkpoints)
            environment |= {**self._jvms.job_environment, "PYSPARK_PYTHON": sys.executable}
        folder = Path(system.folder)
        if not folder.is_dir():
            raise UsageError(f"system.folder={system.folder!r} is no folder; name that in which to start the command")
        config = SystemDriverConfig(
            bootstrap_servers=self.bootstrap_servers, grpc_port=port,
            ports_file=self._services.ports_file("job"), aggregator_address=self._pushing, run_id=self.run_id,
            groups=len(workload.input) * len(workload.output), kind=system.kind, group=workload.group,
            checkpoints=checkpoints,
            begin=json.dumps([[*place, offset] for place, offset in self.begin.items() if place[0] in inputs]),
            folder=folder, log=self.folder / "system.log", command=json.dumps(command),
            environment=json.dumps(environment), **asdict(self.security),
        )  # fmt: skip
        self._services.start("job", "market_spread.controller.deploy.local.system_driver", config)

    def _submit(self, spark: SparkKeys, checkpoints: Path) -> list[str]:
        """The words that start a script by PySpark's own `spark-submit`; the user's options win over ours."""
        settings = {
            "spark.driver.extraClassPath": self._jvms.class_path,
            "spark.local.dir": str(self.folder / "spark"),
            "spark.sql.warehouse.dir": str(self.folder / "spark" / "warehouse"),
            "spark.ui.enabled": "false",
            **LOOPBACK,
        }
        if not any("master" in word for word in spark.submit):  # with another one it would need a secret
            settings |= {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
        conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        partitions = sum(each.partitions for each in self.workload.input)
        return [
            *(str(spark_home() / "bin" / "spark-submit"), "--master", f"local[{partitions}]", *conf, *spark.submit),
            *("--conf", f"spark.sql.streaming.checkpointLocation={checkpoints}", spark.script),
        ]


def require_fitting(workload: SystemWorkload) -> None:
    """UsageError if the pipeline cannot run as it is asked to, or the script is not there."""
    system = workload.system
    if system.spark is not None and not Path(system.spark.script).is_file():
        raise UsageError(f"system.spark.script={system.spark.script!r} is no file; name the script")
    if system.pipeline is None:
        return
    pipeline = find_checked(system.pipeline)
    check(pipeline, workload.job.mode)
    ends = {
        "source": ("input", [it.name for it in pipeline.sources], [workload.plain(it.topic) for it in workload.input]),
        "sink": ("output", [*pipeline.outputs], [workload.plain(it.topic) for it in workload.output]),
    }
    for end, (key, has, named) in ends.items():
        if unknown := sorted(set(named) - set(has)):
            raise UsageError(f"{key}: {pipeline.name} has no {end} {unknown[0]!r}; it has {', '.join(has)}")
        if left := sorted(set(has) - set(named)):
            raise UsageError(f"{key}: {pipeline.name} has the {end} {left[0]!r}, which has no topic here; name it, too")
