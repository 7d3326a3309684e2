"""The Spark session of the driver."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes import registry
from market_spread.streaming.modes.registry import BY_NAME, read_settings

_HERE = Path(__file__).parent
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


def open_session(config: JobConfig, folder: Path) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM. folder: for temporary files."""
    mode = BY_NAME[config.mode]
    more = {
        "spark.driver.extraClassPath": config.class_path,
        # Hadoop's own starts a `chmod` for each file, eight while the output stands still between two batches. This one
        # comes with the connector.
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
        "spark.driver.extraJavaOptions": f"{config.java_options} {config.java_flags()}".strip(),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{round(config.slots_timeout_s)}s",
        **(pod_settings(config) if config.is_on_kubernetes else {}),
        **(read_settings(_HERE / "monitored.conf", {"ui_port": config.ui_port}) if config.ui_port is not None else {}),
    }
    for process, own_options in (("driver", config.java_options), ("executor", config.executor_java_options)):
        name = f"spark.{process}.defaultJavaOptions"
        more[name] = without_collector(mode.session_settings[name], own_options)
    return registry.open_session(
        mode, master=config.master, state_partitions=config.shuffle_partitions, memory=config.driver_memory,
        folder=str(folder), more=more,
    )  # fmt: skip


def pod_settings(config: JobConfig) -> dict[str, str]:
    """Spark's settings for executors as pods, those of `executors.conf`. An empty value means unset."""
    values = {
        **asdict(config),
        "executor_template": config.executor_template or "",
        "executor_java_options": f"{config.executor_java_options} {config.java_flags()}".strip(),
        "lost_executors_max": 10 * config.executors,
        "slots_timeout_s": round(config.slots_timeout_s),
    }
    return read_settings(_HERE / "kubernetes" / "executors.conf", values)


def without_collector(default_options: str, own_options: str) -> str:
    """The mode's JVM options, without its garbage collector if the operator has chosen one: Java refuses two."""
    if not _COLLECTOR.search(own_options):
        return default_options
    return " ".join(_COLLECTOR.sub("", default_options).split())


def effective_settings(spark: SparkSession) -> dict[str, dict[str, str]]:
    """The settings in effect, read back from the session (`spark`) and its JVM (`jvm`).

    Of Spark: every setting of the context and of SQL that is not left to its default.
    """
    context: Any = spark.sparkContext
    runtime = context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    return {
        "spark": {"version": spark.version, **dict(context.getConf().getAll()), **spark.conf.getAll},
        "jvm": {
            "name": str(runtime.getVmName()),
            "version": str(runtime.getVmVersion()),
            "heap_bytes_max": str(context._jvm.java.lang.Runtime.getRuntime().maxMemory()),
            "arguments": " ".join(str(argument) for argument in runtime.getInputArguments()),
        },
    }
