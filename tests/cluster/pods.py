"""Pods for tests, as plain objects."""

from typing import Any

RESTRICTED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "runAsGroup": 10001,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(name: str, image: str, *, node: str | None = None, **container: Any) -> dict[str, Any]:
    """A pod of one container `main`, restricted as those of the charts: not root, only /tmp to write to."""
    main = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": RESTRICTED,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        **container,
    }
    specification: dict[str, Any] = {
        "containers": [main],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "tolerations": [{"operator": "Exists"}],
    }
    if node:
        specification["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"pod": name}},
        "spec": specification,
    }


def guaranteed(*, cpus: int, memory: str = "64Mi") -> dict[str, Any]:
    """Resources that give a container whole CPUs of its own."""
    amounts = {"cpu": str(cpus), "memory": memory}
    return {"requests": amounts, "limits": amounts}
