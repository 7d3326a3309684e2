"""The chart node-pools: nodes that give exclusive CPUs, from their first boot."""

import email
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.catalog import C4, ROOT, Object, Profile, rendered
from tests.charts.pods import pods

POOLS = Profile("node-pools")
REFERENCE = Profile("node-pools", "values-c4.8xlarge.yaml")
NAMES = ("broker", "engine", "load")
# Karpenter's definitions in full, where they are beside the checkout.
DEFINITIONS = {
    "NodePool": ROOT.parent / "shared" / "data" / "karpenter-nodepools.crd.yaml",
    "EC2NodeClass": ROOT.parent / "shared" / "data" / "karpenter-ec2nodeclasses.crd.yaml",
}


def node_class(pool: str, profile: Profile = POOLS, **values: Any) -> dict[str, Any]:
    (found,) = [
        found for found in rendered(profile, **values).of("EC2NodeClass") if found["metadata"]["name"].endswith(pool)
    ]
    spec: dict[str, Any] = found["spec"]
    return spec


def user_data(pool: str, **values: Any) -> dict[str, str]:
    """The parts of a pool's user data by their type."""
    message = email.message_from_string(node_class(pool, **values)["userData"])
    assert message.is_multipart()
    parts = message.get_payload()
    assert isinstance(parts, list)
    return {part.get_content_type(): str(part.get_payload()) for part in parts}  # type: ignore[union-attr]


@pytest.mark.parametrize("profile", [POOLS, REFERENCE], ids=str)
def test_there_are_three_pools_with_label_and_taint(profile: Profile) -> None:
    made = {pool["metadata"]["name"]: pool["spec"]["template"] for pool in rendered(profile).of("NodePool")}

    assert set(made) == {f"market-spread-{name}" for name in NAMES}
    for name in NAMES:
        template = made[f"market-spread-{name}"]
        assert template["metadata"]["labels"] == {"market-spread.io/pool": name}
        assert template["spec"]["taints"] == [{"key": "market-spread.io/pool", "value": name, "effect": "NoSchedule"}]
        assert template["spec"]["nodeClassRef"]["name"] == f"market-spread-{name}"
        required = {rule["key"]: rule["values"] for rule in template["spec"]["requirements"]}
        assert required["node.kubernetes.io/instance-type"] == ["c4.8xlarge"]


def test_the_pools_are_those_that_pods_ask_for() -> None:
    asked = {
        toleration["value"]
        for made in pods(rendered(C4))
        for toleration in made.spec.get("tolerations", [])
        if toleration["key"] == "market-spread.io/pool"
    }

    assert asked == set(NAMES)


def test_nodes_begin_with_the_taint_of_the_host_tuner() -> None:
    taint = {"key": "market-spread.io/host-tuning", "value": "pending", "effect": "NoSchedule"}

    for pool in rendered(POOLS).of("NodePool"):
        assert pool["spec"]["template"]["spec"]["startupTaints"] == [taint]
    for pool in rendered(POOLS, hostTuning__enabled=False).of("NodePool"):
        assert "startupTaints" not in pool["spec"]["template"]["spec"]


