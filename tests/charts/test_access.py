"""Least privilege: restricted pods, tokens and rights for those alone who need them, secrets as files."""

import json
from typing import Any

import pytest

from tests.charts.catalog import C4, DEFAULT, MARKET_SPREAD, Profile, Rendered, rendered
from tests.charts.pods import pods

SECURED: dict[str, Any] = {
    "kafka__external__bootstrap": "b1:9093",
    "kafka__external__security__protocol": "SASL_SSL",
    "kafka__external__security__username": "market-spread",
    "kafka__external__security__passwordSecret": "kafka-password",
    "kafka__external__security__caSecret": "kafka-ca",
    "kafka__external__security__certificateSecret": "kafka-certificate",
}


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_pods_are_restricted(profile: Profile) -> None:
    for made in pods(rendered(profile)):
        security = made.spec["securityContext"]
        assert security["runAsNonRoot"] is True, made.maker
        assert security["runAsUser"] == (1000 if made.component == "kafka" else 10001)
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
            assert forbidden not in made.spec
        for container in made.containers:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, (made.maker, container["name"])


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_only_who_asks_the_api_server_has_a_token(profile: Profile) -> None:
    made = rendered(profile)

    with_token = {pod.component for pod in pods(made) if pod.spec["automountServiceAccountToken"]}
    assert with_token == {"job", "run"}
    for account in made.of("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False
    accounts = {account["metadata"]["name"] for account in made.of("ServiceAccount")}
    for pod in pods(made):
        assert pod.spec["serviceAccountName"] in accounts, pod.maker
        assert pod.spec["enableServiceLinks"] is False, "a Service's variables would look like our settings"


def test_rights_are_listed_one_by_one() -> None:
    made = rendered(DEFAULT, job__replicas=2, job__batchS=20)

    assert not made.of("ClusterRole")
    assert "*" not in json.dumps([role["rules"] for role in made.of("Role")])
    job = {tuple(rule["resources"]): rule for rule in made.one("Role", "job")["rules"]}
    assert set(job) == {("pods",), ("leases",)}
    assert job["pods",]["verbs"] == ["create", "get", "list", "watch", "delete", "deletecollection"]
    assert job["leases",]["verbs"] == ["get", "update"]
    assert job["leases",]["resourceNames"] == [lease["metadata"]["name"] for lease in made.of("Lease")]
    run = [(rule["resources"], rule["verbs"]) for rule in made.one("Role", "run")["rules"]]
    assert run == [(["pods"], ["list"]), (["pods/log"], ["get"])]


PAIR: dict[str, Any] = {"job__replicas": 2, "job__batchS": 20}


def policies(made: Rendered) -> dict[str, Any]:
    """The admission policies by what they are about; each is bound, and refuses."""
    found = {policy["metadata"]["name"]: policy["spec"] for policy in made.of("ValidatingAdmissionPolicy")}
    bound = {binding["metadata"]["name"]: binding["spec"] for binding in made.of("ValidatingAdmissionPolicyBinding")}
    assert bound == {name: {"policyName": name, "validationActions": ["Deny"]} for name in found}
    return {name.rpartition("-driver-")[2]: specification for name, specification in found.items()}


def validation(made: Rendered, words: str) -> str:
    """The condition of an executor whose message has these words."""
    (found,) = [each for each in policies(made)["creates"]["validations"] if words in each["message"]]
    return " ".join(found["expression"].split())


def test_every_right_to_change_something_is_narrowed_by_a_policy_or_by_names() -> None:
    made = rendered(DEFAULT, **PAIR)
    account = made.one("ServiceAccount", "job")["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"

    found = policies(made)

    matched = {what: policy["matchConstraints"]["resourceRules"] for what, policy in found.items()}
    assert {what: (rule["resources"], rule["operations"]) for what, (rule,) in matched.items()} == {
        "creates": (["pods"], ["CREATE"]),
        "deletes": (["pods"], ["DELETE"]),
        "lease": (["leases"], ["UPDATE"]),
    }
    for policy in found.values():
        assert policy["matchConditions"] == [
            {"name": "of-the-driver", "expression": f"request.userInfo.username == '{user}'"}
        ]
        assert policy["failurePolicy"] == "Fail"
    assert set(policies(rendered(DEFAULT))) == {"creates", "deletes"}, "one driver has but one Lease, by its name"


def test_policies_of_other_releases_and_namespaces_have_other_names() -> None:
    names = {policy["metadata"]["name"] for policy in rendered(DEFAULT).of("ValidatingAdmissionPolicy")}
    others = {policy["metadata"]["name"] for policy in rendered(DEFAULT, "b").of("ValidatingAdmissionPolicy")}

    assert names == {"spread.market-spread-driver-creates", "spread.market-spread-driver-deletes"}
    assert others == {"spread.b-market-spread-driver-creates", "spread.b-market-spread-driver-deletes"}


@pytest.mark.parametrize(
    ("values", "mounted"),
    [
        ({}, "claimName.orValue('') == 'market-spread-checkpoint'"),
        (PAIR, "claimName.orValue('') == 'checkpoint-' + variables.driver"),
        (
            {"job__checkpoint__kind": "existingClaim", "job__checkpoint__existingClaim": "mine"},
            "claimName.orValue('') == 'mine'",
        ),
        (
            {"job__checkpoint__kind": "hostPath", "job__checkpoint__hostPath": "/data/spark"},
            "hostPath.?path.orValue('') == '/data/spark'",
        ),
        (
            {"job__pipeline__configMap": "fares", "job__pipeline__file": "f.py", "job__pipeline__function": "f"},
            "configMap.?name.orValue('') == 'fares'",
        ),
        ({"admissionPolicy__tokenAudiences": ["vault"]}, "audience.orValue('') in [\"vault\"]"),
    ],
)
def test_a_volume_that_an_executor_has_is_allowed_and_no_other_kind(values: dict[str, Any], mounted: str) -> None:
    expression = validation(rendered(DEFAULT, **values), "no other volume")

    assert mounted in expression
    assert ("hostPath" in expression) == (values.get("job__checkpoint__kind") == "hostPath")
    assert ("configMap" in expression) == ("job__pipeline__configMap" in values)
    assert expression.count("claimName") == ("hostPath" not in expression)


def test_an_executor_is_allowed_what_the_values_give_it() -> None:
    made = rendered(
        C4, job__pipeline__image="registry.example.com/fares:1", job__pipeline__file="/opt/f.py",
        job__pipeline__function="f", podLabels={"team": "a"}, podAnnotations={"b": 'c"d'},
        priorityClassName="high",
    )  # fmt: skip
    variables = {each["name"]: each["expression"] for each in policies(made)["creates"]["variables"]}

    assert json.loads(variables["ownLabels"])["team"] == "a"
    assert json.loads(variables["ownAnnotations"]) == {"b": 'c"d'}
    assert "== 'registry.example.com/fares:1'" in validation(made, "of the image registry.example.com/fares:1")
    limits = validation(made, "at most 7 CPUs and 16384Mi")
    assert "quantity('7')" in limits
    assert "quantity('16384Mi')" in limits
    assert "priorityClassName.orValue('') == 'high'" in validation(made, "chosen by the scheduler")


def test_policies_are_left_out_for_who_may_install_in_a_namespace_alone() -> None:
    made = rendered(DEFAULT, admissionPolicy__enabled=False)

    assert policies(made) == {}
    assert not [found["kind"] for found in made.objects if "namespace" not in found["metadata"]]


@pytest.mark.parametrize("component", ["job", "run"])
def test_rights_go_to_the_accounts_of_the_pods(component: str) -> None:
    made = rendered(DEFAULT)

    binding = made.one("RoleBinding", component)
    assert binding["roleRef"]["name"] == made.one("Role", component)["metadata"]["name"]
    account = f"market-spread-{component}"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "spread"}]
    assert {pod.spec["serviceAccountName"] for pod in pods(made) if pod.component == component} == {account}


