"""The programs of the cluster, built from their Go modules once and kept, as tests/cluster/tools pins them."""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from market_spread.common.config import home_folder
from tests.cluster.ground.errors import GroundError, run

TOOLS = Path(__file__).parents[1] / "tools"
PAUSE_SOURCE = Path(__file__).parents[1] / "images" / "pause" / "pause.go"
_BUILD_S = 1800
_GO_VERSION_MIN = (1, 26)


@dataclass(frozen=True, slots=True)
class Program:
    """A program: the package it is built from, in a module of tests/cluster/tools."""

    name: str
    version: str
    module: str
    package: str
    linker_flags: str = ""
    tags: str = field(default="", repr=False)

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return home_folder("bin") / f"{self.name}-{self.version}"

    @property
    def path(self) -> Path:
        """The program."""
        return self.folder / self.name


def _kubernetes(name: str) -> Program:
    version = "-X=k8s.io/component-base/version"
    flags = f"{version}.gitVersion=v1.34.4 {version}.gitMajor=1 {version}.gitMinor=34"
    return Program(name, "v1.34.4", "kubernetes", f"k8s.io/kubernetes/cmd/{name}", flags)


KUBECTL = _kubernetes("kubectl")
KUBELET = _kubernetes("kubelet")
API_SERVER = _kubernetes("kube-apiserver")
CONTROLLER_MANAGER = _kubernetes("kube-controller-manager")
SCHEDULER = _kubernetes("kube-scheduler")
PROXY = _kubernetes("kube-proxy")
COREDNS = Program("coredns", "v1.12.4", "coredns", "github.com/coredns/coredns")
HELM = Program(
    "helm", "v3.22.0", "helm", "helm.sh/helm/v3/cmd/helm", "-X=helm.sh/helm/v3/internal/version.version=v3.22.0"
)
KUBECONFORM = Program("kubeconform", "v0.8.0", "kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform")
# EKS's own, which makes the kubelet's configuration of what user data says; it has no releases, so a commit is named.
NODEADM = Program("nodeadm", "89ce6578d960", "nodeadm", "github.com/awslabs/amazon-eks-ami/nodeadm/cmd/nodeadm")
REGISTRY = Program("registry", "v0.22.1", "registry", "github.com/google/go-containerregistry/cmd/registry")


def _of_the_operator(name: str) -> Program:
    """Of Prometheus's operator; only tests of the night start and build it."""
    package = f"github.com/prometheus-operator/prometheus-operator/cmd/{name}"
    return Program(name, "v0.93.1", "prometheus-operator", package)


OPERATOR = _of_the_operator("operator")
# It unpacks the configuration that the operator made, and has Prometheus read it again.
CONFIG_RELOADER = _of_the_operator("prometheus-config-reloader")
# Debian's knows nothing of Kubernetes. It finds targets there alone, which spares the clients of all clouds.
PROMETHEUS = Program(
    "prometheus", "v3.13.1", "prometheus-operator", "github.com/prometheus/prometheus/cmd/prometheus",
    "-X=github.com/prometheus/common/version.Version=3.13.1", "remove_all_sd,enable_kubernetes_sd",
)  # fmt: skip
# As OPERATOR: what Skaffold's go.mod replaces is in ours, since it counts only there.
SKAFFOLD = Program(
    "skaffold",
    "v2.16.1",
    "skaffold",
    "github.com/GoogleContainerTools/skaffold/v2/cmd/skaffold",
    "-X=github.com/GoogleContainerTools/skaffold/v2/pkg/skaffold/version.version=v2.16.1",
)
# Karpenter's core, whose nodes are objects without machines; as OPERATOR.
KARPENTER = Program("kwok", "v1.14.1", "karpenter", "sigs.k8s.io/karpenter/kwok")
PAUSE = Program("pause", "1", "", str(PAUSE_SOURCE))

CLUSTER = (KUBECTL, KUBELET, API_SERVER, CONTROLLER_MANAGER, SCHEDULER, PROXY, COREDNS, PAUSE)
ALL = (*CLUSTER, HELM, KUBECONFORM, NODEADM, REGISTRY)


def build_missing(programs: tuple[Program, ...] = ALL) -> None:
    """Build what is not there, or was built from other sources or by another Go. Takes a quarter of an hour at most.

    GroundError if there is no Go, or one that is too old.
    """
    missing = [program for program in programs if not is_built(program)]
    if missing:
        _require_go()
    for program in missing:
        with alone(f"{program.name}-{program.version}"):
            if not is_built(program):  # by another process, meanwhile
                print(f"building {program.name} {program.version}", file=sys.stderr, flush=True)
                _build(program)


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Wait until no other process builds what has this name."""
    folder = home_folder("locks")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_built(program: Program) -> bool:
    """Whether it is there, from the pinned sources and by this Go."""
    try:
        return (program.folder / "key").read_text() == _key(program) and program.path.exists()
    except FileNotFoundError:
        return False


def _build(program: Program) -> None:
    shutil.rmtree(program.folder, ignore_errors=True)
    program.folder.mkdir(parents=True)
    module = TOOLS / program.module if program.module else PAUSE_SOURCE.parent
    run(
        ["env", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "go", "-C", module, "build", "-trimpath", "-buildvcs=false",
         "-tags", program.tags, "-ldflags", f"-s -w {program.linker_flags}", "-o", program.path, program.package],
        timeout_s=_BUILD_S,
    )  # fmt: skip
    (program.folder / "key").write_text(_key(program))


def _key(program: Program) -> str:
    digest = hashlib.sha256()
    module = TOOLS / program.module
    sources = [module / "go.mod", module / "go.sum"] if program.module else [PAUSE_SOURCE]
    for source in sources:
        digest.update(source.read_bytes())
    digest.update(f"{program}{program.tags}{_go_version()}".encode())
    return digest.hexdigest()


def _require_go() -> None:
    version = _go_version()
    if not version:
        raise GroundError("the cluster's programs are not built yet and Go is missing; install Go 1.26 or newer")
    numbers = tuple(int(number) for number in version.removeprefix("go").split(".")[:2])
    if numbers < _GO_VERSION_MIN:
        raise GroundError(f"{version} is too old to build the cluster's programs; install Go 1.26 or newer")


@cache
def _go_version() -> str:
    """Such as go1.26.8; empty without a Go."""
    if shutil.which("go") is None:
        return ""
    return run(["env", "GOTOOLCHAIN=local", "go", "env", "GOVERSION"]).strip()