@pytest.mark.parametrize("pool", NAMES)
def test_the_kubelet_gives_exclusive_cpus_of_one_numa_node(pool: str) -> None:
    kubelet = node_class(pool)["kubelet"]

    assert kubelet["cpuManagerPolicy"] == "static"
    assert kubelet["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    assert kubelet["reservedSystemCPUs"] == "0,9"
    assert kubelet["topologyManagerPolicy"] == "single-numa-node"
    assert kubelet["topologyManagerScope"] == "pod"
    assert kubelet["memoryManagerPolicy"] == "Static"
    assert kubelet["cpuManagerReconcilePeriod"] == "5s"


@pytest.mark.parametrize("values", [{}, {"kubelet__reservedMemory__kubeMi": 1023}], ids=str)
def test_memory_reserved_on_numa_nodes_is_what_is_reserved_in_all(values: dict[str, Any]) -> None:
    kubelet = node_class("engine", **values)["kubelet"]

    def mebibytes(text: str) -> int:
        return int(text.removesuffix("Mi"))

    in_all = [kubelet["kubeReserved"]["memory"], kubelet["systemReserved"]["memory"]]
    in_all.append(kubelet["evictionHard"]["memory.available"])
    on_nodes = [entry["limits"]["memory"] for entry in kubelet["reservedMemory"]]
    assert [entry["numaNode"] for entry in kubelet["reservedMemory"]] == [0, 1]
    assert sum(map(mebibytes, on_nodes)) == sum(map(mebibytes, in_all))


def test_strict_reservation_is_an_option_that_leaves_a_cpu() -> None:
    kubelet = node_class("engine", kubelet__strictCpuReservation=True, kubelet__pinnedCpus=15)["kubelet"]

    assert kubelet["cpuManagerPolicyOptions"]["strict-cpu-reservation"] == "true"


@pytest.mark.parametrize("pool", NAMES)
def test_smt_is_off_before_the_kubelet_starts_at_each_boot(pool: str) -> None:
    script = user_data(pool)["text/x-shellscript"]

    unit = script.split("<<'UNIT'\n")[1].split("\nUNIT\n")[0]
    assert "Before=kubelet.service" in unit
    assert "WantedBy=multi-user.target" in unit
    assert "echo off > /sys/devices/system/cpu/smt/control" in unit
    assert "disable --now irqbalance.service" in unit
    assert "systemctl enable --now market-spread-before-kubelet.service" in script


def test_the_script_is_one_that_a_shell_reads(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(user_data("engine")["text/x-shellscript"].lstrip())

    assert script.read_text().startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", script], check=True, timeout=10)


@pytest.mark.parametrize(("state", "after"), [("on", "off"), ("off", "off"), ("notsupported", "notsupported")])
def test_the_unit_writes_only_where_threads_are_on(state: str, after: str, tmp_path: Path) -> None:
    control = tmp_path / "control"
    control.write_text(f"{state}\n")
    unit = user_data("engine")["text/x-shellscript"]
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=/usr/bin/bash -c ")]
    command = line.split("-c ", 1)[1].strip("'").replace("/sys/devices/system/cpu/smt/control", str(control))

    subprocess.run(["bash", "-c", command], check=True, timeout=10)

    assert control.read_text() == f"{after}\n"
    control.unlink()
    subprocess.run(["bash", "-c", command], check=True, timeout=10)
    assert not control.exists(), "a kernel without SMT has no such file"


def test_real_time_priorities_are_allowed_on_the_load_pool_if_asked_for() -> None:
    assert set(user_data("load")) == {"text/x-shellscript"}

    parts = user_data("load", pools__load__realtimePriorityMax=20)

    config = yaml.safe_load(parts["application/node.eks.aws"])
    limits = {
        limit["type"]: limit["hard"] for limit in config["spec"]["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]
    }
    assert limits == {"RLIMIT_NOFILE": 1048576, "RLIMIT_RTPRIO": 20}
    assert set(user_data("engine", pools__load__realtimePriorityMax=20)) == {"text/x-shellscript"}


def test_a_pool_can_be_left_out() -> None:
    made = rendered(POOLS, pools__broker__enabled=False)

    assert {found["metadata"]["name"] for found in made.objects} == {"market-spread-engine", "market-spread-load"}


def test_the_reference_is_in_one_placement_group() -> None:
    for pool in NAMES:
        assert node_class(pool, REFERENCE)["placementGroupSelector"] == {"name": "market-spread"}
        assert "placementGroupSelector" not in node_class(pool)


def closed(schema: Any) -> Any:
    """A definition's schema, closed where its keys are fixed."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items() if key != "format"}
    if (
        isinstance(made.get("properties"), dict)
        and "type" in made
        and not made.get("x-kubernetes-preserve-unknown-fields")
    ):
        made["additionalProperties"] = False
    if made.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    return made


def definition(kind: str) -> Object:
    """The schema of Karpenter's own definition, or where that is not beside the checkout what we keep of it."""
    path = DEFINITIONS[kind]
    if not path.exists():
        kept: Object = yaml.safe_load((Path(__file__).parent / "schemas" / f"{kind}.yaml").read_text())
        return kept
    (version,) = yaml.safe_load(path.read_text())["spec"]["versions"]
    schema: Object = closed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_what_we_keep_of_karpenters_definitions_refuses_what_they_refuse(kind: str) -> None:
    kept = jsonschema.Draft7Validator(yaml.safe_load((Path(__file__).parent / "schemas" / f"{kind}.yaml").read_text()))
    full = jsonschema.Draft7Validator(definition(kind))
    valid = json.dumps(rendered(REFERENCE).of(kind)[0])

    broken = [valid.replace(f'"{key}"', f'"{key}s"') for key in ("spec", "template", "taints", "role", "ebs", "alias")]
    broken += [valid.replace('"WhenEmpty"', '"Empty"'), valid.replace('"100Gi"', '"100GB"')]
    assert kept.is_valid(json.loads(valid))
    assert full.is_valid(json.loads(valid))
    changed = [json.loads(text) for text in broken if text != valid]
    assert len(changed) >= 3
    for found in changed:
        assert not kept.is_valid(found)
        assert not full.is_valid(found)


def test_the_documented_nodes_of_eksctl_are_those_of_the_chart() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    (user_data_text,) = [block for block in page.split("```") if block.startswith("text\nMIME-Version")]
    message = email.message_from_string(user_data_text.removeprefix("text\n"))
    (part,) = [part for part in message.walk() if not part.is_multipart()]

    documented = yaml.safe_load(str(part.get_payload()))["spec"]["kubelet"]

    kubelet = dict(node_class("engine")["kubelet"])
    del kubelet["maxPods"]  # EKS knows it for its own node groups
    assert documented["config"] == kubelet
    (taints,) = documented["flags"]
    template = rendered(POOLS).of("NodePool")[1]["spec"]["template"]["spec"]
    expected = [
        f"{taint['key']}={taint['value']}:{taint['effect']}"
        for taint in [*template["taints"], *template["startupTaints"]]
    ]
    assert taints == f"--register-with-taints={','.join(expected)}"
