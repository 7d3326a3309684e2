"""Executors as pods: what the driver must be told, and what Spark is told then."""

from pathlib import Path
from typing import Any

import pytest

from market_spread.common.config import from_environment, to_environment
from market_spread.common.errors import UsageError
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.driver.session import pod_settings, without_collector

MASTER = "k8s://https://kubernetes.default.svc:443"


def config(**changes: Any) -> JobConfig:
    told = {"namespace": "spread", "pod_name": "spread-job-0", "pod_ip": "198.18.0.4", "executor_image": "spark:dev"}
    settings = {"bootstrap_servers": "kafka:9092", "checkpoint": "/checkpoint", "master": MASTER, **told}
    return JobConfig(**{**settings, "driver_host": "spread-job-0.spread-job", **changes})


def test_executors_belong_to_the_drivers_pod_and_find_it_by_its_address() -> None:
    settings = pod_settings(config())

    assert settings["spark.kubernetes.driver.pod.name"] == "spread-job-0"
    assert settings["spark.kubernetes.executor.podNamePrefix"] == "spread-job-0"
    assert settings["spark.driver.bindAddress"] == "198.18.0.4"
    assert settings["spark.driver.host"] == "spread-job-0.spread-job"


def test_executor_asks_for_as_much_cpu_as_it_may_use() -> None:
    settings = pod_settings(config(executor_cpus="4", executors=2, executor_slots=7))

    assert settings["spark.kubernetes.executor.request.cores"] == "4"
    assert settings["spark.kubernetes.executor.limit.cores"] == "4"
    assert settings["spark.executor.cores"] == "7"
    assert settings["spark.executor.instances"] == "2"


def test_executors_may_ask_the_endpoint_of_kafkas_tokens_and_no_other() -> None:
    tokens = {
        "kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "OAUTHBEARER", "kafka_username": "spread",
        "kafka_password_file": Path("secret"), "kafka_token_endpoint": "https://login.example.com/t",
    }  # fmt: skip
    allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://login.example.com/t"

    with_tokens = pod_settings(config(executor_java_options="-Xss1m", **tokens))

    assert with_tokens["spark.executor.extraJavaOptions"] == f"-Xss1m {allowed}"
    assert pod_settings(config(executor_java_options="-Xss1m"))["spark.executor.extraJavaOptions"] == "-Xss1m"


def test_executors_may_be_lost_now_and_then() -> None:
    settings = pod_settings(config(executors=2))

    assert settings["spark.executor.maxNumFailures"] == "20"
    assert settings["spark.executor.failuresValidityInterval"] == "10m"


def test_spark_makes_and_removes_nothing_but_pods() -> None:
    settings = pod_settings(config())

    assert settings["spark.kubernetes.executor.disableConfigMap"] == "true"
    assert settings["spark.kubernetes.driver.ownPersistentVolumeClaim"] == "false"
    assert settings["spark.kubernetes.driver.reusePersistentVolumeClaim"] == "false"
    assert settings["spark.kubernetes.driver.service.deleteOnTermination"] == "false"


def test_what_pods_need_is_asked_for_at_once() -> None:
    environment = to_environment(config(namespace="spread", executor_memory="2g")) | {
        "MARKET_SPREAD_POD_IP": "",
        "MARKET_SPREAD_EXECUTORS": "0",
        "MARKET_SPREAD_EXECUTOR_MEMORY": "2GB",
    }

    with pytest.raises(UsageError) as raised:
        from_environment(JobConfig, environment)

    assert str(raised.value) == (
        "pod_ip is not set; executors as pods need it; executors=0; use 1 or more; "
        "executor_memory='2GB'; write 512m or 2g"
    )


def test_job_of_one_machine_needs_none_of_it() -> None:
    job = config(master="local[3]", namespace="", pod_ip="", executor_image="")

    assert job.pod_name == "spread-job-0"


def test_chosen_collector_replaces_that_of_the_mode() -> None:
    of_mode = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"

    assert without_collector(of_mode, "-Xlog:gc") == of_mode
    assert without_collector(of_mode, "-XX:+UseSerialGC -Xlog:gc") == "-XX:-DontCompileHugeMethods"