def test_secrets_are_files_and_never_in_environment_or_arguments() -> None:
    made = rendered(DEFAULT, **SECURED)

    for pod in pods(made):
        for container in pod.containers:
            assert not container.get("envFrom")
            for entry in container.get("env", []):
                assert "secretKeyRef" not in entry.get("valueFrom", {}), entry
            assert "kafka-password" not in json.dumps([container.get("args"), container.get("command")])
        volumes = {volume["name"]: volume.get("secret", {}).get("secretName") for volume in pod.spec["volumes"]}
        expected = {
            "kafka-password": "kafka-password",
            "kafka-ca": "kafka-ca",
            "kafka-certificate": "kafka-certificate",
        }
        secrets = {name: secret for name, secret in volumes.items() if secret}
        assert secrets == ({} if pod.component in ("metrics-aggregator", "executor") else expected), pod.maker
    assert not made.of("Secret")


@pytest.mark.parametrize("component", ["sender", "receiver", "job", "topics", "test", "run"])
def test_clients_of_kafka_are_told_the_files(component: str) -> None:
    made = rendered(DEFAULT, **SECURED)

    for pod in (pod for pod in pods(made) if pod.component == component):
        (container,) = pod.spec["containers"]
        told = {
            entry["name"].removeprefix("MARKET_SPREAD_"): entry.get("value")
            for entry in container["env"]
            if "KAFKA" in entry["name"] or "BOOTSTRAP" in entry["name"]
        }
        assert told == {
            "BOOTSTRAP_SERVERS": "b1:9093",
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "KAFKA_USERNAME": "market-spread",
            "KAFKA_PASSWORD_FILE": "/etc/market-spread/kafka/password/password",
            "KAFKA_CA_FILE": "/etc/market-spread/kafka/ca/ca.crt",
            "KAFKA_CERTIFICATE_FILE": "/etc/market-spread/kafka/certificate/tls.crt",
            "KAFKA_KEY_FILE": "/etc/market-spread/kafka/certificate/tls.key",
        }
        mounts = {mount["mountPath"] for mount in container["volumeMounts"] if mount.get("readOnly")}
        assert {f"/etc/market-spread/kafka/{name}" for name in ("password", "ca", "certificate")} <= mounts


