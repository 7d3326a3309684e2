"""What the session is told; nothing of Spark is started."""

import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from market_spread.streaming.driver import session
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes import registry


class Builder:
    """SparkSession's builder, as far as it is used; it keeps the settings."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    def master(self, master: str) -> "Builder":
        return self

    def appName(self, name: str) -> "Builder":  # noqa: N802 - Spark's name
        return self

    def config(self, *, map: dict[str, str]) -> "Builder":  # noqa: A002 - Spark's name
        self.settings |= map
        return self

    def getOrCreate(self) -> None:  # noqa: N802 - Spark's name
        return None


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    builder = Builder()
    monkeypatch.setattr(registry, "SparkSession", SimpleNamespace(builder=builder))
    for name in ("PYSPARK_PYTHON", "ROCKSDB_SHAREDLIB_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(builder, "getOrCreate", lambda: builder.settings.update(os.environ))
    return builder.settings


def open_with(**changes: Any) -> None:
    folder = changes.pop("folder", Path("/tmp"))
    session.open_session(JobConfig(bootstrap_servers="nowhere:1", checkpoint="/nowhere", **changes), folder)


def test_there_is_no_ui_unless_it_is_asked_for(settings: dict[str, str]) -> None:
    open_with()

    assert settings["spark.ui.enabled"] == "false"
    assert not [name for name in settings if name.startswith("spark.metrics")]


def test_a_local_driver_listens_on_loopback_and_makes_its_own_secret(settings: dict[str, str]) -> None:
    open_with(master="local[4]")

    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert not [name for name in settings if name.startswith("spark.authenticate.secret")]


def test_a_job_that_is_monitored_has_its_endpoints_at_the_port(settings: dict[str, str]) -> None:
    open_with(ui_port=4041)

    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.ui.port"] == "4041"
    assert settings["spark.port.maxRetries"] == "0"
    assert settings["spark.metrics.conf.*.sink.prometheusServlet.path"] == "/metrics/prometheus"
    assert settings["spark.sql.streaming.metricsEnabled"] == "true"


def test_executors_as_pods_are_described_and_get_no_volume_at_tmp(settings: dict[str, str]) -> None:
    told = {"namespace": "spread", "pod_name": "job-0", "pod_ip": "198.18.0.4", "driver_host": "job-0.job"}
    open_with(master="k8s://https://kubernetes.default.svc:443", executor_image="spark:dev", **told)

    assert settings["spark.kubernetes.container.image"] == "spark:dev"
    assert settings["spark.executor.cores"] == "3"
    assert not {"spark.local.dir", "spark.python.unix.domain.socket.dir"} & settings.keys()


def test_the_jvm_unpacks_into_the_folder_of_the_job(settings: dict[str, str], tmp_path: Path) -> None:
    open_with(folder=tmp_path, java_options="-Xlog:gc")

    assert settings["spark.driver.extraJavaOptions"] == f"'-Djava.io.tmpdir={tmp_path}' -Xms2g -Xlog:gc"
    assert settings["ROCKSDB_SHAREDLIB_DIR"] == str(tmp_path)


def test_the_environment_is_as_it_was_once_the_jvm_runs(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that this process starts later, and a second session, have folders of their own."""
    monkeypatch.setenv("PYSPARK_PYTHON", "of the user")

    open_with()

    assert settings["PYSPARK_PYTHON"] == os.environ["PYSPARK_PYTHON"] == "of the user"
    assert "ROCKSDB_SHAREDLIB_DIR" not in os.environ


def test_workers_run_the_python_that_the_job_runs(settings: dict[str, str]) -> None:
    open_with()

    assert settings["PYSPARK_PYTHON"] == sys.executable


def test_collector_that_the_operator_chooses_is_the_only_one(settings: dict[str, str]) -> None:
    open_with(executor_java_options="-XX:+UseSerialGC")

    assert "GC" not in settings["spark.executor.defaultJavaOptions"]
    assert "-XX:+UseParallelGC" in settings["spark.driver.defaultJavaOptions"]


@pytest.mark.parametrize(("length", "fits"), [(64, True), (65, False)])
def test_sockets_are_in_the_job_s_folder_where_their_paths_fit(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, length: int, fits: bool
) -> None:
    """Else in the system's temporary folder: unset, they would be in the JVM's, which is the job's."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    folder = Path("/tmp", "f" * (length - len("/tmp/")))
    try:
        open_with(folder=folder)
    finally:
        folder.rmdir()

    assert settings.get("spark.python.unix.domain.socket.dir") == (str(folder) if fits else "/tmp")


@pytest.mark.parametrize(("temporary", "found"), [("/tmp/small", "/tmp/small"), ("/tmp/Large", "/tmp")])
def test_sockets_are_where_a_worker_finds_them_that_reads_paths_in_lower_case(
    settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: str, found: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    open_with(folder=tmp_path / "Job")

    assert settings["spark.python.unix.domain.socket.dir"] == found
