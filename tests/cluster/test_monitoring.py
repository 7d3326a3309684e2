"""The chart monitoring beside the released Prometheus Operator: its definitions, and what it takes of the chart."""

import base64
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.layout import KUBECONFIG
from tests.cluster.pods import pod
from tests.cluster.releases import CHARTS, Release
from tests.cluster.runs import NOTHING_LOST, Run, lossless

Object = dict[str, Any]
OPERATOR_API = "monitoring.coreos.com/v1"


def definition(kind: str) -> Path:
    """A definition of the operator, in its module: go.sum of tests/cluster/tools/prometheus-operator has its hash."""
    if shutil.which("go") is None:
        raise GroundError(
            "the operator's definitions are in its Go module, and Go is missing; install Go 1.26 or newer"
        )
    module = ["env", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "go", "-C", binaries.TOOLS / binaries.OPERATOR.module]
    made = run([*module, "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator"])
    return Path(json.loads(made)["Dir"], "example", "prometheus-operator-crd", f"monitoring.coreos.com_{kind}.yaml")


@pytest.fixture(scope="module")
def definitions(ground: Cluster) -> Iterator[Cluster]:
    """A cluster that has the definitions of what the charts make, which go with the tests."""
    files = [f"--filename={definition(kind)}" for kind in ("podmonitors", "prometheusrules")]
    ground.kubectl("create", *files)
    ground.kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    wait_for("the API serves the kinds", lambda: "prometheusrules" in ground.kubectl("api-resources"), within_s=30)
    yield ground
    ground.kubectl("delete", *files, "--timeout=60s", timeout_s=90)


