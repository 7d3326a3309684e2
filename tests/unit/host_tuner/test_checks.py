"""What is only looked at: launch-time settings, and what the kubelet gives to whom."""

import errno
from dataclasses import replace
from typing import Any

import pytest

from market_spread.host_tuner.cluster import Resources
from market_spread.host_tuner.config import Sysctl, TuningProfile, Verified
from market_spread.host_tuner.tuner import Tuner
from market_spread.host_tuner.values import Report, SettingOutcome
from tests.unit.host_tuner.fakes import CPU, FakeKernel, FakeKubelet, host, socket, tree

ALL = Verified(
    smt=False,
    kernel_arguments=("intel_idle.max_cstate=1",),
    swap=False,
    numa_nodes=1,
    network_driver="ixgbevf",
    frequency_mhz=2900,
    exclusive_cpus=True,
    sysctls=(Sysctl("kernel.numa_balancing", 0),),
)
GIVEN = Resources({"spark/executor-1/executor": frozenset({1, 2})}, frozenset({1, 2, 3}))


def look(
    changes: dict[str, str] | None = None, *, said: Resources = GIVEN, verified: Verified = ALL, **kernel: Any
) -> Report:
    """What is found on a host that differs from a right one by these files."""
    kernel_of_host = FakeKernel(host() | {"proc/sys/kernel/numa_balancing": "0\n"} | (changes or {}), **kernel)
    profile = TuningProfile(frozenset({0}), verified=verified)
    report = Tuner(profile, tree(kernel_of_host), None, socket(FakeKubelet(said))).cycle()
    assert kernel_of_host.writes == []
    return report


def wrong(report: Report) -> list[tuple[str, str]]:
    return [(outcome.setting, outcome.found) for outcome in report.outcomes if not outcome.ok]


def test_a_host_that_was_launched_right_is_right() -> None:
    report = look()

    assert report.ok, report.table()
    assert len(report.outcomes) == 10
    assert report.exclusive == GIVEN.exclusive


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({f"{CPU}/smt/active": "1\n"}, ("smt", "on")),
        ({"proc/cmdline": "ro quiet\n"}, ("kernel argument intel_idle.max_cstate=1", "missing")),
        ({"proc/swaps": "Filename Type\n/dev/sda2 partition\n"}, ("swap", "on")),
        ({"sys/devices/system/node/node1/cpulist": "2-3\n"}, ("numa_nodes", "2")),
        (
            {f"{CPU}/cpu3/cpufreq/scaling_cur_freq": "3200000\n"},
            ("frequency", "2899 MHz on cpu1 cpu2, 3200 MHz on cpu3"),
        ),
        ({"proc/sys/kernel/numa_balancing": "1\n"}, ("kernel.numa_balancing", "1")),
        ({f"{CPU}/online": "1-3\n"}, ("housekeeping_cpus", "online are 1-3")),
    ],
)
def test_what_was_not_launched_right_is_told(changes: dict[str, str], found: tuple[str, str]) -> None:
    assert found in wrong(look(changes))


def test_a_driver_without_a_device_is_told() -> None:
    report = look(verified=replace(ALL, network_driver="e1000"))

    assert wrong(report) == [("network_driver", "no device of it")]


def test_a_container_on_two_numa_nodes_is_told_by_name() -> None:
    nodes = {"sys/devices/system/node/node0/cpulist": "0-1\n", "sys/devices/system/node/node1/cpulist": "2-3\n"}

    report = look(nodes, verified=replace(ALL, numa_nodes=2))

    assert wrong(report) == [("placement", "1 pinned containers, 1 of them on several nodes")]
    assert "spark/executor-1/executor has CPUs of several NUMA nodes: 1-2" in report.table()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (Resources(), "none: its CPU manager is not static"),
        (Resources({}, frozenset({0, 1, 2})), "0-2"),
        (Resources(error="the kubelet does not say: connection refused"), "unknown"),
    ],
)
def test_a_kubelet_that_gives_no_pinned_cpus_is_told(said: Resources, found: str) -> None:
    assert ("exclusive_cpus", found) in wrong(look(said=said))


def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_looked_at() -> None:
    report = look(faults={f"{CPU}/smt/active": errno.EACCES, f"{CPU}/cpu1/cpufreq/scaling_cur_freq": errno.EIO})

    assert wrong(report) == [("smt", "unreadable"), ("frequency", "unreadable")]
    smt: SettingOutcome = next(outcome for outcome in report.outcomes if outcome.setting == "smt")
    assert "Permission denied" in smt.errors[0]


def test_what_is_not_asked_for_is_not_looked_at() -> None:
    report = look(verified=Verified(), faults={f"{CPU}/smt/active": errno.EACCES})

    assert [outcome.setting for outcome in report.outcomes] == ["housekeeping_cpus"]
