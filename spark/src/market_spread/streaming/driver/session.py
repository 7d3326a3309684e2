"""The Spark session of the driver."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from market_spread.common.config import prepare_spark
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.driver.kubernetes.executors import is_on_kubernetes, pod_settings, without_collector
from market_spread.streaming.modes import registry
from market_spread.streaming.modes.registry import BY_NAME

# A socket's path has at most 107 bytes, and its name `/.<uuid>.sock` takes 43. With less room, sockets are in /tmp.
_SOCKET_FOLDER_BYTES_MAX = 64


def open_session(config: JobConfig, folder: Path) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM. folder: for temporary files."""
    folder.mkdir(parents=True, exist_ok=True)
    prepare_spark(folder)
    mode, on_kubernetes = BY_NAME[config.mode], is_on_kubernetes(config.master)
    more = {
        "spark.python.unix.domain.socket.dir": str(folder) if len(bytes(folder)) <= _SOCKET_FOLDER_BYTES_MAX else "",
        "spark.jars": config.connector_jars,
        "spark.driver.extraJavaOptions": config.java_options,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{round(config.slots_timeout_s)}s",
        # In pods Spark would mount a volume there, in addition to the template's for /tmp.
        **({"spark.local.dir": "", **pod_settings(config, config.slots_timeout_s)} if on_kubernetes else {}),
        **(_monitored(config.ui_port) if config.ui_port is not None else {}),
    }
    for process, own_options in (("driver", config.java_options), ("executor", config.executor_java_options)):
        name = f"spark.{process}.defaultJavaOptions"
        more[name] = without_collector(mode.session_settings[name], own_options)
    return registry.open_session(
        mode,
        master=config.master,
        state_partitions=config.shuffle_partitions,
        memory=config.driver_memory,
        folder=str(folder),
        more=more,
    )


def effective_settings(spark: SparkSession) -> dict[str, dict[str, str]]:
    """The settings in effect, read back from the session (`spark`) and its JVM (`jvm`).

    Of Spark: every setting of the context and of SQL that is not left to its default.
    """
    context: Any = spark.sparkContext
    runtime = context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    session: Any = spark
    sql: dict[str, str] = dict(_pairs(session._jsparkSession.sessionState().conf().getAllConfs().mkString(_PAIR_END)))
    return {
        "spark": {"version": spark.version, **dict(context.getConf().getAll()), **sql},
        "jvm": {
            "name": str(runtime.getVmName()),
            "version": str(runtime.getVmVersion()),
            "heap_bytes_max": str(context._jvm.java.lang.Runtime.getRuntime().maxMemory()),
            "arguments": " ".join(str(argument) for argument in runtime.getInputArguments()),
        },
    }


# A character that no setting contains.
_PAIR_END = "\x00"


def _pairs(text: str) -> list[tuple[str, str]]:
    """The names and values of a Scala map, given as one text so that one call into the JVM fetches all."""
    found = (pair.partition(" -> ") for pair in text.split(_PAIR_END) if pair)
    return [(name, value) for name, _, value in found]


def _monitored(ui_port: int) -> dict[str, str]:
    """The UI, with /metrics/prometheus for the driver and /metrics/executors/prometheus."""
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.port.maxRetries": "0",  # Prometheus scrapes only this port
        "spark.ui.prometheus.enabled": "true",
        "spark.metrics.namespace": "spark",  # instead of the application's id, so names stay the same
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
        "spark.metrics.conf.*.source.jvm.class": "org.apache.spark.metrics.source.JvmSource",
        "spark.sql.streaming.metricsEnabled": "true",
    }