@pytest.fixture
def apply(definitions: Cluster) -> Callable[[list[Object]], str]:
    """Asks the API server what it makes of objects; nothing is kept."""

    def applied(objects: list[Object]) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        words = ("--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
        return definitions.kubectl("apply", *words, text=text)

    return applied


def objects_of(chart: str, *values: str) -> list[Object]:
    """What a chart makes for the operator."""
    binaries.build_missing((binaries.HELM,))
    made = run(
        [binaries.HELM.path, "template", chart, CHARTS / chart, "--kube-version", "1.34.4", "--namespace", "default",
         "--api-versions", OPERATOR_API, *(f"--set={value}" for value in values)]
    )  # fmt: skip
    return [each for each in yaml.safe_load_all(made) if each and each["apiVersion"] == OPERATOR_API]


def test_a_released_operator_takes_rules_and_monitors_whole(apply: Callable[[list[Object]], str]) -> None:
    objects = objects_of("monitoring", "monitors.labels.release=prometheus", "namespaces={a,b}")
    tuners_own = objects_of("host-tuning", "image=localhost/tuner:1", "podMonitor.enabled=true")

    assert sorted(each["kind"] for each in objects) == ["PodMonitor"] * 4 + ["PrometheusRule"] * 2
    assert [each["kind"] for each in tuners_own] == ["PodMonitor"]
    assert apply([*objects, *tuners_own]).count("serverside-applied") == 7


def misspelt(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["metricRelabeling"] = []


def portless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["port"] = 8080


def timeless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["interval"] = "5"


def unselective(found: Object) -> None:
    del found["spec"]["selector"]


def actionless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["metricRelabelings"] = [{"action": "forget"}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (misspelt, "unknown field"),
        (portless, "expected string"),
        (timeless, "interval"),
        (unselective, "selector"),
        (actionless, "Unsupported value"),
    ],
)
def test_a_released_operator_refuses_wrong_monitors(
    apply: Callable[[list[Object]], str], change: Callable[[Object], None], said: str
) -> None:
    monitor = next(each for each in objects_of("monitoring") if each["kind"] == "PodMonitor")
    change(monitor)

    with pytest.raises(GroundError, match=said):
        apply([monitor])


def test_a_released_operator_refuses_a_wrong_rule(apply: Callable[[list[Object]], str]) -> None:
    rules = next(each for each in objects_of("monitoring") if each["kind"] == "PrometheusRule")
    rules["spec"]["groups"][0]["interval"] = "often"

    with pytest.raises(GroundError, match="interval"):
        apply([rules])


class Operated:
    """A Prometheus of the operator's, of no pods: what its configuration and its rules come to."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def jobs(self) -> set[str]:
        """The monitor that each scrape job was made of, as namespace/name/number of the endpoint."""
        with suppress(GroundError):
            packed = self._kubectl.get("secret", "prometheus-main")["data"]["prometheus.yaml.gz"]
            configuration = yaml.safe_load(gzip.decompress(base64.b64decode(packed)))
            return {job["job_name"].removeprefix("podMonitor/") for job in configuration.get("scrape_configs") or []}
        return set()

    def rules(self) -> list[str]:
        """The names of all rules that it would load, in order."""
        found = self._kubectl.items("configmaps", "--selector=prometheus-name=main")
        files = [yaml.safe_load(text) for each in found for text in each.get("data", {}).values()]
        return names_of_rules(files)


def names_of_rules(files: list[Object]) -> list[str]:
    groups = [group for file in files for group in file["groups"]]
    return sorted(rule.get("alert") or rule["record"] for group in groups for rule in group["rules"])


@pytest.fixture
def operator(definitions: Cluster, tmp_path: Path) -> Iterator[None]:
    """The released operator at work on the cluster, with all its definitions, as a process of this machine."""
    binaries.build_missing((binaries.OPERATOR,))
    others = ("prometheuses", "prometheusagents", "servicemonitors", "probes", "scrapeconfigs", "alertmanagers",
              "alertmanagerconfigs", "thanosrulers")  # fmt: skip
    files = [f"--filename={definition(kind)}" for kind in others]
    definitions.kubectl("create", *files, timeout_s=120)
    definitions.kubectl("wait", "--for=condition=Established", "--timeout=60s", *files, timeout_s=90)
    environment = {**os.environ, "KUBECONFIG": str(KUBECONFIG)}
    reloader = f"{images.PREFIX}/{binaries.CONFIG_RELOADER.name}:{images.TAG}"
    # The first node has no CPU that can be requested beside an executor's.
    words = (
        "--web.listen-address=127.0.0.1:0", "--kubelet-endpoints=false", f"--prometheus-config-reloader={reloader}",
        "--config-reloader-cpu-request=0", "--config-reloader-cpu-limit=0",
    )  # fmt: skip
    with (tmp_path / "operator.log").open("w") as log:
        process = subprocess.Popen([binaries.OPERATOR.path, *words], env=environment, stdout=log, stderr=log)
    try:
        yield
        assert process.poll() is None, (tmp_path / "operator.log").read_text()[-2000:]
    finally:
        process.terminate()
        process.wait(20)
        definitions.kubectl("delete", *files, "--timeout=60s", timeout_s=90)


def operators(kind: str, specification: Object) -> Object:
    """An object of the operator's own, named main."""
    return {"apiVersion": OPERATOR_API, "kind": kind, "metadata": {"name": "main"}, "spec": specification}


# Of a Prometheus that takes what has its release's label, in all namespaces.
SELECTOR = {"matchLabels": {"release": "main"}}
SELECTS = {
    "version": binaries.PROMETHEUS.version,
    "podMonitorSelector": SELECTOR,
    "podMonitorNamespaceSelector": {},
    "ruleSelector": SELECTOR,
    "ruleNamespaceSelector": {},
}


@pytest.fixture
def operated(operator: None, kubectl: Kubectl) -> Operated:
    """A Prometheus of no pods."""
    kubectl.apply(operators("Prometheus", {**SELECTS, "replicas": 0}))
    return Operated(kubectl)


@pytest.mark.full
@pytest.mark.timeout(1200)  # It builds the operator, where nobody has.
def test_the_operator_takes_every_monitor_and_rule_of_its_label_and_no_wrong_one(
    operated: Operated, kubectl: Kubectl
) -> None:
    objects = objects_of("monitoring", "monitors.labels.release=main", "rules.labels.release=main")
    for each in objects:
        each["metadata"]["namespace"] = kubectl.namespace
    monitors = [each for each in objects if each["kind"] == "PodMonitor"]
    files = [each["spec"] for each in objects if each["kind"] == "PrometheusRule"]
    wanted = {
        f"{kubectl.namespace}/{each['metadata']['name']}/{number}"
        for each in monitors
        for number, _ in enumerate(each["spec"]["podMetricsEndpoints"])
    }
    wrong_label = renamed(monitors[0], "unlabelled", release="another")
    wrong_rule = renamed(next(each for each in objects if each["kind"] == "PrometheusRule"), "wrong", release="main")
    wrong_rule["spec"] = {"groups": [{"name": "wrong", "rules": [{"alert": "Wrong", "expr": "up =="}]}]}

    kubectl.apply(*objects, wrong_label, wrong_rule)

    wait_for("all monitors are jobs", lambda: operated.jobs() == wanted, within_s=60)
    wait_for("all rules are loaded", lambda: operated.rules() == names_of_rules(files), within_s=60)
    assert len(wanted) == 5
    assert len(operated.rules()) > 25
    # A monitor that has lost its label is no job any more: so the comparison above can fail.
    kubectl("label", "podmonitor", monitors[0]["metadata"]["name"], "release=another", "--overwrite")
    lost = {f"{kubectl.namespace}/{monitors[0]['metadata']['name']}/0"}
    wait_for("it is no job any more", lambda: operated.jobs() == wanted - lost, within_s=60)
    assert operated.rules() == names_of_rules(files)


def renamed(found: Object, name: str, **labels: str) -> Object:
    """The same object, but for its name and its labels."""
    metadata = {"name": name, "namespace": found["metadata"]["namespace"], "labels": labels}
    return {**found, "metadata": metadata}


# What each endpoint of a monitor comes to in a release of one pod of each kind, as monitor/number of the endpoint.
TARGETS = [
    "market-spread-aggregator/0",
    "market-spread-host-tuner/0",
    "market-spread-kafka/0",
    "market-spread-spark/0",
    "market-spread-spark/1",
]
# A series of each component: sender, receiver, job and run push theirs to the metrics-aggregator.
SERIES = {
    "sender": "market_spread_sender_messages_sent_total",
    "receiver": "market_spread_receiver_alerts_total",
    "job": "market_spread_job_messages_processed_total",
    "run": "market_spread_run_measuring_timestamp_seconds",
    "driver": "metrics_spark_driver_LiveListenerBus_queue_appStatus_numDroppedEvents_Count",
    "executor": "metrics_executor_maxTasks",
    "kafka": "kafka_server_replicamanager_underreplicatedpartitions",
    "host tuner": "market_spread_host_tuner_setting_ok",
}
# Only looked at by the tuner, and of no consequence: how many messages of one kind the kernel logs at once.
LOOKED_AT = Path("/proc/sys/kernel/printk_ratelimit_burst")
ALERT = "MarketSpreadHostNotTuned"

RECEIVER = """
import http.server
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
http.server.HTTPServer(("", 8080), Receiver).serve_forever()
"""


class Watched:
    """A Prometheus and an Alertmanager in pods of the operator's, and a receiver of what they send."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def are(self, wanted: list[str]) -> bool:
        """Whether these targets are up, a pod each, and no others."""
        active = self._ask("targets?state=active")["activeTargets"]
        return (
            sorted("/".join(each["scrapePool"].split("/")[2:]) for each in active if each["health"] == "up") == wanted
        )

    def components(self) -> set[str]:
        """The components that there is a series of."""
        return {name for name, series in SERIES.items() if self._ask(f"query?query={series}")["result"]}

    def rules(self) -> list[str]:
        """The names of the rules that it evaluates without an error, in order."""
        groups = self._ask("rules")["groups"]
        return sorted(rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "ok")

    def received(self, alert: str) -> list[tuple[str, str]]:
        """What the receiver was sent of an alert, in order: firing or resolved, and of which setting."""
        sent = [json.loads(line)["alerts"] for line in self._kubectl("logs", "receiver").split("\n") if line]
        told = [each for alerts in sent for each in alerts if each["labels"]["alertname"] == alert]
        return [(each["status"], each["labels"]["setting"]) for each in told]

    def _ask(self, question: str) -> Object:
        pod = f"/api/v1/namespaces/{self._kubectl.namespace}/pods/prometheus-main-0:9090/proxy"
        found: Object = json.loads(self._kubectl("get", "--raw", f"{pod}/api/v1/{question}"))["data"]
        return found


@pytest.fixture
def watched(operator: None, ground: Cluster, kubectl: Kubectl) -> Iterator[Watched]:
    """Prometheus and Alertmanager, with the rights that the operator's documentation gives to them."""
    made = images.monitoring_images()
    tuner = images.product_images()["host-tuner"]
    ground.load([*made.values(), tuner])
    role = f"prometheus-{kubectl.namespace}"
    rules = [
        {"apiGroups": [""], "resources": ["pods", "services", "endpoints"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]},
    ]
    account = {"kind": "ServiceAccount", "name": "default", "namespace": kubectl.namespace}
    common = {"replicas": 1, "imagePullPolicy": "Never", "resources": {"requests": {"memory": "64Mi"}},
              "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "fsGroup": 65534}}  # fmt: skip
    configuration = {
        "route": {"receiver": "test", "group_wait": "1s", "group_interval": "5s", "repeat_interval": "1h"},
        "receivers": [{"name": "test", "webhook_configs": [{"url": "http://receiver:8080/"}]}],
    }
    kubectl.apply(
        rbac("ClusterRole", role, rules=rules),
        rbac("ClusterRoleBinding", role, subjects=[account],
             roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}),
        pod("receiver", tuner.reference, command=["python3", "-c", RECEIVER]),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "receiver"},
         "spec": {"selector": {"pod": "receiver"}, "ports": [{"port": 8080}]}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "alertmanager-main"},
         "stringData": {"alertmanager.yaml": json.dumps(configuration)}},
        operators("Alertmanager", {**common, "version": "v0.25.0", "image": made["alertmanager"].reference}),
        operators("Prometheus", {
            **SELECTS, **common, "image": made["prometheus"].reference, "serviceAccountName": "default",
            "alerting": {"alertmanagers": [{"name": "alertmanager-operated", "port": "web"}]},
        }),
    )  # fmt: skip
    try:
        for name in ("receiver", "alertmanager-main-0", "prometheus-main-0"):
            wait_for(f"{name} is there", partial(exists, kubectl, name), within_s=60)
            kubectl.wait_ready(name, within_s=120)
        yield Watched(kubectl)
    finally:
        kubectl.delete("clusterrolebinding,clusterrole", role)


