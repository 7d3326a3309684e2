"""Helm releases for tests: installed as an operator would, with the values for continuous integration."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.ground import binaries
from tests.cluster.ground.errors import run
from tests.cluster.ground.kubectl import Kubectl

CHARTS = Path(__file__).parents[2] / "charts"
DRIVER_POLICIES = ("market-spread.ci-market-spread-driver-creates", "market-spread.ci-market-spread-driver-deletes")


@dataclass(frozen=True, slots=True)
class Release:
    """A release of one of our charts, by its name, in a namespace."""

    name: str
    chart: str
    kubectl: Kubectl

    def install(self, *words: str, within_s: int = 300) -> None:
        """Install or change it, and wait until all of it is Ready."""
        self._helm(
            "upgrade", "--install", self.name, str(CHARTS / self.chart), "--create-namespace",
            f"--values={CHARTS / self.chart / 'values-ci.yaml'}", "--wait", f"--timeout={within_s}s", *words,
            timeout_s=within_s + 30,
        )  # fmt: skip

    def rollback(self, *, within_s: int = 300) -> None:
        """Go back to the revision before."""
        self._helm("rollback", self.name, "--wait", f"--timeout={within_s}s", timeout_s=within_s + 30)

    def test(self, *, within_s: int = 300) -> str:
        """Run its tests; what helm says of them. GroundError if one fails."""
        return self._helm("test", self.name, f"--timeout={within_s}s", timeout_s=within_s + 30)

    def uninstall(self, *, within_s: int = 120) -> None:
        """Remove it, if it is there."""
        self._helm("uninstall", self.name, "--wait", "--ignore-not-found", f"--timeout={within_s}s",
                   timeout_s=within_s + 30)  # fmt: skip

    def pods(self, component: str) -> list[dict[str, Any]]:
        """Its pods of a component, those that are on their way out left out."""
        found = self.kubectl.items("pods", f"--selector={self.selector},app.kubernetes.io/component={component}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def objects(self) -> list[str]:
        """All that carries its label, as kind/name."""
        return self.all_in_namespace(f"--selector={self.selector}")

    def all_in_namespace(self, *words: str) -> list[str]:
        """Whatever is in its namespace, as kind/name, but for events."""
        kinds = self.kubectl("api-resources", "--namespaced", "--verbs=list,delete", "--output=name").split()
        listed = [kind for kind in kinds if not kind.startswith(("events", "endpoint"))]
        return self.kubectl("get", ",".join(listed), "--output=name", *words).split()

    @property
    def selector(self) -> str:
        """The label that all its objects carry."""
        return f"app.kubernetes.io/instance={self.name}"

    def _helm(self, *words: str, timeout_s: float = 60) -> str:
        kubectl = self.kubectl
        command = [binaries.HELM.path, f"--kubeconfig={kubectl.kubeconfig}", f"--namespace={kubectl.namespace}", *words]
        return run(command, timeout_s=timeout_s)


@contextmanager
def unbound_policies(kubectl: Kubectl) -> Iterator[None]:
    """The admission policies of the driver of `ci` are bound to nothing meanwhile, as if they were not there."""
    kind = "validatingadmissionpolicybinding"
    bindings = [kubectl.get(kind, name) for name in DRIVER_POLICIES]
    kubectl("delete", kind, *DRIVER_POLICIES)
    try:
        yield
    finally:
        for binding in bindings:
            for set_by_the_server in ("uid", "resourceVersion", "creationTimestamp"):
                del binding["metadata"][set_by_the_server]
        kubectl.apply(*bindings)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether the pod is Ready."""
    conditions = pod["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
