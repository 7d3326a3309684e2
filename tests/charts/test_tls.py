"""Certificates of gRPC: who gets which, from where, how pods are asked for their health then, and that Helm's work."""

import base64
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import jsonschema
import kubernetes_validate
import pytest
import yaml

from market_spread.common.grpc.calls import Server, channel_to
from market_spread.common.grpc.identity import ROLES, Identity
from market_spread.controller.clients.probe import service_problem
from market_spread.v1 import control_pb2, control_pb2_grpc
from tests.charts.catalog import DEFAULT, KUBERNETES, NAMESPACE, Object, Rendered, rendered, run_helm
from tests.charts.pods import MadePod, pods
from tests.charts.test_manifests import SCHEMAS, notes

SERVERS = ("sender", "receiver", "job", "metrics-aggregator")
OURS = {
    f"tls__secrets__{name}": f"our-{name.lower()}" for name in ("sender", "receiver", "job", "metricsAggregator", "run")
}
GIVEN: dict[str, dict[str, Any]] = {"helm": {}, "certManager": {}, "secret": OURS}
RUN: dict[str, Any] = {"run__enabled": True, "run__workload": "name: x"}


def with_tls(source: str, **values: Any) -> Rendered:
    return rendered(DEFAULT, tls__source=source, **GIVEN[source], **values)


def secret_of(made: MadePod) -> dict[str, Any] | None:
    """The Secret of its certificate."""
    found: list[dict[str, Any]] = [volume["secret"] for volume in made.spec["volumes"] if volume["name"] == "tls"]
    assert len(found) <= 1
    return found[0] if found else None


def told(made: MadePod) -> dict[str, Any]:
    return {
        entry["name"]: entry.get("value")
        for container in made.containers
        for entry in container.get("env", [])
        if entry["name"].startswith("MARKET_SPREAD_TLS")
    }


@pytest.mark.parametrize("source", GIVEN)
def test_each_component_has_its_own_certificate_and_no_other(source: str) -> None:
    made = pods(with_tls(source, **RUN))

    assert {"topics", "executor", "kafka", *SERVERS, "run", "test"} == {pod.component for pod in made}
    for pod in made:
        if pod.component in ("topics", "executor", "kafka"):
            assert secret_of(pod) is None
            assert told(pod) == {}
            continue
        role = "run" if pod.component == "test" else str(pod.component)
        name = f"our-{role.replace('-', '')}" if source == "secret" else f"market-spread-{role}-tls"
        assert secret_of(pod) == {"secretName": name, "defaultMode": 0o440}
        (container,) = pod.containers
        (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "tls"]
        assert mount == {"name": "tls", "mountPath": "/etc/market-spread/tls", "readOnly": True}
        health = {"MARKET_SPREAD_TLS_HEALTH_PORT": "50052"} if pod.component in SERVERS else {}
        folder = {"MARKET_SPREAD_TLS_FOLDER": "/etc/market-spread/tls", "MARKET_SPREAD_TLS_DOMAIN": "market-spread"}
        assert told(pod) == {**folder, **health}


def test_without_them_nothing_of_it_is_there() -> None:
    made = rendered(DEFAULT, **RUN)

    assert not made.of("Secret")
    assert not [pod.maker for pod in pods(made) if secret_of(pod) or told(pod)]


@pytest.mark.parametrize("source", GIVEN)
def test_the_kubelet_asks_where_no_certificate_is_needed(source: str) -> None:
    for pod in pods(with_tls(source)):
        if pod.component not in SERVERS:
            continue
        (container,) = pod.containers
        assert {"name": "health", "containerPort": 50052} in container["ports"]
        assert container["readinessProbe"]["grpc"] == {"port": 50052}
        assert container["startupProbe"]["tcpSocket"] == container["livenessProbe"]["tcpSocket"] == {"port": "health"}


@pytest.mark.parametrize("source", GIVEN)
def test_policies_are_those_of_before(source: str) -> None:
    """The port without certificates is opened to no pod."""
    assert with_tls(source).of("NetworkPolicy") == rendered(DEFAULT).of("NetworkPolicy")


@pytest.mark.parametrize("source", GIVEN)
def test_no_key_is_told_anywhere_but_in_a_secret(source: str) -> None:
    made = with_tls(source, **RUN)

    keys = [found["data"]["tls.key"] for found in made.of("Secret")]
    elsewhere = json.dumps([found for found in made.objects if found["kind"] != "Secret"])
    assert len(keys) == (6 if source == "helm" else 0)
    assert not [key for key in keys if key in elsewhere or base64.b64decode(key).decode() in json.loads(elsewhere)]
    assert "PRIVATE KEY" not in elsewhere
    assert "ca-tls" not in json.dumps([pod.spec for pod in pods(made)]), "nobody's is the authority's key"


@pytest.mark.parametrize("source", GIVEN)
def test_what_is_made_is_valid(source: str) -> None:
    for found in with_tls(source, **RUN).objects:
        if found["kind"] in ("Certificate", "Issuer"):
            jsonschema.validate(found, SCHEMAS[found["kind"]])
        else:
            kubernetes_validate.validate(found, "1.35", strict=True)


def test_cert_manager_is_asked_for_the_role_as_a_uri() -> None:
    made = with_tls("certManager")

    certificates = {found["spec"]["secretName"]: found["spec"] for found in made.of("Certificate")}
    assert certificates.pop("market-spread-ca-tls")["isCA"] is True
    assert {name: spec["uris"] for name, spec in certificates.items()} == {
        f"market-spread-{role}-tls": [f"spiffe://market-spread/{role}"] for role in ROLES
    }
    assert "dnsNames" not in certificates["market-spread-run-tls"]
    assert "*.market-spread-job.spread.svc" in certificates["market-spread-job-tls"]["dnsNames"]
    assert [found["spec"] for found in made.of("Issuer")] == [
        {"selfSigned": {}},
        {"ca": {"secretName": "market-spread-ca-tls"}},
    ]