def rbac(kind: str, name: str, **rest: Any) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **rest}


def exists(kubectl: Kubectl, name: str) -> bool:
    return bool(kubectl("get", "pod", name, "--ignore-not-found", "--output=name"))


@pytest.fixture
def tuned(watched: Watched, ground: Cluster) -> Iterator[Release]:
    """The host tuner in the documented namespace, which looks at one more setting."""
    found = Release("host-tuning", "host-tuning", Kubectl(ground.kubectl.kubeconfig, "market-spread-hosts"))
    before = LOOKED_AT.read_text()
    try:
        found.install(f"--set-json=profile.verify.sysctls.kernel\\.{LOOKED_AT.name}={before.strip()}", within_s=120)
        yield found
    finally:
        LOOKED_AT.write_text(before)
        found.uninstall()


@pytest.fixture
def monitors(watched: Watched, release: Release) -> Iterator[Kubectl]:
    """The chart monitoring beside the release, as its page says; kubectl for its objects."""
    kubectl = release.kubectl
    helm = [binaries.HELM.path, f"--kubeconfig={kubectl.kubeconfig}", f"--namespace={kubectl.namespace}"]
    labels = "monitors.labels.release=main,rules.labels.release=main"
    run([*helm, "install", "monitoring", CHARTS / "monitoring", f"--set={labels}"])
    yield kubectl
    run([*helm, "uninstall", "monitoring", "--wait"])


