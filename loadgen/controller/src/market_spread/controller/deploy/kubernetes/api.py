"""The API server as a run asks it: pods, their logs, their CPU time, and connections into them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward
from urllib3.exceptions import HTTPError

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.deploy.kubernetes.pods import Pod, pod_of, selector

_CALL_S = 10.0
_LOG_CALL_S = 60.0
_CPU_METRIC = "container_cpu_usage_seconds_total"


class Cluster:
    """One namespace of a cluster. Thread-safe."""

    def __init__(self, settings: Any, *, namespace: str) -> None:
        """settings: the client's configuration: where the API server is, and as whom it is asked."""
        self.namespace = namespace
        self._core = client.CoreV1Api(client.ApiClient(settings))
        # A connection into a pod replaces the client's way to call for a moment, so it has a client of its own.
        self._dialling = client.CoreV1Api(client.ApiClient(settings))
        self._dial_lock = threading.Lock()

    @staticmethod
    def reached(context: str | None, *, namespace: str, in_cluster: bool) -> "Cluster":
        """As kubectl would reach it, or the one that this process is a pod of. UsageError if there is none."""
        settings = client.Configuration()
        try:
            if in_cluster:
                config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
            else:
                config.load_kube_config(context=context, client_configuration=settings)  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            if in_cluster:
                raise UsageError(f"--in-cluster is for a pod: {error}; leave it out elsewhere") from error
            raise UsageError(f"no cluster can be reached: {error}; set KUBECONFIG or name another --context") from error
        return Cluster(settings, namespace=namespace)

    def pods(self, release: str, component: str) -> list[Pod]:
        """The pods of a component by their index; those that have ended are left out."""
        with _as_ours(self.namespace):
            found = self._core.list_namespaced_pod(
                self.namespace, label_selector=selector(release, component), _request_timeout=_CALL_S
            )
        items: list[Any] = found.items
        living = [item for item in items if item.status.phase not in ("Succeeded", "Failed")]
        return sorted((pod_of(item) for item in living), key=lambda pod: (pod.index, pod.name))

    def log(self, pod: Pod) -> str:
        """What its first container has written, and the one before it, if any. RunVoidError if that cannot be had."""
        before = ""
        if pod.restarts:
            with suppress(ApiException):  # it may have been thrown away
                before = self._log(pod, previous=True)
        with _as_ours(self.namespace):
            return before + self._log(pod, previous=False)

    def _log(self, pod: Pod, *, previous: bool) -> str:
        return str(
            self._core.read_namespaced_pod_log(
                pod.name, self.namespace, previous=previous, _request_timeout=_LOG_CALL_S
            )
        )

    def cpu_us(self, pods: list[Pod]) -> int | None:
        """CPU time that the pods' containers have used, by their kubelets; None if these may not be asked."""
        total_s = 0.0
        for node in {pod.node for pod in pods}:
            try:
                text = self._core.connect_get_node_proxy_with_path(node, "metrics/resource", _request_timeout=_CALL_S)
            except (ApiException, HTTPError):
                return None
            names = {pod.name for pod in pods if pod.node == node}
            total_s += sum(_cpu_seconds(str(text), name, self.namespace) for name in names)
        return round(total_s * 1e6)

    def dial(self, pod: str, port: int) -> Any:
        """A connection to a port of a pod, as a socket of this process. RunVoidError if it cannot be made."""
        with _as_ours(self.namespace), self._dial_lock:
            forward = portforward(
                self._dialling.connect_get_namespaced_pod_portforward, pod, self.namespace, ports=str(port)
            )
            return forward.socket(port)


def _cpu_seconds(exposition: str, pod: str, namespace: str) -> float:
    wanted = (f'pod="{pod}"', f'namespace="{namespace}"')
    lines = (line for line in exposition.splitlines() if line.startswith(_CPU_METRIC))
    return sum(float(line.rpartition("}")[2].split()[0]) for line in lines if all(label in line for label in wanted))


@contextmanager
def _as_ours(namespace: str) -> Iterator[None]:
    """One sentence for what the client raises."""
    try:
        yield
    except ApiException as error:
        if error.status in (401, 403):
            raise UsageError(
                f"the API server refuses this in namespace {namespace}: {error.reason}; "
                "use an account with the rights of the chart's run controller"
            ) from error
        raise RunVoidError(f"the API server answered {error.status} {error.reason}".rstrip()) from error
    except (HTTPError, OSError) as error:
        raise RunVoidError(f"the API server does not answer: {error}; is the cluster up?") from error
