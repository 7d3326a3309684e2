"""The control plane, in node1's namespaces: etcd, API server, controller manager, scheduler."""

from tests.cluster.ground import binaries, certificates
from tests.cluster.ground.certificates import certificate, key
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.layout import API_SERVER, ETCD, NODE1, SERVICE_RANGE, STATE
from tests.cluster.ground.namespaces import Namespaces
from tests.cluster.ground.processes import Processes

_START_S = 60

# A lost node is noticed, and its pods moved, in seconds: tests wait for it.
_NODE_LOST_S = 20
_TOLERATED_S = 5


class ControlPlane:
    """The control plane."""

    def __init__(self, processes: Processes, namespaces: Namespaces) -> None:
        self._processes = processes
        self._namespaces = namespaces

    def start(self) -> None:
        """Start all of it, and wait until the API serves."""
        self._start("etcd", [
            "etcd", f"--data-dir={STATE / 'etcd'}", f"--listen-client-urls={ETCD}", f"--advertise-client-urls={ETCD}",
            f"--listen-peer-urls=http://{NODE1.address}:2380", "--unsafe-no-fsync",
        ])  # fmt: skip
        self._start("apiserver", _api_server())
        self._processes.wait_until("apiserver", is_ready, within_s=_START_S)
        self._start("controllers", _controller_manager())
        self._start("scheduler", [
            str(binaries.SCHEDULER.path), f"--kubeconfig={certificates.SCHEDULER.kubeconfig}",
            "--bind-address=127.0.0.1", "--leader-elect=false", "--authentication-skip-lookup",
        ])  # fmt: skip

    def _start(self, name: str, command: list[str]) -> None:
        self._processes.start(name, [*self._namespaces.inside(NODE1), *command])


def is_ready() -> bool:
    """Whether the API serves."""
    try:
        run(
            [binaries.KUBECTL.path, f"--kubeconfig={certificates.ADMIN.kubeconfig}", "get", "--raw=/readyz"],
            timeout_s=5,
        )
    except GroundError:
        return False
    return True


def _api_server() -> list[str]:
    return [
        str(binaries.API_SERVER.path),
        f"--etcd-servers={ETCD}",
        f"--bind-address={NODE1.address}",
        f"--advertise-address={NODE1.address}",
        f"--secure-port={API_SERVER.rpartition(':')[2]}",
        f"--client-ca-file={certificate('ca')}",
        f"--tls-cert-file={certificate('apiserver')}",
        f"--tls-private-key-file={key('apiserver')}",
        f"--kubelet-client-certificate={certificate(certificates.TO_KUBELETS.file)}",
        f"--kubelet-client-key={key(certificates.TO_KUBELETS.file)}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key('service-accounts')}",
        f"--service-account-key-file={key('service-accounts')}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--default-not-ready-toleration-seconds={_TOLERATED_S}",
        f"--default-unreachable-toleration-seconds={_TOLERATED_S}",
        # Debian's etcd 3.4 cannot report progress, and every watch of Spark's client would fail for it.
        "--feature-gates=WatchList=false",
    ]


def _controller_manager() -> list[str]:
    return [
        str(binaries.CONTROLLER_MANAGER.path),
        f"--kubeconfig={certificates.CONTROLLERS.kubeconfig}",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={key('service-accounts')}",
        f"--root-ca-file={certificate('ca')}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--authentication-skip-lookup",
        "--node-monitor-period=2s",
        f"--node-monitor-grace-period={_NODE_LOST_S}s",
    ]
