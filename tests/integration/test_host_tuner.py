"""The host tuner as a process.

It looks at this machine's own /proc and /sys, tunes copies of them and the kernel's own files in a network namespace of
the test's, and talks to servers that speak as the kubelet and the API server do.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest

from market_spread.common.errors import UnavailableError
from market_spread.common.kubernetes import ApiServer as Api
from market_spread.host_tuner.cluster import KubeletSocket, KubernetesNode, OwnDaemonSet, Resources
from market_spread.v1 import pod_resources_pb2 as pod_resources
from tests.support.waiting import eventually
from tests.unit.host_tuner.fakes import CPU, THP, host

TUNER = [sys.executable, "-m", "market_spread.host_tuner"]
UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"]
LOOKED_AT = """\
housekeeping_cpus: "0"
apply:
  resume_latency_us: 2
  transparent_hugepages: never
  interrupts: housekeeping
  workqueues: housekeeping
  sysctls: {vm.swappiness: {at_most: 10}, vm.stat_interval: 10}
verify: {swap: false, sysctls: {kernel.numa_balancing: 0}}
"""
# What plain files can stand for; those that offer words are the kernel's alone.
APPLIED = """\
housekeeping_cpus: "0"
apply:
  resume_latency_us: 2
  governor: performance
  turbo: false
  interrupts: housekeeping
  workqueues: housekeeping
  sysctls: {vm.swappiness: {at_most: 10}, vm.stat_interval: 10}
"""
IN_NAMESPACE = """\
housekeeping_cpus: "0"
apply: {sysctls: {net.ipv4.ip_default_ttl: 65, net.ipv4.tcp_fin_timeout: 30}}
"""


def environment(folder: Path, profile: str, root: Path) -> dict[str, str]:
    """What a tuner is told."""
    (folder / "profile.yaml").write_text(profile)
    (folder / "originals").mkdir(exist_ok=True)
    return os.environ | {
        "MARKET_SPREAD_PROFILE": str(folder / "profile.yaml"),
        "MARKET_SPREAD_HOST_ROOT": str(root),
        "MARKET_SPREAD_STATE_FOLDER": str(folder / "originals"),
        "MARKET_SPREAD_HTTP_PORT": "0",
        "MARKET_SPREAD_PORTS_FILE": str(folder / "ports.json"),
        "MARKET_SPREAD_INTERVAL_S": "0.5",
    }


def copy_of_a_host(folder: Path) -> Path:
    """The files of a host that is not tuned, as plain ones."""
    root = folder / "host"
    for path, text in (host() | {"proc/sys/kernel/random/boot_id": "fd3edfe3\n"}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


class Running:
    """A tuner that runs."""

    def __init__(self, process: "subprocess.Popen[str]", ports: Path) -> None:
        self.process = process
        eventually("it serves", ports.exists)
        self._port = json.loads(ports.read_text())["http"]

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=10) as response:
            return str(response.read().decode())

    def metric(self, series: str) -> float | None:
        lines = (line.rsplit(" ", 1) for line in self.get("/metrics").splitlines() if not line.startswith("#"))
        return next((float(value) for name, value in lines if name == series), None)

    def end(self) -> str:
        """Ask it to end; what it has logged."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, log
        return log


@contextmanager
def running(*arguments: str, env: dict[str, str], folder: Path) -> Iterator[Running]:
    (folder / "ports.json").unlink(missing_ok=True)
    process = subprocess.Popen([*TUNER, "run", *arguments], env=env, stderr=subprocess.PIPE, text=True)
    try:
        yield Running(process, folder / "ports.json")
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def tuner(command: str, env: dict[str, str], *before: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*before, *TUNER, command], env=env, capture_output=True, text=True, timeout=60, check=False)


def test_report_tells_this_machine_as_its_files_do(tmp_path: Path) -> None:
    swappiness = Path("/proc/sys/vm/swappiness").read_text().strip()
    online = Path("/sys/devices/system/cpu/online").read_text().strip()

    ended = tuner("report", environment(tmp_path, LOOKED_AT, Path("/")))

    rows = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert rows["vm.swappiness"].split() == [
        "vm.swappiness", "at", "most", "10", swappiness, "by", "the", "tuner", "yes" if int(swappiness) <= 10 else "NO",
    ]  # fmt: skip
    assert f"online are {online}" in rows["housekeeping_cpus"]
    assert {"c_states", "transparent_hugepages", "interrupts", "workqueues", "vm.stat_interval", "swap"} <= set(rows)
    assert "unreadable" not in ended.stdout
    assert ended.returncode == (1 if "NO" in ended.stdout else 0), ended.stderr