@pytest.mark.full
@pytest.mark.timeout(1800)  # It builds the operator and images, where nobody has.
def test_every_component_is_scraped_and_an_alert_is_received_and_resolved(
    watched: Watched, tuned: Release, monitors: Kubectl, start_run: Callable[..., Run]
) -> None:
    rules = names_of_rules([each["spec"] for each in objects_of("monitoring") if each["kind"] == "PrometheusRule"])
    wait_for("all targets are up", partial(watched.are, TARGETS), within_s=120)
    wait_for("all rules are evaluated", lambda: watched.rules() == rules, within_s=60)

    started = start_run("--duration", "30")
    started.wait_until_measuring()
    wait_for("there are series of all components", lambda: watched.components() == set(SERIES), within_s=30)
    assert lossless(started.result()) == NOTHING_LOST
    assert watched.received(ALERT) == []

    # Somebody changes what the tuner only looks at, and puts it right again.
    before = LOOKED_AT.read_text()
    LOOKED_AT.write_text(str(int(before) + 1))
    wait_for("the alert is received", lambda: len(watched.received(ALERT)) == 1, within_s=120)
    LOOKED_AT.write_text(before)
    wait_for("it is resolved", lambda: len(watched.received(ALERT)) == 2, within_s=120)
    (fired, setting), resolved = watched.received(ALERT)
    assert (fired, resolved) == ("firing", ("resolved", setting))
    assert LOOKED_AT.name in setting

    # A monitor of a port that no pod has loses its target: so what is compared above can fail.
    for port, wanted in (("metric", [each for each in TARGETS if "kafka" not in each]), ("metrics", TARGETS)):
        patch = [{"op": "replace", "path": "/spec/podMetricsEndpoints/0/port", "value": port}]
        monitors("patch", "podmonitor", "market-spread-kafka", "--type=json", f"--patch={json.dumps(patch)}")
        wait_for(f"targets of port {port}", partial(watched.are, wanted), within_s=120)
