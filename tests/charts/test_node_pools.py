"""The chart node-pools: nodes that give exclusive CPUs, from their first boot."""

import email
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.catalog import (
    C4,
    KARPENTER,
    KUBERNETES,
    ROOT,
    Profile,
    karpenter_schema,
    rendered,
    run_helm,
)
from tests.charts.pods import pods

POOLS = Profile("node-pools")
REFERENCE = Profile("node-pools", "values-c4.8xlarge.yaml")
NAMES = ("broker", "engine", "load")
KINDS = ("EC2NodeClass", "NodePool")


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


def node_config(pool: str, **values: Any) -> dict[str, Any]:
    """What the pool's user data says to the machine image."""
    spec: dict[str, Any] = yaml.safe_load(user_data(pool, **values)["application/node.eks.aws"])["spec"]
    return spec


def kubelet_config(pool: str, **values: Any) -> dict[str, Any]:
    """The kubelet's settings in it."""
    config: dict[str, Any] = node_config(pool, **values)["kubelet"]["config"]
    return config


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
    kubelet = kubelet_config(pool)

    assert kubelet["cpuManagerPolicy"] == "static"
    assert kubelet["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    assert kubelet["reservedSystemCPUs"] == "0,9"
    assert kubelet["topologyManagerPolicy"] == "single-numa-node"
    assert kubelet["topologyManagerScope"] == "pod"
    assert kubelet["memoryManagerPolicy"] == "Static"
    assert kubelet["cpuManagerReconcilePeriod"] == "5s"


@pytest.mark.parametrize("pool", NAMES)
def test_the_cgroups_that_the_image_reserves_are_taken_back(pool: str) -> None:
    kubelet = kubelet_config(pool)

    assert accepted_by_the_kubelet({**IMAGE, **kubelet})
    for name in ("kubeReservedCgroup", "systemReservedCgroup"):
        assert not accepted_by_the_kubelet({**IMAGE, **{key: kubelet[key] for key in kubelet if key != name}})


# What EKS's image for Amazon Linux 2023 says to the kubelet before the user's settings are laid over it
# (awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go).
IMAGE = {"kubeReservedCgroup": "/runtime", "systemReservedCgroup": "/system"}


def accepted_by_the_kubelet(settings: dict[str, Any]) -> bool:
    """Its own rule: reservedSystemCPUs with neither of the cgroups (pkg/kubelet/apis/config/validation)."""
    return not settings.get("reservedSystemCPUs") or not (
        settings.get("systemReservedCgroup") or settings.get("kubeReservedCgroup")
    )


@pytest.mark.parametrize("pool", NAMES)
def test_karpenter_knows_what_the_kubelet_keeps_from_pods(pool: str) -> None:
    simulated, real = node_class(pool)["kubelet"], kubelet_config(pool)

    assert simulated.pop("maxPods") == 58
    assert set(simulated) == {"kubeReserved", "systemReserved", "evictionHard"}
    assert {name: real[name] for name in simulated} == simulated


def test_a_pool_is_limited_by_its_nodes() -> None:
    limits = {pool["metadata"]["name"]: pool["spec"]["limits"] for pool in rendered(POOLS).of("NodePool")}

    nodes = {"engine": "2", "broker": "3", "load": "1"}
    # In pods as well, 58 of each: Karpenter counts nodes after it has made them (cluster/test_karpenter.py).
    assert limits == {
        f"market-spread-{name}": {"nodes": count, "pods": str(58 * int(count))} for name, count in nodes.items()
    }


@pytest.mark.parametrize("values", [{}, {"kubelet__reservedMemory__kubeMi": 1023}], ids=str)
def test_memory_reserved_on_numa_nodes_is_what_is_reserved_in_all(values: dict[str, Any]) -> None:
    kubelet = kubelet_config("engine", **values)

    def mebibytes(text: str) -> int:
        return int(text.removesuffix("Mi"))

    in_all = [kubelet["kubeReserved"]["memory"], kubelet["systemReserved"]["memory"]]
    in_all.append(kubelet["evictionHard"]["memory.available"])
    on_nodes = [entry["limits"]["memory"] for entry in kubelet["reservedMemory"]]
    assert [entry["numaNode"] for entry in kubelet["reservedMemory"]] == [0, 1]
    assert sum(map(mebibytes, on_nodes)) == sum(map(mebibytes, in_all))


def test_strict_reservation_is_an_option_that_leaves_a_cpu() -> None:
    kubelet = kubelet_config("engine", kubelet__strictCpuReservation=True, kubelet__pinnedCpus=15)

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
    assert "containerd" not in node_config("load")

    runtime = node_config("load", pools__load__realtimePriorityMax=20)["containerd"]

    limits = {limit["type"]: limit["hard"] for limit in runtime["baseRuntimeSpec"]["process"]["rlimits"]}
    assert limits == {"RLIMIT_NOFILE": 1048576, "RLIMIT_RTPRIO": 20}
    assert "containerd" not in node_config("engine", pools__load__realtimePriorityMax=20)


def test_a_pool_can_be_left_out() -> None:
    made = rendered(POOLS, pools__broker__enabled=False)

    assert {found["metadata"]["name"] for found in made.objects} == {"market-spread-engine", "market-spread-load"}


def test_the_reference_is_in_one_placement_group() -> None:
    for pool in NAMES:
        assert node_class(pool, REFERENCE)["placementGroupSelector"] == {"name": "market-spread"}
        assert "placementGroupSelector" not in node_class(pool)


def dropped(part: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """What the API server would drop of an object, silently: the paths of fields that the definition does not know."""
    if isinstance(part, list):
        return [found for each in part for found in dropped(each, schema.get("items", {}), f"{path}[]")]
    if not isinstance(part, dict) or ("properties" not in schema and schema.get("additionalProperties")):
        return []
    known = schema.get("properties", {})
    free = schema.get("x-kubernetes-preserve-unknown-fields", False)
    return [
        found
        for name, value in part.items()
        for found in (
            dropped(value, known[name], f"{path}.{name}") if name in known else [] if free else [f"{path}.{name}"]
        )
    ]


@pytest.mark.parametrize("version", KARPENTER)
@pytest.mark.parametrize("profile", [POOLS, REFERENCE], ids=str)
def test_released_karpenters_take_every_field(profile: Profile, version: str) -> None:
    made = rendered(profile, pools__load__realtimePriorityMax=20, tags={"team": "x"})

    for kind in KINDS:
        for found in made.of(kind):
            bare = {name: value for name, value in found.items() if name != "metadata"}
            assert dropped(bare, karpenter_schema(version, kind)) == []
            jsonschema.validate(bare, karpenter_schema(version, kind), cls=jsonschema.Draft7Validator)


def test_a_field_that_a_release_would_drop_is_found() -> None:
    oldest, newest = KARPENTER
    found = rendered(REFERENCE).of("EC2NodeClass")[0]
    spec = {**found["spec"], "kubelet": {**found["spec"]["kubelet"], "cpuManagerPolicy": "static"}}
    pinned, misspelt = {"spec": spec}, {"spec": {**found["spec"], "rol": "x", "blockDeviceMappings": [{"ebz": {}}]}}

    assert dropped(pinned, karpenter_schema(oldest, "EC2NodeClass")) == [".spec.kubelet.cpuManagerPolicy"]
    assert dropped(pinned, karpenter_schema(newest, "EC2NodeClass")) == []
    for version in KARPENTER:
        assert dropped(misspelt, karpenter_schema(version, "EC2NodeClass")) == [
            ".spec.blockDeviceMappings[].ebz",
            ".spec.rol",
        ]


def test_values_that_a_release_refuses_are_found() -> None:
    pool = rendered(POOLS).of("NodePool")[0]
    wrong = json.loads(json.dumps(pool).replace('"WhenEmpty"', '"Empty"'))

    for version in KARPENTER:
        with pytest.raises(jsonschema.ValidationError, match="Empty"):
            jsonschema.validate(wrong, karpenter_schema(version, "NodePool"), cls=jsonschema.Draft7Validator)


def test_the_oldest_karpenter_is_the_one_that_the_page_names() -> None:
    chart = yaml.safe_load((POOLS.folder / "Chart.yaml").read_text())
    wanted = chart["annotations"]["market-spread.io/karpenter"].removeprefix(">=").removesuffix(".0")

    assert f"Karpenter {wanted} or newer" in (ROOT / "docs" / "kubernetes.md").read_text()
    assert all(number(version) >= number(f"v{wanted}") for version in KARPENTER)


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removeprefix("v").split(".")))


