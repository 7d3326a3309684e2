"""The API server as a run asks it: pods as they matter to a run, their logs and CPU time, and ports into them."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward
from urllib3.exceptions import HTTPError

from market_spread.common.config import PREFIX
from market_spread.common.errors import MarketSpreadError, RunVoidError, UsageError

_CALL_S, _LOG_CALL_S = 10.0, 60.0
_CPU_METRIC = "container_cpu_usage_seconds_total"
_LABELS = "app.kubernetes.io"
_PIECE_BYTES = 64 * 1024
_POLL_S = 0.05

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as the API server has it.

    restarts: of its containers together; problem: why it is not ready, empty if it is; image: of the first container,
    by digest if the node tells one; environment: plain values of the first container, by our names without the prefix.
    """

    name: str
    uid: str
    component: str
    index: int
    node: str
    ready: bool
    problem: str
    restarts: int
    qos: str
    image: str
    cpu_request: str
    environment: Mapping[str, str]

    @property
    def life(self) -> tuple[str, int]:
        """What tells its containers from those that take their place: its uid, and their restarts."""
        return self.uid, self.restarts

    @property
    def container(self) -> str:
        """Its name for a person."""
        return f"{self.component} (pod {self.name})"


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
        read = partial(self._core.read_namespaced_pod_log, pod.name, self.namespace, _request_timeout=_LOG_CALL_S)
        before = ""
        if pod.restarts:
            with suppress(ApiException):  # it may have been thrown away
                before = str(read(previous=True))
        with _as_ours(self.namespace):
            return before + str(read(previous=False))

    def cpu_us(self, pods: list[Pod]) -> int | None:
        """CPU time that the pods' containers have used; None without pods, or if their kubelets may not be asked."""
        total_s = 0.0
        for node in {pod.node for pod in pods}:
            try:
                text = self._core.connect_get_node_proxy_with_path(node, "metrics/resource", _request_timeout=_CALL_S)
            except (ApiException, HTTPError):
                return None
            names = {pod.name for pod in pods if pod.node == node}
            total_s += sum(_cpu_seconds(str(text), name, self.namespace) for name in names)
        return round(total_s * 1e6) if pods else None

    def dial(self, pod: str, port: int) -> Any:
        """A connection to a port of a pod, as a socket of this process. RunVoidError if it cannot be made."""
        with _as_ours(self.namespace), self._dial_lock:
            method = self._dialling.connect_get_namespaced_pod_portforward
            return portforward(method, pod, self.namespace, ports=str(port)).socket(port)


def pod_of(answer: Any) -> Pod:
    """From the client's V1Pod."""
    name, labels = answer.metadata.name, answer.metadata.labels or {}
    index = labels.get("apps.kubernetes.io/pod-index", name.rpartition("-")[2])
    status, first = answer.status, answer.spec.containers[0]
    statuses = status.container_statuses or []
    conditions = {condition.type: condition for condition in status.conditions or []}
    ready = "Ready" in conditions and conditions["Ready"].status == "True" and not answer.metadata.deletion_timestamp
    image_id = next((container.image_id for container in statuses if container.name == first.name), None) or ""
    # By digest; one that was loaded into the node without a registry has its id alone there.
    image = image_id if "@" in image_id else "@".join(filter(None, (first.image, image_id)))
    return Pod(
        name=name, uid=answer.metadata.uid, component=labels.get(f"{_LABELS}/component", ""),
        index=int(index) if index.isdigit() else 0, node=answer.spec.node_name or "", ready=ready,
        problem="" if ready else _problem(answer, conditions, statuses),
        restarts=sum(container.restart_count for container in statuses), qos=status.qos_class or "", image=image,
        cpu_request=(first.resources.requests or {}).get("cpu", "") if first.resources else "",
        environment={
            variable.name.removeprefix(PREFIX): variable.value
            for variable in first.env or []
            if variable.name.startswith(PREFIX) and variable.value is not None
        },
    )  # fmt: skip


def selector(release: str, component: str) -> str:
    """The label selector of a component's pods and Services."""
    return f"{_LABELS}/name=market-spread,{_LABELS}/instance={release},{_LABELS}/component={component}"


def _problem(answer: Any, conditions: Mapping[str, Any], statuses: list[Any]) -> str:
    """The most telling of what the API server says."""
    if answer.metadata.deletion_timestamp:
        return "it is being deleted"
    for container in statuses:
        waiting = container.state.waiting if container.state else None
        if waiting is not None and waiting.reason not in ("ContainerCreating", "PodInitializing"):
            return ": ".join(part for part in (waiting.reason, waiting.message) if part)
    scheduled = conditions.get("PodScheduled")
    if scheduled is not None and scheduled.status != "True":
        return f"it is not scheduled: {scheduled.message}"
    phase = answer.status.phase
    return "its readiness probe does not succeed" if phase == "Running" else f"it is {phase}"


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


class Forward(ThreadingTCPServer):
    """A port of ours, at `address`, that leads to someone else's. `close` it; what is connected then breaks."""

    daemon_threads = True

    def __init__(self, dial: Callable[[], Any]) -> None:
        """dial: makes a connection to the other end, a socket; MarketSpreadError if it cannot."""
        super().__init__(("127.0.0.1", 0), BaseRequestHandler)
        self._dial = dial
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(_POLL_S,), name="forward", daemon=True).start()

    def close(self) -> None:
        """Listen no more, and break what is connected."""
        self.shutdown()
        self.server_close()
        with self._lock:
            left = list(self._open)
        for end in left:
            _end(end)

    def finish_request(self, near: Any, client_address: object) -> None:
        """Carry what comes, on a thread of this connection; who called closes its near end."""
        try:
            far = self._dial()
        except MarketSpreadError as error:
            _log.warning("a connection to a pod could not be forwarded: %s", error)
            return
        with closing(far):
            with self._lock:
                self._open |= {near, far}
            back = threading.Thread(target=_pump, args=(far, near), name="forward", daemon=True)
            back.start()
            _pump(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}


def _pump(source: Any, sink: Any) -> None:
    """Carry bytes until one of the ends closes; then the other one is closed, too."""
    with suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    _end(sink)
    _end(source)


def _end(end: Any) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
