"""The Spark session of the driver."""

from pyspark.sql import SparkSession

from market_spread.streaming.job.config import JobConfig
from market_spread.streaming.modes.registry import BY_NAME

_NOT_MONITORED = {"spark.ui.enabled": "false"}


def open_session(config: JobConfig) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM."""
    settings = {
        **BY_NAME[config.mode].session_settings,
        "spark.jars": config.connector_jars,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(config.shuffle_partitions),
        "spark.driver.memory": config.driver_memory,
        "spark.driver.extraJavaOptions": config.java_options,
        "spark.local.dir": str(config.local_folder),
        "spark.sql.warehouse.dir": str(config.local_folder / "warehouse"),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{round(config.slots_timeout_s)}s",
        **(_NOT_MONITORED if config.ui_port is None else _monitored(config.ui_port)),
    }
    builder = SparkSession.builder.master(config.master).appName("market-spread")
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    return builder.getOrCreate()


def _monitored(ui_port: int) -> dict[str, str]:
    """The UI, and on it /metrics/prometheus for the driver and /metrics/executors/prometheus."""
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.port.maxRetries": "0",  # another port than the one that is scraped is of no use
        "spark.ui.prometheus.enabled": "true",
        "spark.metrics.namespace": "spark",  # in place of the application's id, so that names stay the same
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
        "spark.metrics.conf.*.source.jvm.class": "org.apache.spark.metrics.source.JvmSource",
        "spark.sql.streaming.metricsEnabled": "true",
    }
