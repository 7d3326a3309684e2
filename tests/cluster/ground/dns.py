"""The cluster's DNS: CoreDNS as a Deployment behind the address that kubelets give to pods."""

from typing import Any

from tests.cluster.ground.layout import DNS_ADDRESS, DNS_IMAGE

NAME = "coredns"
NAMESPACE = "kube-system"
_PORT = 1053
_READY_PORT = 8181

_COREFILE = f"""\
.:{_PORT} {{
  errors
  ready :{_READY_PORT}
  kubernetes cluster.local in-addr.arpa {{
    ttl 5
  }}
  cache 5
}}
"""


def manifests() -> list[dict[str, Any]]:
    """All its objects."""
    return [_account(), _role(), _binding(), _configuration(), _deployment(), _service()]


def _metadata(**more: Any) -> dict[str, Any]:
    return {"name": NAME, "namespace": NAMESPACE, **more}


def _account() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata()}


def _role() -> dict[str, Any]:
    watch = ["list", "watch"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": watch},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": watch},
        ],
    }


def _binding() -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _configuration() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(), "data": {"Corefile": _COREFILE}}


def _deployment() -> dict[str, Any]:
    container = {
        "name": NAME,
        "image": DNS_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": _READY_PORT}, "periodSeconds": 1},
        "securityContext": {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "configuration", "mountPath": "/etc/coredns"}],
    }
    pod = {
        "serviceAccountName": NAME,
        "dnsPolicy": "Default",
        "priorityClassName": "system-cluster-critical",
        # It stays on the first node, so that the second one can be cut off.
        "nodeSelector": {"kubernetes.io/hostname": "node1"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "configuration", "configMap": {"name": NAME}}],
    }
    labels = {"app.kubernetes.io/name": NAME}
    template = {"metadata": {"labels": labels}, "spec": pod}
    specification = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(), "spec": specification}


def _service() -> dict[str, Any]:
    ports = [
        {"name": f"dns-{protocol.lower()}", "port": 53, "targetPort": _PORT, "protocol": protocol}
        for protocol in ("UDP", "TCP")
    ]
    specification = {"clusterIP": DNS_ADDRESS, "selector": {"app.kubernetes.io/name": NAME}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(), "spec": specification}