def test_the_notes_name_the_certificate_that_a_run_from_outside_needs(tmp_path: Path) -> None:
    with_certificates = notes(DEFAULT, tmp_path / "helm", "--set=tls.source=helm")
    without = notes(DEFAULT, tmp_path / "none")

    assert "needs that of the Secret market-spread-run-tls (" in with_certificates
    assert "-tls" not in without


def test_an_issuer_of_ones_own_is_the_only_one() -> None:
    made = with_tls("certManager", tls__issuer="corporate", tls__issuerKind="ClusterIssuer")

    assert not made.of("Issuer")
    assert {json.dumps(found["spec"]["issuerRef"]) for found in made.of("Certificate")} == {
        json.dumps({"name": "corporate", "kind": "ClusterIssuer", "group": "cert-manager.io"})
    }
    assert len(made.of("Certificate")) == len(ROLES)


def written(made: list[Object], folder: Path) -> dict[str, Identity]:
    """The Secrets' files as pods have them, by role."""
    identities = {}
    for secret in made:
        role = secret["metadata"]["name"].removeprefix("market-spread-").removesuffix("-tls")
        (folder / role).mkdir(parents=True)
        for name, text in secret["data"].items():
            (folder / role / name).write_bytes(base64.b64decode(text))
        identities[role] = Identity(folder / role, "market-spread")
    return identities


def test_certificates_that_helm_makes_carry_the_roles(tmp_path: Path) -> None:
    identities = written(with_tls("helm").of("Secret"), tmp_path)
    others = written(
        rendered(DEFAULT, tls__source="helm", tests__durationS=21).of("Secret"), tmp_path / "another install"
    )

    def register(server: grpc.Server) -> str:
        service: Any = control_pb2_grpc.SenderServicer
        control_pb2_grpc.add_SenderServicer_to_server(service(), server)
        return "market_spread.v1.Sender"

    server = Server("127.0.0.1:0", register, identity=identities["sender"])
    server.start()
    address = f"127.0.0.1:{server.port}"
    codes = {}
    for who, own in {**{role: identities[role] for role in ROLES}, "another install": others["run"]}.items():
        with closing(channel_to(address, own)) as channel, pytest.raises(grpc.RpcError) as raised:
            control_pb2_grpc.SenderStub(channel).Status(control_pb2.SenderStatusRequest(), timeout=10)
        codes[who] = raised.value.code()
    healthy = service_problem(address, identities["run"])
    server.stop(0)

    assert codes.pop("run") is grpc.StatusCode.UNIMPLEMENTED
    assert codes.pop("another install") is grpc.StatusCode.UNAVAILABLE
    assert set(codes.values()) == {grpc.StatusCode.PERMISSION_DENIED}
    assert healthy is None


def test_hosts_are_those_by_which_pods_are_called() -> None:
    made = with_tls("helm", sender__replicas=2)

    names = {}
    for secret in made.of("Secret"):
        certificate = base64.b64decode(secret["data"]["tls.crt"])
        command = ["openssl", "x509", "-noout", "-checkend", "86400", "-ext", "subjectAltName"]
        shown = subprocess.run(command, input=certificate, capture_output=True, check=True, timeout=30).stdout.decode()
        names[secret["metadata"]["name"]] = shown
    (services,) = [pod for pod in pods(made) if pod.maker.endswith("-test-services")]
    (container,) = services.containers
    asked = [text.split("=")[1].rpartition(":")[0] for text in container["args"][2:]]
    assert len(asked) == 5
    for host in asked:
        component = next(component for component in SERVERS if f"-{component}" in host)
        pattern = f"*.{host.partition('.')[2]}" if "." in host else host
        assert f"DNS:{pattern}" in names[f"market-spread-{component}-tls"], host
    assert "DNS:market-spread" not in names["market-spread-run-tls"]


@contextmanager
def api_server(secrets: list[Object], folder: Path) -> Iterator[Path]:
    """The kubeconfig of something that knows Secrets as an API server does, and nothing else."""
    resource = {"name": "secrets", "singularName": "secret", "namespaced": True, "kind": "Secret", "verbs": ["get"]}
    answers: dict[str, Object] = {
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]},
        **{f"/api/v1/namespaces/{NAMESPACE}/secrets/{found['metadata']['name']}": found for found in secrets},
    }

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps(answer or missing).encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "it", "users": [{"name": "it", "user": {}}],
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        })
    )  # fmt: skip
    yield path
    server.shutdown()
    server.server_close()


def test_an_upgrade_keeps_the_authority_and_makes_new_certificates(tmp_path: Path) -> None:
    before = {found["metadata"]["name"]: found for found in with_tls("helm").of("Secret")}

    with api_server(list(before.values()), tmp_path) as kubeconfig:
        ended = run_helm(
            "template", "market-spread", DEFAULT.folder, "--namespace", NAMESPACE, "--kube-version", KUBERNETES,
            "--dry-run=server", "--kubeconfig", kubeconfig, *DEFAULT.arguments, "--set", "tls.source=helm",
        )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    objects = [found for found in yaml.safe_load_all(ended.stdout) if found]
    after = {found["metadata"]["name"]: found for found in objects if found["kind"] == "Secret"}
    assert after.keys() == before.keys()
    authority = "market-spread-ca-tls"
    assert after.pop(authority)["data"] == before[authority]["data"]
    for name, secret in after.items():
        assert secret["data"]["ca.crt"] == before[authority]["data"]["tls.crt"]
        assert secret["data"]["tls.crt"] != before[name]["data"]["tls.crt"]
