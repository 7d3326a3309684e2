"""The executor's command, as Spark's own image makes it, from the variables that Spark sets."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.streaming.driver.kubernetes.entrypoint import executor_command, main

VARIABLES = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@198.18.0.4:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "6",
    "SPARK_EXECUTOR_MEMORY": "2g",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "198.18.0.9",
    "SPARK_EXECUTOR_POD_NAME": "spread-job-0-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    **{f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0, 1)},
    "SPARK_CONF_DIR": "/opt/spark/conf",
}


def test_executor_is_the_jvm_that_spark_asks_for() -> None:
    command = executor_command(VARIABLES, java="/opt/java/bin/java", spark_home=Path("/site/pyspark"))

    assert " ".join(command) == (
        "/opt/java/bin/java -Dn=0 -Dn=1 -Dn=2 -Dn=10 -Xms2g -Xmx2g -cp /site/pyspark/conf:/site/pyspark/jars/* "
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend "
        "--driver-url spark://CoarseGrainedScheduler@198.18.0.4:7078 --executor-id 3 --cores 6 "
        "--app-id spark-application-1 --hostname 198.18.0.9 --resourceProfileId 0 --podName spread-job-0-exec-3"
    )


def test_all_variables_that_are_missing_are_named() -> None:
    variables = {
        name: VARIABLES[name] for name in VARIABLES if name not in ("SPARK_DRIVER_URL", "SPARK_EXECUTOR_MEMORY")
    }

    with pytest.raises(UsageError, match=r"^SPARK_DRIVER_URL, SPARK_EXECUTOR_MEMORY not set; `executor` is started by"):
        executor_command(variables, java="java", spark_home=Path("/site/pyspark"))


@pytest.mark.parametrize("arguments", [[], ["worker"], ["driver", "now"]])
def test_other_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "takes driver or executor" in capsys.readouterr().out
