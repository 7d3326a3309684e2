"""The Spark session of the driver."""

from pyspark.sql import SparkSession

from market_spread.streaming.job.config import JobConfig
from market_spread.streaming.modes.registry import BY_NAME


def open_session(config: JobConfig) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM."""
    settings = {
        **BY_NAME[config.mode].session_settings,
        "spark.jars": config.connector_jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(config.shuffle_partitions),
        "spark.driver.memory": config.driver_memory,
        "spark.driver.extraJavaOptions": config.java_options,
        "spark.local.dir": str(config.local_folder),
        "spark.sql.warehouse.dir": str(config.local_folder / "warehouse"),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{round(config.slots_timeout_s)}s",
    }
    builder = SparkSession.builder.master(config.master).appName("market-spread")
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    return builder.getOrCreate()
