"""The host tuner's chart: where it runs, what of the host it sees, what it may, and how it goes."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.common.config import PREFIX
from market_spread.host_tuner.config import HostTunerConfig, RemovalConfig, read_profile_file
from tests.charts.catalog import PROFILES, Object, Profile, Rendered, rendered, try_rendering

DEFAULT = Profile("host-tuning")
C4 = Profile("host-tuning", "values-c4.8xlarge.yaml")
TUNING = [profile for profile in PROFILES if profile.chart == "host-tuning"]
STARTUP_TAINT = "market-spread.io/host-tuning"


def tuner(profile: Profile = DEFAULT, **values: object) -> Object:
    """The pod of the DaemonSet."""
    pod: Object = rendered(profile, "tuning", **values).one("DaemonSet")["spec"]["template"]["spec"]
    return pod


def mounts(pod: Object) -> dict[str, dict[str, Any]]:
    """What the container sees, by the path that it sees it at, with the volume's source."""
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    return {mount["mountPath"]: {**volumes[mount["name"]], **mount} for mount in pod["containers"][0]["volumeMounts"]}


def written(pod: Object) -> set[str]:
    return {path for path, mount in mounts(pod).items() if not mount.get("readOnly")}


@pytest.mark.parametrize("profile", TUNING, ids=str)
def test_the_container_is_root_with_no_right_besides_an_owners(profile: Profile) -> None:
    pod = tuner(profile)

    assert pod["securityContext"] == {
        "runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    assert pod["containers"][0]["securityContext"] == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostPID", "hostIPC", "hostNetwork", "initContainers"} & set(pod)


def test_null_takes_a_setting_out_also_one_that_the_chart_does_not_have() -> None:
    with_null = {
        "profile.apply": {"governor": None, "turbo": None, "sysctls": {"vm.swappiness": None, "vm.dirty_ratio": None}},
        "profile.verify": {"smt": None, "kernel_arguments": None, "network_driver": None, "sysctls": None},
        "nodeSelector": None,
    }

    made = try_rendering(C4, "tuning", with_null)

    assert made.status == 0, made.error
    profile = yaml.safe_load(made.one("ConfigMap")["data"]["profile.yaml"])
    assert not {"governor", "turbo"} & set(profile["apply"])
    assert not {"vm.swappiness", "vm.dirty_ratio"} & set(profile["apply"]["sysctls"])
    assert not {"smt", "kernel_arguments", "network_driver"} & set(profile["verify"])


def test_it_sees_of_the_host_what_the_profile_needs() -> None:
    pod = tuner()

    assert written(pod) == {
        "/host/sys/devices/system/cpu",
        "/host/sys/kernel/mm/transparent_hugepage",
        "/host/proc/irq",
        "/host/sys/devices/virtual/workqueue",
        "/host/proc/sys/vm/swappiness",
        "/host/proc/sys/vm/stat_interval",
        "/host/proc/sys/kernel/timer_migration",
        "/host/proc/sys/kernel/nmi_watchdog",
        "/originals",
    }
    assert set(mounts(pod)) - written(pod) == {
        "/profile",
        "/pod-resources",
        "/host/sys/devices/system/node",
        "/host/proc/sys/kernel/random/boot_id",
        "/host/proc/sys/kernel/numa_balancing",
        "/host/proc/swaps",
    }


def test_what_the_profile_leaves_alone_is_not_seen() -> None:
    values = {"interrupts": "as-found", "workqueues": "as-found", "transparent_hugepages": None, "sysctls": None}

    pod = tuner(profile__apply=values, profile__verify=None)

    assert written(pod) == {"/host/sys/devices/system/cpu", "/originals"}


@pytest.mark.parametrize("profile", TUNING, ids=str)
def test_every_path_of_the_host_is_seen_at_its_own_place(profile: Profile) -> None:
    for path, mount in mounts(tuner(profile)).items():
        if path.startswith("/host/"):
            source = mount["hostPath"]["path"] + (f"/{mount['subPath']}" if "subPath" in mount else "")
            assert path == f"/host{source}"


def test_parameters_of_the_network_are_mounted_by_the_kubelet_and_others_as_files() -> None:
    found = mounts(tuner(C4))

    network = found["/host/proc/sys/net/core/busy_poll"]
    assert (network["hostPath"], network["subPath"]) == (
        {"path": "/proc/sys/net/core", "type": "Directory"}, "busy_poll",
    )  # fmt: skip
    assert found["/host/proc/sys/vm/swappiness"]["hostPath"]["type"] == "File"