def test_a_cluster_with_an_older_karpenter_is_told_so() -> None:
    words = ["template", "x", POOLS.folder, "--kube-version", KUBERNETES, *POOLS.arguments]

    old = run_helm(*words, "--api-versions", "karpenter.sh/v1beta1")
    new = run_helm(*words, "--api-versions", "karpenter.sh/v1beta1", "--api-versions", "karpenter.sh/v1")

    assert "its Karpenter is older than 1.11" in old.stderr
    assert new.returncode == 0


def test_the_documented_nodes_of_eksctl_are_those_of_the_chart() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    (text,) = [block for block in page.split("```") if block.startswith("text\nMIME-Version")]
    message = email.message_from_string(text.removeprefix("text\n"))
    documented = {
        part.get_content_type(): str(part.get_payload()) for part in message.walk() if not part.is_multipart()
    }
    made = user_data("engine")

    assert documented["text/x-shellscript"].strip() == made["text/x-shellscript"].strip()
    assert set(documented) == set(made)
    spec = yaml.safe_load(documented["application/node.eks.aws"])["spec"]
    (taints,) = spec["kubelet"].pop("flags")
    assert spec == node_config("engine")
    template = rendered(POOLS).of("NodePool")[1]["spec"]["template"]["spec"]
    expected = [
        f"{taint['key']}={taint['value']}:{taint['effect']}"
        for taint in [*template["taints"], *template["startupTaints"]]
    ]
    assert taints == f"--register-with-taints={','.join(expected)}"