def test_dry_run_looks_at_this_machine_and_changes_nothing(tmp_path: Path) -> None:
    files = [Path("/proc/sys/vm/swappiness"), Path("/sys/kernel/mm/transparent_hugepage/enabled")]
    files += Path("/proc/irq").glob("*/smp_affinity_list")
    before = [file.read_bytes() for file in files]

    with running("--dry-run", env=environment(tmp_path, LOOKED_AT, Path("/")), folder=tmp_path) as tuning:
        eventually("swap is off", lambda: tuning.metric('market_spread_host_tuner_setting_ok{setting="swap"}') == 1)
        found = tuning.metric('market_spread_host_tuner_setting_ok{setting="transparent_hugepages"}')
        written = tuning.metric('market_spread_host_tuner_writes_total{setting="transparent_hugepages"}')
        health = tuning.get("/healthz")
        log = tuning.end()

    assert [file.read_bytes() for file in files] == before
    assert found == float(b"[never]" in before[1])
    assert (written, health) == (0, "ok\n")
    assert '"dry_run": true' in log
    assert list((tmp_path / "originals").iterdir()) == []


def test_a_host_is_tuned_watched_and_after_a_kill_put_back_byte_for_byte(tmp_path: Path) -> None:
    root = copy_of_a_host(tmp_path)
    before = contents(root)
    env = environment(tmp_path, APPLIED, root)

    with running(env=env, folder=tmp_path) as tuning:
        eventually("it is tuned", lambda: tuning.metric('market_spread_host_tuner_setting_ok{setting="governor"}') == 1)
        tuned = contents(root)
        (root / "proc/sys/vm/swappiness").write_text("60\n")
        drift = 'market_spread_host_tuner_drift_total{setting="vm.swappiness"}'
        eventually("the drift is counted", lambda: tuning.metric(drift) == 1)
        repaired = (root / "proc/sys/vm/swappiness").read_text()
        tuning.process.kill()
        tuning.process.wait()
    restored = tuner("restore", env)

    assert tuned["proc/sys/vm/swappiness"] == b"10\n"
    assert tuned[f"{CPU}/cpufreq/policy3/scaling_governor"] == b"performance\n"
    assert tuned["proc/irq/24/smp_affinity_list"] == b"0\n"
    assert repaired == "10\n"
    assert restored.returncode == 0, restored.stderr
    assert contents(root) == before
    assert list((tmp_path / "originals").iterdir()) == []


def test_a_tuner_that_ends_leaves_the_host_to_the_next_one(tmp_path: Path) -> None:
    root = copy_of_a_host(tmp_path)
    env = environment(tmp_path, APPLIED, root)
    with running(env=env, folder=tmp_path) as tuning:
        eventually("it is tuned", lambda: tuning.metric('market_spread_host_tuner_setting_ok{setting="turbo"}') == 1)
        tuning.end()
    tuned = contents(root)

    with running(env=env, folder=tmp_path) as tuning:
        eventually(
            "it is looked at", lambda: tuning.metric('market_spread_host_tuner_setting_ok{setting="turbo"}') == 1
        )
        written = tuning.metric('market_spread_host_tuner_writes_total{setting="turbo"}')
        tuning.end()

    assert tuned["sys/devices/system/cpu/intel_pstate/no_turbo"] == b"1\n"
    assert contents(root) == tuned
    assert written == 0


def test_a_second_tuner_of_a_host_does_not_start(tmp_path: Path) -> None:
    root = copy_of_a_host(tmp_path)
    env = environment(tmp_path, APPLIED, root)

    with running(env=env, folder=tmp_path) as tuning:
        eventually("it is tuned", lambda: tuning.metric('market_spread_host_tuner_setting_ok{setting="turbo"}') == 1)
        second = tuner("run", env)
        tuning.process.kill()
        tuning.process.wait()
    third = tuner("restore", env)

    assert second.returncode == 2
    assert second.stderr.startswith("another tuner works on this host"), second.stderr
    assert third.returncode == 0, third.stderr


