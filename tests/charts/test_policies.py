"""Network policies: the connections that are needed, and no others."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.charts.catalog import CI, DEFAULT, Profile, Rendered, rendered
from tests.charts.pods import pods, selects

RELEASE = {"app.kubernetes.io/name": "market-spread", "app.kubernetes.io/instance": "market-spread"}
ALL_PORTS = 0


class Connection(NamedTuple):
    """Who may connect to whom, and to which port."""

    source: str
    target: str
    port: int


# What the processes do: pushes of metrics, control, Kafka, Spark's own.
NEEDED = {
    *(Connection(source, "metrics-aggregator", 50051) for source in ("sender", "receiver", "job", "run", "test")),
    *(Connection(source, "metrics-aggregator", 8080) for source in ("run", "test")),
    *(Connection(source, target, 50051) for source in ("run", "test") for target in ("sender", "receiver", "job")),
    *(Connection("executor", "job", port) for port in (7078, 7079)),
    *(Connection(source, "executor", ALL_PORTS) for source in ("job", "executor")),
    *(
        Connection(source, "kafka", 9092)
        for source in ("sender", "receiver", "job", "executor", "topics", "run", "test")
    ),
}
COMPONENTS = sorted({name for connection in NEEDED for name in (connection.source, connection.target)})


def labels(component: str) -> dict[str, str]:
    return {**RELEASE, "app.kubernetes.io/component": component}


def ports(rule: dict[str, Any]) -> list[int]:
    return [entry["port"] for entry in rule.get("ports", [])] or [ALL_PORTS]


def allowed(made: Rendered, direction: str, peers: str) -> Iterator[Connection]:
    """Connections between pods of the release that the policies of one direction allow."""
    for policy in made.of("NetworkPolicy"):
        for own in (name for name in COMPONENTS if selects(policy["spec"]["podSelector"], labels(name))):
            for rule in policy["spec"].get(direction, []):
                for peer in rule[peers]:
                    if "namespaceSelector" in peer or "ipBlock" in peer:
                        continue
                    for other in (name for name in COMPONENTS if selects(peer["podSelector"], labels(name))):
                        for port in ports(rule):
                            pair = (other, own) if direction == "ingress" else (own, other)
                            yield Connection(*pair, port)


def outside(made: Rendered, component: str, direction: str) -> list[dict[str, Any]]:
    """Rules of a component for what is not of the release; name look-ups are everybody's."""
    (policy,) = [
        policy
        for policy in made.of("NetworkPolicy", component)
        if policy["spec"]["podSelector"]["matchLabels"].get("app.kubernetes.io/component") == component
    ]
    side = "from" if direction == "ingress" else "to"
    return [rule for rule in policy["spec"].get(direction, []) if "podSelector" not in rule[side][0]]


@pytest.mark.parametrize("profile", [DEFAULT, CI], ids=str)
def test_within_the_release_exactly_what_is_needed_is_allowed(profile: Profile) -> None:
    made = rendered(profile)

    assert set(allowed(made, "ingress", "from")) == NEEDED
    assert set(allowed(made, "egress", "to")) == NEEDED


def test_every_pod_is_denied_first() -> None:
    made = rendered(DEFAULT)

    (default,) = [policy for policy in made.of("NetworkPolicy") if policy["metadata"]["name"].endswith("-default")]
    assert default["spec"]["podSelector"] == {"matchLabels": RELEASE}
    assert default["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in default["spec"]
    (lookups,) = default["spec"]["egress"]
    assert lookups["ports"] == [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    assert lookups["to"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
    ]
    for pod in pods(made):
        assert selects(default["spec"]["podSelector"], pod.labels), pod.maker
    for policy in made.of("NetworkPolicy"):
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_only_driver_and_run_controller_reach_the_api_server() -> None:
    made = rendered(DEFAULT, networkPolicy__apiServer__cidrs=["10.0.0.1/32"])

    rules = {component: outside(made, component, "egress") for component in COMPONENTS}
    api = [
        {
            "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
            "ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}],
        }
    ]
    assert {component: found for component, found in rules.items() if found} == {"job": api, "run": api}


def test_only_what_prometheus_reads_is_open_to_it() -> None:
    made = rendered(CI)

    open_ports = {
        component: [port for rule in outside(made, component, "ingress") for port in ports(rule)]
        for component in COMPONENTS
    }
    assert {component: found for component, found in open_ports.items() if found} == {
        "metrics-aggregator": [8080],
        "job": [4040],
        "kafka": [9404],
    }
    (rule,) = outside(made, "job", "ingress")
    assert rule["from"][0]["namespaceSelector"]["matchExpressions"][0]["values"] == ["monitoring"]


def test_without_a_namespace_of_prometheus_nobody_outside_comes_in() -> None:
    made = rendered(CI, networkPolicy__monitoringNamespaces=[])

    assert [outside(made, component, "ingress") for component in COMPONENTS] == [[]] * len(COMPONENTS)


def test_brokers_elsewhere_are_reached_at_their_ports_by_those_who_use_kafka() -> None:
    values: dict[str, Any] = {"kafka__external__bootstrap": "b1:9093,b2:9094,b3:9093"}
    made = rendered(DEFAULT, **values, networkPolicy__kafka__cidrs=["10.1.0.0/16"])

    assert made.of("NetworkPolicy", "kafka") == []
    for component in ("sender", "receiver", "job", "executor", "topics", "run", "test"):
        (rule, *_) = outside(made, component, "egress")
        assert rule["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]
        assert ports(rule) == [9093, 9094]
    assert outside(made, "metrics-aggregator", "egress") == []


@pytest.mark.parametrize(
    ("endpoint", "port"), [("https://login.example.com/token", 443), ("https://login.auth.svc:8443", 8443)]
)
def test_who_uses_kafka_with_tokens_reaches_their_endpoint(endpoint: str, port: int) -> None:
    security = {
        "protocol": "SASL_SSL", "saslMechanism": "OAUTHBEARER", "username": "u", "passwordSecret": "p",
        "tokenEndpoint": endpoint,
    }  # fmt: skip
    values: dict[str, Any] = {f"kafka__external__security__{name}": value for name, value in security.items()}
    made = rendered(
        DEFAULT, **values, kafka__external__bootstrap="b1:9093", networkPolicy__tokens__cidrs=["10.2.0.0/16"]
    )

    for component in ("sender", "receiver", "job", "executor", "topics", "run", "test"):
        (_, rule, *_) = outside(made, component, "egress")
        assert rule["to"] == [{"ipBlock": {"cidr": "10.2.0.0/16"}}]
        assert ports(rule) == [port]
    assert outside(made, "metrics-aggregator", "egress") == []


def test_allowed_ports_are_those_that_containers_open() -> None:
    made = rendered(CI)

    opened = {pod.component: set() for pod in pods(made)} | {
        pod.component: {port["containerPort"] for c in pod.spec["containers"] for port in c.get("ports", [])}
        for pod in pods(made)
    }
    for connection in NEEDED:
        assert connection.port in opened[connection.target] | {ALL_PORTS}, connection


def test_policies_can_be_left_out() -> None:
    assert rendered(DEFAULT, networkPolicy__enabled=False).of("NetworkPolicy") == []