@pytest.mark.parametrize("profile", TUNING, ids=str)
def test_a_dry_run_can_write_nothing(profile: Profile) -> None:
    assert written(tuner(profile, dryRun=True)) == set()


@pytest.mark.parametrize("profile", TUNING, ids=str)
def test_the_profile_that_it_is_given_is_the_one_of_the_values(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(rendered(profile, "tuning").one("ConfigMap")["data"]["profile.yaml"])
    given = yaml.safe_load((profile.folder / profile.values).read_text())["profile"]

    read = read_profile_file(path)

    assert {**yaml.safe_load(path.read_text())["apply"], **given["apply"]}.keys() == given["apply"].keys() | {
        "resume_latency_us", "transparent_hugepages", "interrupts", "workqueues", "sysctls",
    }  # fmt: skip
    assert {sysctl.name for sysctl in read.applied.sysctls} >= set(given["apply"]["sysctls"])


def test_gke_is_not_asked_for_what_its_nodes_cannot_set() -> None:
    def asked(profile: Profile) -> set[str]:
        text = rendered(profile, "tuning").one("ConfigMap")["data"]["profile.yaml"]
        return set(yaml.safe_load(text)["verify"].get("sysctls") or {})

    assert asked(DEFAULT) == {"kernel.numa_balancing"}
    assert asked(Profile("host-tuning", "values-gke.yaml")) == set()


def test_a_changed_profile_replaces_the_pods() -> None:
    def checksum(**values: object) -> str:
        template = rendered(DEFAULT, "tuning", **values).one("DaemonSet")["spec"]["template"]
        found: str = template["metadata"]["annotations"]["checksum/profile"]
        return found

    assert checksum() != checksum(profile__apply__resume_latency_us=3)
    assert checksum() == checksum(intervalS=5)


def test_it_runs_on_its_pools_whatever_their_taints_and_before_all_else() -> None:
    pod = tuner(pools=["engine", "load"])
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]

    assert terms[0]["matchExpressions"][0] == {
        "key": "market-spread.io/pool", "operator": "In", "values": ["engine", "load"],
    }  # fmt: skip
    assert [toleration["key"] for toleration in pod["tolerations"]] == ["market-spread.io/pool", STARTUP_TAINT]
    assert pod["priorityClassName"] == "system-node-critical"
    assert "limits" in pod["containers"][0]["resources"]
    assert "cpu" not in pod["containers"][0]["resources"]["limits"]


def test_a_tenth_of_the_nodes_is_updated_at_once() -> None:
    strategy = rendered(DEFAULT, "tuning").one("DaemonSet")["spec"]["updateStrategy"]

    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}


def test_its_environment_is_what_the_process_reads() -> None:
    made = rendered(DEFAULT, "tuning")
    job = made.one("Job")["spec"]["template"]["spec"]

    def fields(pod: Object) -> set[str]:
        return {entry["name"].removeprefix(PREFIX).lower() for entry in pod["containers"][0]["env"]}

    assert fields(tuner()) < {field.name for field in dataclasses.fields(HostTunerConfig)}
    assert fields(job) < {field.name for field in dataclasses.fields(RemovalConfig)}
    assert (tuner()["containers"][0]["args"], job["containers"][0]["args"]) == (["run"], ["remove"])