def test_words_that_a_file_offers_are_told_by_the_report_of_a_copy(tmp_path: Path) -> None:
    root = copy_of_a_host(tmp_path)

    ended = tuner("report", environment(tmp_path, LOOKED_AT, root))

    assert (root / THP / "enabled").read_text() == "[always] madvise never\n"
    assert "always on enabled, madvise on defrag" in ended.stdout
    assert ended.returncode == 1
    assert ended.stderr == "the host is not as its profile wants it\n"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"MARKET_SPREAD_PROFILE": "/nowhere.yaml"}, "the tuning profile /nowhere.yaml cannot be read"),
        ({"MARKET_SPREAD_STATE_FOLDER": "/nowhere"}, "MARKET_SPREAD_STATE_FOLDER=/nowhere is not a folder"),
        ({"MARKET_SPREAD_INTERVAL_S": "0"}, "MARKET_SPREAD_INTERVAL_S=0; use 0.1 to 3600"),
        ({"MARKET_SPREAD_NODE_NAME": "node1"}, "there is no Kubernetes here"),
    ],
)
def test_mistakes_of_the_set_up_are_one_sentence(tmp_path: Path, changes: dict[str, str], error: str) -> None:
    ended = tuner("run", environment(tmp_path, APPLIED, copy_of_a_host(tmp_path)) | changes)

    assert ended.returncode == 2
    assert ended.stderr.startswith(error), ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_the_kernels_own_files_are_set_and_put_back_without_any_capability(tmp_path: Path) -> None:
    assert shutil.which("setpriv"), "setpriv is missing; install util-linux"
    env = environment(tmp_path, IN_NAMESPACE, Path("/"))
    ttl, timeout = "/proc/sys/net/ipv4/ip_default_ttl", "/proc/sys/net/ipv4/tcp_fin_timeout"
    python = " ".join(TUNER)
    namespace = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    script = f"""
        show() {{ cat {ttl} {timeout} | tr '\\n' ' '; }}
        show
        MARKET_SPREAD_INTERVAL_S=60 {python} run 2>/dev/null & tuner=$!
        for _ in $(seq 300); do [ "$(cat {ttl})" = 65 ] && [ "$(cat {timeout})" = 30 ] && break; sleep 0.1; done
        show
        kill -TERM $tuner; wait $tuner
        {python} restore 2>/dev/null
        show
        grep CapEff /proc/self/status
    """

    ended = subprocess.run(
        [*namespace, *UNPRIVILEGED, "bash", "-c", script],
        env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert ended.stdout.split() == ["64", "60", "65", "30", "64", "60", "CapEff:", "0000000000000000"], ended.stderr


class KubeletServer:
    """The kubelet's side of its pod resources API, over gRPC on a socket."""

    def __init__(self, socket: Path) -> None:
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        handlers: dict[str, Any] = {
            "List": grpc.unary_unary_rpc_method_handler(
                self._list,
                request_deserializer=pod_resources.ListPodResourcesRequest.FromString,
                response_serializer=pod_resources.ListPodResourcesResponse.SerializeToString,
            ),
            "GetAllocatableResources": grpc.unary_unary_rpc_method_handler(
                lambda _request, _context: pod_resources.AllocatableResourcesResponse(cpu_ids=[1, 2, 3]),
                request_deserializer=pod_resources.AllocatableResourcesRequest.FromString,
                response_serializer=pod_resources.AllocatableResourcesResponse.SerializeToString,
            ),
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers),)
        )
        self._server.add_insecure_port(f"unix:{socket}")
        self._server.start()

    def _list(self, _request: object, _context: object) -> pod_resources.ListPodResourcesResponse:
        shared = pod_resources.ContainerResources(name="log")
        pinned = pod_resources.ContainerResources(name="executor", cpu_ids=[2, 3])
        pod = pod_resources.PodResources(name="executor-1", namespace="spark", containers=[shared, pinned])
        return pod_resources.ListPodResourcesResponse(pod_resources=[pod])

    def stop(self) -> None:
        self._server.stop(0).wait()


def test_the_kubelet_is_asked_over_its_socket_and_may_come_and_go(tmp_path: Path) -> None:
    socket = tmp_path / "kubelet.sock"
    kubelet = KubeletSocket(socket)
    absent = kubelet.resources()
    server = KubeletServer(socket)
    try:
        eventually("the kubelet answers", lambda: kubelet.resources().error is None)

        said = kubelet.resources()
    finally:
        server.stop()

    assert absent.error is not None
    assert said == Resources({"spark/executor-1/executor": frozenset({2, 3})}, frozenset({1, 2, 3}))


