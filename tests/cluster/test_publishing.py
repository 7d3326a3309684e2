"""The charts come from a real registry as they were pushed; needs no cluster, but a program of its modules."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster.ground import binaries
from tests.support.paths import ROOT


def helm(*words: object) -> None:
    binaries.build_missing((binaries.HELM,))
    subprocess.run([binaries.HELM.path, *map(str, words)], check=True, capture_output=True, timeout=60)


def publish(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = f"{binaries.HELM.folder}:{os.environ['PATH']}"
    return subprocess.run(
        [ROOT / ".ci/publish", folder, *words],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pushed_chart_is_pulled_as_it_was(registry: str, tmp_path: Path) -> None:
    charts = ("market-spread", "host-tuning")
    helm("package", "--destination", tmp_path / "dist", *(ROOT / "charts" / chart for chart in charts))

    pushed = publish(tmp_path / "dist", f"oci://{registry}/charts", "--plain-http")

    assert pushed.returncode == 0, pushed.stderr
    for chart in charts:
        helm("pull", f"oci://{registry}/charts/{chart}", "--version=0.1.0", "--plain-http", "--destination", tmp_path)
        name = f"{chart}-0.1.0.tgz"
        assert (tmp_path / name).read_bytes() == (tmp_path / "dist" / name).read_bytes()


@pytest.mark.parametrize("target", ["", "oci://team/charts", "registry.example.com/charts"])
def test_charts_go_to_a_registry_that_is_named(target: str, tmp_path: Path) -> None:
    (tmp_path / "a-0.1.0.tgz").touch()

    refused = publish(tmp_path, target)

    assert refused.returncode == 2
    assert "names no registry and path" in refused.stderr


def test_a_folder_without_charts_is_refused(tmp_path: Path) -> None:
    refused = publish(tmp_path, "oci://localhost:1/charts")

    assert refused.returncode == 2
    assert "has no packaged chart" in refused.stderr
