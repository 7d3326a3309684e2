"""kubectl, as tests and the ground itself use it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.ground import binaries
from tests.cluster.ground.errors import GroundError, run

_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl for one cluster and one namespace."""

    kubeconfig: Path
    namespace: str = "default"

    def __call__(self, *words: str, text: str = "", timeout_s: float = 60) -> str:
        """The output of a command. GroundError if it fails."""
        return run([*self.command(), *words], text=text, timeout_s=timeout_s)

    def command(self) -> list[str]:
        """What every command begins with."""
        return [str(binaries.KUBECTL.path), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}"]

    def get(self, *words: str) -> dict[str, Any]:
        """An object, or a list of objects under `items`."""
        found: dict[str, Any] = json.loads(self("get", *words, "--output=json"))
        return found

    def items(self, *words: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        found: list[dict[str, Any]] = self.get(*words)["items"]
        return found

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects."""
        self("apply", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def delete(self, *words: str) -> None:
        """Delete objects at once; what is not there counts as deleted."""
        self("delete", *words, "--ignore-not-found", "--grace-period=1", timeout_s=120)

    def exec(self, pod: str, *command: str) -> str:
        """The output of a command inside of a pod."""
        return self("exec", pod, "--", *command)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that goes on; whoever starts it ends it."""
        return subprocess.Popen([*self.command(), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def wait_ready(self, pod: str, *, within_s: float = 60) -> dict[str, Any]:
        """Wait until a pod is Ready; returns it. GroundError with what is known of it if it is not."""
        try:
            self("wait", f"pod/{pod}", "--for=condition=Ready", f"--timeout={within_s:g}s", timeout_s=within_s + 10)
        except GroundError as error:
            raise GroundError(f"{error}: {self.state_of(pod)}") from error
        return self.get("pod", pod)

    def state_of(self, pod: str) -> str:
        """What the cluster says of a pod, and the end of its log."""
        try:
            described = self("describe", "pod", pod).splitlines()[-12:]
            return "\n".join([*described, *self("logs", pod, "--all-containers", "--tail=20").splitlines()])
        except GroundError as error:
            return str(error)


@contextmanager
def cordoned(kubectl: Kubectl, *names: str) -> Iterator[None]:
    """Nodes that take no more pods meanwhile; those that were cordoned before stay so."""
    open_ones = [name for name in names if not kubectl.get("node", name)["spec"].get("unschedulable")]
    for name in open_ones:
        kubectl("cordon", name)
    try:
        yield
    finally:
        for name in open_ones:
            kubectl("uncordon", name)


def wait_for(what: str, met: Callable[[], bool], *, within_s: float) -> float:
    """Wait until it is met; returns the seconds it took. GroundError, with what was waited for, if it is not."""
    started = time.monotonic()
    while not met():
        if time.monotonic() - started > within_s:
            raise GroundError(f"{what}: not within {within_s:g} s")
        time.sleep(_POLL_S)
    return time.monotonic() - started