@pytest.mark.parametrize("component", ["sender", "receiver", "job", "topics", "test", "run"])
def test_clients_of_kafka_are_told_where_tokens_are(component: str) -> None:
    made = rendered(
        DEFAULT, **SECURED, kafka__external__security__saslMechanism="OAUTHBEARER",
        kafka__external__security__tokenEndpoint="https://login.example.com/token",
        kafka__external__security__tokenScope="load test",
    )  # fmt: skip

    for pod in (pod for pod in pods(made) if pod.component == component):
        (container,) = pod.spec["containers"]
        told = {entry["name"]: entry.get("value") for entry in container["env"] if "TOKEN" in entry["name"]}
        assert told == {
            "MARKET_SPREAD_KAFKA_TOKEN_ENDPOINT": "https://login.example.com/token",
            "MARKET_SPREAD_KAFKA_TOKEN_SCOPE": "load test",
        }


def test_encryption_alone_needs_no_user() -> None:
    made = rendered(DEFAULT, kafka__external__bootstrap="b1:9093", kafka__external__security__protocol="SSL")

    told = {entry["name"] for pod in pods(made) for container in pod.containers for entry in container.get("env", [])}
    assert "MARKET_SPREAD_KAFKA_SECURITY_PROTOCOL" in told
    assert not [name for name in told if "USERNAME" in name or "PASSWORD" in name or "SASL" in name]
