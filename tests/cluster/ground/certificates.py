"""Who is who in the cluster: an authority, a certificate for each component, and kubeconfigs that hold them."""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.ground.errors import run
from tests.cluster.ground.layout import API_SERVER, API_SERVICE_ADDRESS, KUBECONFIG, NODES, STATE, Node

PKI = STATE / "pki"
_DAYS = "30"


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate of a user of the API: the name and the group that Kubernetes' own roles are bound to."""

    file: str
    user: str
    group: str = ""

    @property
    def kubeconfig(self) -> Path:
        """The file with which a component is this user."""
        return PKI / f"{self.file}.kubeconfig"


ADMIN = Identity("admin", "admin", "system:masters")
TO_KUBELETS = Identity("to-kubelets", "kube-apiserver-kubelet-client", "system:masters")
CONTROLLERS = Identity("controllers", "system:kube-controller-manager")
SCHEDULER = Identity("scheduler", "system:kube-scheduler")
PROXY = Identity("proxy", "system:kube-proxy")


def kubelet_of(node: Node) -> Identity:
    """The node itself, as the Node authoriser knows it."""
    return Identity(f"kubelet-{node.name}", f"system:node:{node.name}", "system:nodes")


def make_certificates() -> None:
    """The authority, the API server's certificate, the key of service accounts' tokens, and everyone's kubeconfig."""
    PKI.mkdir(parents=True, exist_ok=True)
    PKI.chmod(0o700)
    _make_authority()
    _make_key("service-accounts")
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    addresses = [API_SERVICE_ADDRESS, API_SERVER.removeprefix("https://").partition(":")[0], "127.0.0.1"]
    alternatives = [*(f"DNS:{name}" for name in names), *(f"IP:{address}" for address in addresses)]
    _sign("apiserver", "/CN=kube-apiserver", f"subjectAltName={','.join(alternatives)}\nextendedKeyUsage=serverAuth\n")
    for identity in (ADMIN, TO_KUBELETS, CONTROLLERS, SCHEDULER, PROXY, *(kubelet_of(node) for node in NODES)):
        subject = (f"/O={identity.group}" if identity.group else "") + f"/CN={identity.user}"
        _sign(identity.file, subject, "extendedKeyUsage=clientAuth\n")
        identity.kubeconfig.write_text(_kubeconfig(identity))
    KUBECONFIG.write_text(_kubeconfig(ADMIN))
    KUBECONFIG.chmod(0o600)


def certificate(name: str) -> Path:
    """The file of a certificate."""
    return PKI / f"{name}.crt"


def key(name: str) -> Path:
    """The file of a private key."""
    return PKI / f"{name}.key"


def _make_authority() -> None:
    _make_key("ca")
    run(["openssl", "req", "-x509", "-new", "-key", key("ca"), "-days", _DAYS, "-subj", "/CN=market-spread-cluster",
         "-out", certificate("ca")])  # fmt: skip


def _make_key(name: str) -> None:
    run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key(name)])


def _sign(name: str, subject: str, extensions: str) -> None:
    _make_key(name)
    request = run(["openssl", "req", "-new", "-key", key(name), "-subj", subject])
    options = PKI / f"{name}.extensions"
    options.write_text(extensions)
    run(
        ["openssl", "x509", "-req", "-CA", certificate("ca"), "-CAkey", key("ca"), "-CAcreateserial", "-days", _DAYS,
         "-extfile", options, "-out", certificate(name)],
        text=request,
    )  # fmt: skip


def _kubeconfig(identity: Identity) -> str:
    def data(path: Path) -> str:
        return b64encode(path.read_bytes()).decode()

    user = {
        "client-certificate-data": data(certificate(identity.file)),
        "client-key-data": data(key(identity.file)),
    }
    cluster = {"server": API_SERVER, "certificate-authority-data": data(certificate("ca"))}
    name = "market-spread"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": identity.file, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": identity.file}}],
        "current-context": name,
    }
    return json.dumps(document, indent=1)
