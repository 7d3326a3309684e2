"""A release of the chart as the environment of a run: found by its labels, reached directly or through the API."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from market_spread.common.clock import Clock, SystemClock, polls
from market_spread.common.config import from_environment
from market_spread.common.errors import MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.job_contract import APPLICATIONS, BATCH_S_DEFAULT, REAL_TIME, REJECTED_DECISIONS, TOPICS
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment, slots_of
from market_spread.controller.deploy.kubernetes.api import Cluster, Forward, Pod
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.system import PIPELINE, SystemWorkload
from market_spread.controller.plan.workload import JIT_AUTO, Workload
from market_spread.controller.run_folder import Section

GRPC_PORT, HTTP_PORT = 50051, 8080
# How long the pods of a release may take to be ready, and a driver to be back when its pod is gone.
READY_TIMEOUT_S, JOB_OUTAGE_S = 300.0, 180.0
_JOB_RESTARTS_MAX = 5
_POLL_NS = 2_000_000_000
# Without these there is no run; the broker may be someone else's, and executors come and go.
_NEEDED = ("sender", "receiver", "job", "metrics-aggregator")
_WATCHED = ("sender", "receiver", "metrics-aggregator", "kafka")

_log = logging.getLogger(__name__)


class Release(Environment):
    """The processes of a release, which was there before the run, and stays after it."""

    is_new = False
    job_outage_s = JOB_OUTAGE_S

    def __init__(
        self, cluster: Cluster, *, release: str, workload: Workload, clock: Clock, in_cluster: bool = False
    ) -> None:
        """in_cluster: pods are reached directly, not through the API server."""
        self._cluster, self._release, self._workload = cluster, release, workload
        self._clock, self._in_cluster = clock, in_cluster
        self._forwards: list[Forward] = []
        self._lives: dict[str, tuple[str, int]] = {}
        self._drivers: dict[int, Pod] = {}
        self._listed_ns = 0
        self._seen: dict[str, Pod] = {}
        self.job_restarts = 0

    def start(self) -> Addresses:
        found = self._found()
        told = found["job"][0].environment
        wrong, identity = differences(self._workload, told, drivers=len(found["job"])), from_environment(Identity)
        if "TLS_FOLDER" in told and identity == OPEN:
            wrong.append("the release's gRPC asks for certificates; set MARKET_SPREAD_TLS_FOLDER (docs/security.md)")
        if wrong:
            raise UsageError("; ".join(wrong))
        self._lives = {pod.name: pod.life for component in _WATCHED for pod in self._pods(component)}
        self._drivers = {pod.index: pod for pod in found["job"]}
        senders = [self._address(pod, GRPC_PORT) for pod in found["sender"]]
        jobs = [self._address(pod, GRPC_PORT) for pod in found["job"]]
        aggregator = found["metrics-aggregator"][0]
        return Addresses(
            bootstrap_servers=told.get("BOOTSTRAP_SERVERS", ""), topics=TOPICS.prefixed(told.get("TOPIC_PREFIX", "")),
            security=from_environment(KafkaSecurity) if self._in_cluster else PLAINTEXT, identity=identity,
            sender=senders[0], receiver=self._address(found["receiver"][0], GRPC_PORT), job=jobs[0],
            aggregator=self._address(aggregator, GRPC_PORT),
            aggregator_http=f"http://{self._address(aggregator, HTTP_PORT)}", replicas=tuple(jobs[1:]),
            more_senders=tuple(senders[1:]),
        )  # fmt: skip

    def check_alive(self) -> None:
        """RunVoidError if a pod other than the job's was started again; the job may, some times."""
        if self._clock.monotonic_ns() - self._listed_ns < _POLL_NS:
            return
        self._listed_ns = self._clock.monotonic_ns()
        try:
            drivers = self._pods("job")
            watched = [pod for component in _WATCHED for pod in self._pods(component)]
        except RunVoidError as error:  # unknown is not dead: the run continues
            _log.warning("the pods of the release could not be listed, so they are looked at again later: %s", error)
            return
        for pod in watched:
            if pod.name in self._lives and pod.life != self._lives[pod.name]:
                raise RunVoidError(f"the {pod.container} was started again during the run; see kubectl describe pod")
        for pod in drivers:
            before = self._drivers.get(pod.index)
            if before is not None and before.life != pod.life:
                again = pod.restarts - before.restarts if pod.uid == before.uid else 1 + pod.restarts
                self.job_restarts += max(0, again)
            self._drivers[pod.index] = pod
        if self.job_restarts > _JOB_RESTARTS_MAX:
            raise RunFailedError(f"the job was started again {self.job_restarts} times; see kubectl logs of its pod")

    def broker_cpu_us(self) -> int | None:
        return self._cluster.cpu_us(self._pods_if_seen("kafka"))

    def executors_cpu_us(self) -> int | None:
        return self._cluster.cpu_us(self._pods_if_seen("executor"))

    def sections(self, addresses: Addresses) -> dict[str, Section]:
        """What the manifest says of the place: the release, images by component, of each pod its node and limits."""
        pods = sorted(self._seen.values(), key=lambda pod: pod.name)
        return {
            "release": {"name": self._release, "namespace": self._cluster.namespace},
            "images": {pod.component: pod.image for pod in pods},
            "nodes": {pod.name: pod.node for pod in pods},
            "limits": {pod.name: f"{pod.qos}, cpu {pod.cpu_request or 'not asked for'}" for pod in pods},
            "exclusive_cpus": {pod.name: pod.environment.get("EXCLUSIVE_CPUS") for pod in pods},
        }

    def capture(self, logs: Path) -> None:
        """Write what each pod has said into the folder: `job.log`, of a second one `job_1.log`. Best effort."""
        logs.mkdir(parents=True, exist_ok=True)
        for component in (*_WATCHED, "job", "executor"):
            for number, pod in enumerate(self._pods_if_seen(component)):
                name = component.replace("-", "_") + (f"_{number}" if number else "")
                try:
                    (logs / f"{name}.log").write_text(self._cluster.log(pod), "utf-8")
                except MarketSpreadError as error:
                    _log.warning("the log of the pod %s could not be read: %s", pod.name, error)

    def stop(self) -> None:
        for forward in self._forwards:
            forward.close()
        self._forwards.clear()

    def _found(self) -> dict[str, list[Pod]]:
        """The pods of each component, ready. UsageError if there is no such release, or one does not become ready."""
        for _ in polls(self._clock, READY_TIMEOUT_S, every_s=_POLL_NS / 1e9):
            found = {component: self._pods(component) for component in _NEEDED}
            if not any(found.values()):
                raise UsageError(
                    f"there is no release {self._release!r} in namespace {self._cluster.namespace}; "
                    "helm list shows what there is"
                )
            missing = [f"the {component} has no pod" for component in _NEEDED if not found[component]]
            unready = [
                f"the {pod.container}: {pod.problem}" for pods in found.values() for pod in pods if not pod.ready
            ]
            if not missing and not unready:
                self._pods_if_seen("executor")
                return found
        raise UsageError(f"not ready after {READY_TIMEOUT_S:.0f} s: {'; '.join([*missing, *unready])}")

    def _pods(self, component: str) -> list[Pod]:
        pods = self._cluster.pods(self._release, component)
        self._seen |= {pod.name: pod for pod in pods}
        return pods

    def _pods_if_seen(self, component: str) -> list[Pod]:
        try:
            return self._pods(component)
        except MarketSpreadError:
            return []

    def _address(self, pod: Pod, port: int) -> str:
        if self._in_cluster:
            service = pod.name.rpartition("-")[0]  # the headless one of a StatefulSet's pod has the set's name
            return f"{pod.name}.{service}.{self._cluster.namespace}.svc:{port}"
        forward = Forward(lambda: self._cluster.dial(pod.name, port))
        self._forwards.append(forward)
        return forward.address