def test_rights_are_listed_one_by_one() -> None:
    made = rendered(DEFAULT, "tuning")

    assert made.one("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]
    assert made.one("Role", "tuner")["rules"] == [own_daemonset("get")]
    assert made.one("Role", "removal")["rules"] == [own_daemonset("get", "delete")]


def own_daemonset(*verbs: str) -> Object:
    name = "tuning-host-tuning"
    return {"apiGroups": ["apps"], "resources": ["daemonsets"], "resourceNames": [name], "verbs": [*verbs]}


def test_its_token_is_held_to_its_own_node() -> None:
    made = rendered(DEFAULT, "tuning")
    policy = made.one("ValidatingAdmissionPolicy")["spec"]

    account = made.one("ServiceAccount", "tuner")["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    assert policy["matchConditions"][0]["expression"] == f"request.userInfo.username == '{user}'"
    assert policy["failurePolicy"] == "Fail"
    assert made.one("ValidatingAdmissionPolicyBinding")["spec"] == {
        "policyName": "tuning-host-tuning", "validationActions": ["Deny"],
    }  # fmt: skip


def test_removal_waits_for_the_pods_before_their_rights_go() -> None:
    made = rendered(DEFAULT, "tuning")
    hooks = [found for found in made.objects if "helm.sh/hook" in found["metadata"].get("annotations", {})]

    assert sorted(found["kind"] for found in hooks) == ["Job", "Role", "RoleBinding", "ServiceAccount"]
    assert {found["metadata"]["annotations"]["helm.sh/hook"] for found in hooks} == {"pre-delete"}
    weights = {found["kind"]: int(found["metadata"]["annotations"]["helm.sh/hook-weight"]) for found in hooks}
    assert weights["Job"] > weights["RoleBinding"] > weights["Role"] == weights["ServiceAccount"]
    job = made.one("Job")["spec"]["template"]["spec"]
    assert job["securityContext"]["runAsNonRoot"] is True


def test_removal_finds_a_node_where_all_are_full_or_cordoned() -> None:
    job = rendered(DEFAULT, "tuning").one("Job")["spec"]["template"]["spec"]

    (container,) = job["containers"]
    assert container["resources"]["requests"]["cpu"] == 0
    assert {"node.kubernetes.io/unschedulable", "market-spread.io/pool"} <= {each["key"] for each in job["tolerations"]}


def test_monitor_and_policies_are_there_as_asked() -> None:
    kinds = ("PodMonitor", "NetworkPolicy", "ValidatingAdmissionPolicy")
    off = rendered(DEFAULT, "tuning", networkPolicy__enabled=False, admissionPolicy__enabled=False)
    on = rendered(DEFAULT, "tuning", podMonitor__enabled=True, podMonitor__labels={"release": "prometheus"})

    assert count(off, kinds) == (0, 0, 0)
    assert count(on, kinds) == (1, 1, 1)
    assert on.one("PodMonitor")["metadata"]["labels"]["release"] == "prometheus"


def count(made: Rendered, kinds: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(len(made.of(kind)) for kind in kinds)


def test_an_image_can_be_named_by_its_digest() -> None:
    digest = "registry.example.com:5000/a/tuner@sha256:" + "0" * 64

    assert tuner(image=digest)["containers"][0]["image"] == digest
    assert tuner()["containers"][0]["image"] == "registry.example.com/market-spread/host-tuner:0.1.0"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"pools": []}, "pools=[] tunes no node"),
        ({"pools": ["gpu"]}, "pools"),
        ({"profil": {}}, "'profil' not allowed"),
        ({"profile.aply": {}}, "'aply' not allowed"),
        ({"profile.housekeeping_cpus": 0}, "housekeeping_cpus"),
        ({"profile.housekeeping_cpus": "first"}, "housekeeping_cpus"),
        ({"profile.housekeeping_cpus": None}, "housekeeping_cpus"),
        ({"profile.apply.turbo": "off"}, "turbo"),
        ({"profile.apply.governor": "../x"}, "governor"),
        ({"profile.apply.transparent_hugepages": "sometimes"}, "transparent_hugepages"),
        ({"profile.apply.interrupts": "anywhere"}, "interrupts"),
        ({"profile.apply.sysctls": {"fs.file-max": 1}}, "'fs.file-max' not allowed"),
        ({"profile.apply.sysctls": {"vm.swappiness": "low"}}, "swappiness"),
        ({"profile.apply.sysctls": {"vm.swappiness": {"most": 1}}}, "swappiness"),
        ({"profile.apply.sysctls": {"kernel.numa_balancing": 0}}, "stands in profile.apply.sysctls and in"),
        ({"profile.verify.sysctls": {"net.core.busy_poll": 0}}, "move it to profile.apply.sysctls"),
        ({"profile.verify.numa_nodes": 0}, "numa_nodes"),
        ({"profile.verify.frequency_mhz": 2.9}, "frequency_mhz"),
        (
            {"profile.verify.frequency_mhz": 2900, "profile.apply.turbo": True},
            "with turbo there is no one frequency",
        ),
        ({"intervalS": 16}, "intervalS"),
        ({"dryRun": "yes"}, "dryRun"),
        ({"stateFolder": "originals"}, "stateFolder"),
        ({"maxUnavailable": "0%"}, "maxUnavailable"),
        ({"resources.memory": "64M"}, "memory"),
        ({"image": "a b"}, "image"),
        ({"podMonitor.interval": "soon"}, "interval"),
        ({"networkPolicy.apiServerPorts": []}, "apiServerPorts"),
    ],
)
def test_what_cannot_work_is_refused(values: dict[str, Any], said: str) -> None:
    made = try_rendering(DEFAULT, "tuning", values)

    assert made.status != 0
    assert said in made.error