class ApiServer:
    """An API server that keeps what it is asked, and answers what it is told to."""

    def __init__(self, account: Path) -> None:
        self.requests: list[tuple[str, str, str | None, Any]] = []
        self.tokens: set[str | None] = set()
        self.answer: tuple[int, dict[str, Any]] = (200, {})
        api = self

        class Handler(BaseHTTPRequestHandler):
            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                api.tokens.add(self.headers.get("Authorization"))
                api.requests.append(
                    (self.command, self.path, self.headers.get("Content-Type"), json.loads(body) if body else None)
                )
                text = json.dumps(api.answer[1]).encode()
                self.send_response(api.answer[0])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PATCH = do_DELETE = _handle  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        (account / "token").write_text("of-the-pod\n")
        self.client = Api(f"http://127.0.0.1:{self._server.server_address[1]}", account)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    server = ApiServer(tmp_path)
    yield server
    server.stop()


def test_the_node_is_read_and_patched_as_the_api_wants_it(api: ApiServer) -> None:
    node = KubernetesNode(api.client, "node1")
    changed = "2026-11-22T18:00:00Z"
    condition = {"type": "MarketSpreadHostTuned", "status": "True", "message": "all", "lastTransitionTime": changed}
    api.answer = (
        200,
        {
            "metadata": {"annotations": {"market-spread.io/host-tuning": "{}"}},
            "spec": {"taints": [{"key": "market-spread.io/host-tuning", "effect": "NoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, condition]},
        },
    )

    read = node.read()
    node.annotate("{}")
    node.set_condition(condition)
    node.remove_taint(0, "market-spread.io/host-tuning")
    node.set_condition(None)
    node.annotate(None)

    assert api.tokens == {"Bearer of-the-pod"}
    strategic, json_patch = "application/strategic-merge-patch+json", "application/json-patch+json"
    assert read == ("{}", condition, ["market-spread.io/host-tuning"])
    assert api.requests == [
        ("GET", "/api/v1/nodes/node1", "application/json", None),
        (
            "PATCH", "/api/v1/nodes/node1", strategic,
            {"metadata": {"annotations": {"market-spread.io/host-tuning": "{}"}}},
        ),
        ("PATCH", "/api/v1/nodes/node1/status", strategic, {"status": {"conditions": [condition]}}),
        (
            "PATCH", "/api/v1/nodes/node1", json_patch,
            [
                {"op": "test", "path": "/spec/taints/0/key", "value": "market-spread.io/host-tuning"},
                {"op": "remove", "path": "/spec/taints/0"},
            ],
        ),
        (
            "PATCH", "/api/v1/nodes/node1/status", strategic,
            {"status": {"conditions": [{"type": "MarketSpreadHostTuned", "$patch": "delete"}]}},
        ),
        (
            "PATCH", "/api/v1/nodes/node1", strategic,
            {"metadata": {"annotations": {"market-spread.io/host-tuning": None}}},
        ),
    ]  # fmt: skip


def test_an_api_that_refuses_or_is_gone_is_told_in_a_sentence(api: ApiServer) -> None:
    node = KubernetesNode(api.client, "node1")
    api.answer = (422, {"message": "another taint"})

    with pytest.raises(UnavailableError, match=r"the API server answered 422: .*another taint"):
        node.remove_taint(0, "x")

    api.stop()
    with pytest.raises(UnavailableError, match="the API server does not answer"):
        node.read()


def daemon_set(*mounts: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"template": {"spec": {"containers": [{"volumeMounts": list(mounts)}]}}}}


@pytest.mark.parametrize(
    ("answer", "writes"),
    [
        ((200, daemon_set({"mountPath": "/host/proc/irq"}, {"mountPath": "/profile"})), {"proc/irq"}),
        ((200, daemon_set({"mountPath": "/host/proc/irq", "readOnly": True})), set()),
        ((200, {"metadata": {"deletionTimestamp": "2026-11-22T18:00:00Z"}}), set()),
        ((404, {}), set()),
        ((403, {}), set()),
        ((401, {}), set()),
        ((500, {}), None),
    ],
)
def test_a_pod_knows_what_the_next_one_may_write(
    api: ApiServer, answer: tuple[int, dict[str, Any]], writes: set[str] | None
) -> None:
    api.answer = answer

    assert OwnDaemonSet(api.client, "tuning", "host-tuning").next_writes(Path("/host")) == writes


def test_the_daemonset_is_removed_after_its_pods(api: ApiServer) -> None:
    OwnDaemonSet(api.client, "tuning", "host-tuning").remove()

    path = "/apis/apps/v1/namespaces/tuning/daemonsets/host-tuning"
    assert api.requests == [("DELETE", path, "application/json", {"propagationPolicy": "Foreground"})]