def release_of(
    plan: RunPlan, *, release: str, namespace: str, context: str | None, in_cluster: bool
) -> Callable[[str, Path], Environment]:
    """What makes the environment of a run in that release. UsageError if the cluster cannot be asked."""
    if isinstance(plan.workload, SystemWorkload):
        require_released(plan.workload, in_cluster=in_cluster)
    cluster, clock = Cluster.reached(context, namespace=namespace, in_cluster=in_cluster), SystemClock()
    return lambda _run_id, _folder: Release(
        cluster, release=release, workload=plan.workload, clock=clock, in_cluster=in_cluster
    )


def require_released(workload: SystemWorkload, *, in_cluster: bool) -> None:
    """UsageError if no release can run it."""
    if workload.system.kind != PIPELINE:
        raise UsageError(f"system.{workload.system.kind} runs on this machine; a release runs a pipeline")
    if workload.kafka.bootstrap is not None:
        raise UsageError("kafka.bootstrap; the run takes the Kafka of the release: leave it out of the workload")
    if not in_cluster:  # it reads topics itself, and what the sender needs is named by its path in the pods
        raise UsageError("a pod of the release runs a pipeline's workload; set run.enabled and run.file of the chart")


def differences(workload: Workload, told: Mapping[str, str], *, drivers: int) -> list[str]:
    """What differs, each a sentence with the remedy; nothing if the release can carry out the workload.

    told: the driver's environment, by names without our prefix.
    """
    found = []
    job = workload.job
    partitions = told.get("SHUFFLE_PARTITIONS", "1")
    application = told.get("APPLICATION", APPLICATIONS[REJECTED_DECISIONS])
    of_kind: tuple[tuple[str, str, str, str], ...]
    if isinstance(workload, SystemWorkload):
        of_kind = (
            ("system.pipeline", application, workload.system.pipeline or "", "job.pipeline.file"),
            ("kafka.prefix", told.get("TOPIC_PREFIX", ""), workload.kafka.prefix, "kafka.prefix"),
        )
    elif ":" in application:
        return [f"the release's job runs {application}, and the workload is of Market Spread; name another --release"]
    else:  # which decisions leave is told by the application; another application is named as it is
        decisions = {value: name for name, value in APPLICATIONS.items()}.get(application, application)
        of_kind = (
            ("job.shuffle_partitions", partitions, str(workload.state_partitions), "job.shufflePartitions"),
            ("decisions", decisions, workload.decisions, "job.decisions"),
        )
    for asked_by, value, wanted, remedy in (
        ("job.mode", told.get("MODE", REAL_TIME), job.mode, "job.mode"),
        ("job.batch_s", told.get("BATCH_S", f"{BATCH_S_DEFAULT[REAL_TIME]:g}"), f"{job.batch_s:g}", "job.batchS"),
        ("job.replicas", str(drivers), str(job.replicas), "job.replicas"),
        *of_kind,
    ):
        if not _same(value, wanted):
            found.append(
                f"the release's job has {asked_by.removeprefix('job.')}={value} and the workload asks for {wanted}; "
                f"change {asked_by} of the workload, or helm upgrade with --set {remedy}={wanted}"
            )
    if job.standby:
        found.append("job.standby=1; a release has no standby: leave it out of the workload, or use job.replicas")
    if job.jit != JIT_AUTO:
        found.append(
            f"job.jit={job.jit}; the JVMs of a release have the options that it gives them: leave job.jit out of the "
            "workload, and set job.driver.javaOptions and job.executors.javaOptions of the release"
        )
    if "EXECUTOR_SLOTS" in told and job.mode == REAL_TIME:
        slots, needed = int(told["EXECUTOR_SLOTS"]) * int(told.get("EXECUTORS", "1")), slots_of(workload)
        if slots < needed:
            found.append(
                f"the release's executors have {slots} slots together and the workload's partitions need {needed}; "
                "helm upgrade with more job.executors.slots or job.executors.count"
            )
    return found


def _same(value: str, wanted: str) -> bool:
    try:
        return float(value) == float(wanted)
    except ValueError:
        return value == wanted
