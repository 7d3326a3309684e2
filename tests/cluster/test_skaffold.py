"""skaffold.yaml by a released Skaffold: a changed file goes into the running pod, and all of it goes at the end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.kubectl import Kubectl
from tests.cluster.releases import Release
from tests.support.paths import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(900)
_SYNCED = "services/sender/src/market_spread/sender/__main__.py"
_BUILT = "services/sender/pyproject.toml"


class Developing:
    """A `skaffold dev` in a copy of this checkout."""

    def __init__(self, tree: Path, kubectl: Kubectl) -> None:
        self.tree = tree
        self._log = tree.parent / "skaffold.log"
        path = f"{binaries.HELM.folder}:{binaries.KUBECTL.folder}:{os.environ['PATH']}"
        variables = {"PATH": path, "KUBECONFIG": str(kubectl.kubeconfig), "PYTHONPATH": str(ROOT)}
        own = [f"--config={tree.parent / 'skaffold.yaml'}", f"--cache-file={tree.parent / 'cache.yaml'}"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [binaries.SKAFFOLD.path, "dev", "--interactive=false", "--update-check=false", "--filename=dev.yaml",
                 *own],
                cwd=tree, env=os.environ | variables, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def said(self) -> str:
        """All that it has said, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self._log.read_text())

    def wait_for(self, what: str, condition: Callable[[str], object], *, within_s: float) -> float:
        """Wait until what it has said has this; returns the seconds that it took."""

        def still_runs() -> None:
            assert self._process.poll() is None, self.said[-3000:]

        return eventually(
            what, lambda: condition(self.said), within_s=within_s, check=still_runs, detail=lambda: self.said[-3000:]
        )

    def end(self) -> int:
        """As Ctrl-C does; its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return self._process.wait(180)


@pytest.fixture
def developing(ground: Cluster, kubectl: Kubectl, registry: str, tmp_path: Path) -> Iterator[Developing]:
    """`skaffold dev` of the sender; the other images are on the nodes, as tests build them."""
    binaries.build_missing((binaries.HELM, binaries.SKAFFOLD))
    ground.load([*(each for name, each in images.product_images().items() if name != "sender"), images.kafka_image()])
    tree = tmp_path / "checkout"
    for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if name and not name.startswith(("tests/", "docs/")) and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    config = yaml.safe_load((ROOT / "skaffold.yaml").read_text())
    for_this_cluster(config, registry, kubectl.namespace)
    (tree / "dev.yaml").write_text(yaml.safe_dump(config))
    started = Developing(tree, kubectl)
    yield started
    started.end()


def for_this_cluster(config: dict[str, Any], registry: str, namespace: str) -> None:
    """Make skaffold.yaml fit a machine without Docker, and the cluster of the tests.

    The sender alone is built, by buildah; what is synchronised, and all hooks, templates and ports, stay as they are.
    """
    (sender,) = (each for each in config["build"]["artifacts"] if each["image"] == "market-spread/sender")
    dockerfile = sender.pop("docker")["dockerfile"]
    command = f"{sys.executable} -m tests.cluster.skaffold_builder sender"
    # Of a Dockerfile it would ask the base's registry, which is not here.
    parts = [dockerfile, *(str(part.relative_to(ROOT)) for part in images.copied_by(ROOT / dockerfile))]
    sender |= {
        "image": f"{registry}/market-spread/sender",
        "custom": {"buildCommand": command, "dependencies": {"paths": parts}},
    }
    config["build"] |= {"artifacts": [sender], "local": {"push": True}, "insecureRegistries": [registry]}
    (dev,) = (profile for profile in config["profiles"] if profile["name"] == "dev")
    config["profiles"] = [dev]
    for part in (config, dev):
        for release in part["deploy"]["helm"]["releases"]:
            release["namespace"] = namespace
            if release["chartPath"] == "charts/market-spread":
                templates = release["setValueTemplates"]
                key = f"IMAGE_FULLY_QUALIFIED_{re.sub(r'[^A-Za-z0-9]', '_', sender['image'])}"
                release["setValueTemplates"] = {"images.sender": f"{{{{.{key}}}}}"}
                assert set(templates) > {"images.sender"}
                release["valuesFiles"] = ["charts/market-spread/values-ci.yaml"]
                release["setValues"] = release.get("setValues", {}) | {
                    # It needs no CPU of its own here.
                    "job.executors.pinned": False,
                    "job.executors.pool": "",
                    "job.executors.cpu": "300m",
                }
    (forward,) = config["portForward"]
    forward["namespace"] = namespace


@pytest.mark.full
def test_a_changed_file_goes_into_the_running_pod_and_another_one_builds_it_anew(
    developing: Developing, kubectl: Kubectl
) -> None:
    release = Release("market-spread", "market-spread", kubectl)
    developing.wait_for("it watches", lambda said: "Watching for changes" in said, within_s=400)
    (before,) = release.pods("sender")

    source = developing.tree / _SYNCED
    source.write_text(source.read_text().replace('"""', '"""Changed. ', 1))
    began = time.monotonic()
    developing.wait_for("it synchronises", lambda said: "Syncing 1 files" in said, within_s=60)

    def restarted() -> bool:
        (sender,) = release.pods("sender")
        (status,) = sender["status"]["containerStatuses"]
        return bool(status["restartCount"] == 1 and status["ready"])

    eventually("the sender runs again", restarted, within_s=60, detail=lambda: developing.said[-2000:])
    took_s = time.monotonic() - began
    (after,) = release.pods("sender")
    name = after["metadata"]["name"]
    loaded = "import market_spread.sender.__main__ as loaded; print(loaded.__file__, loaded.__doc__)"
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    told = kubectl.exec(name, "python3", "-c", loaded)
    assert told.startswith("/opt/market-spread/sync/market_spread/sender/__main__.py Changed. ")
    print(f"\na changed file was served {took_s:.1f} s after it was written")

    # What is not synchronised builds the image, and makes another pod.
    built = developing.tree / _BUILT
    built.write_text(built.read_text() + "\n# changed\n")

    def replaced() -> bool:
        found = release.pods("sender")
        return len(found) == 1 and found[0]["metadata"]["uid"] != before["metadata"]["uid"]

    eventually("another pod", replaced, within_s=200, detail=lambda: developing.said[-3000:])

    assert developing.end() == 0
    assert not release.pods("sender")
    assert "Cleaning up" in developing.said
