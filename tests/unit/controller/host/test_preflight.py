"""The host as /proc and /sys show it, and the check of it before a run."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.processes import format_cpus
from market_spread.controller.host.facts import MACHINE_CHECKS, Host, HostCheck, MachineKeys, check_host, require_passed

CPU = """\
processor\t: {number}
model name\t: A CPU
physical id\t: 0
core id\t\t: {number}
flags\t\t: fpu constant_tsc nonstop_tsc
"""
TUNED = {
    "proc/cpuinfo": "\n".join(CPU.format(number=number) for number in range(4)),
    "proc/meminfo": "MemTotal:       16000000 kB\nSwapTotal:      0 kB\n",
    "proc/cmdline": "quiet isolcpus=1-3",
    "proc/sys/vm/swappiness": "0",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "sys/devices/system/cpu/smt/control": "off",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0",
    "sys/devices/system/cpu/isolated": "1-3",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]",
}


def host(tmp_path: Path, **changes: str) -> Host:
    """A tuned host, with files changed by the ends of their names."""
    for name, text in TUNED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(next((changed for end, changed in changes.items() if name.endswith(end)), text) + "\n")
    driver = tmp_path / "sys/bus/drivers/ena"
    driver.mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device/driver").symlink_to(driver)
    return Host(tmp_path)


def failing(checks: tuple[HostCheck, ...]) -> list[str]:
    return [check.name for check in checks if check.holds is False]


def test_facts_of_a_host_are_those_of_its_files(tmp_path: Path) -> None:
    sections = host(tmp_path).sections()

    cpu = sections["cpu"]
    assert (cpu["model"], cpu["cores"], cpu["threads"], cpu["sockets"]) == ("A CPU", 4, 4, 1)
    assert (cpu["governor"], cpu["turbo"], cpu["smt"], cpu["tsc_reliable"]) == ("performance", "off", "off", True)
    assert sections["memory"]["total_kb"] == 16_000_000
    assert sections["memory"]["transparent_huge_pages"] == "never"
    assert sections["kernel"]["command_line"] == "quiet isolcpus=1-3"
    assert sections["kernel"]["network_drivers"] == "ena"
    assert sections["clock"]["source"] == "tsc"


def test_facts_of_all_cpus_and_of_the_cgroup_are_found_where_they_are(tmp_path: Path) -> None:
    there = host(tmp_path, **{"cpu1/cpufreq/scaling_governor": "powersave"})
    cgroup = tmp_path / "sys/fs/cgroup/of/{this}"
    cgroup.mkdir(parents=True)
    (cgroup / "cpu.max").write_text("max 100000\n")
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/self/cgroup").write_text("0::/of/{this}\n")

    sections = there.sections()

    assert sections["cpu"]["governor"] == "performance,powersave"
    assert (sections["limits"]["cgroup_cpu_max"], sections["limits"]["cgroup_memory_max"]) == ("max 100000", None)


def test_a_host_that_shows_nothing_has_facts_that_are_not_known(tmp_path: Path) -> None:
    sections = Host(tmp_path).sections()

    assert sections["cpu"]["governor"] is None
    assert sections["kernel"]["release"] is None
    assert failing(
        check_host(Host(tmp_path), MachineKeys(without=("swappiness", "clock_source", "tsc_reliable")), "warn")
    ) == ["cores"]


def test_a_tuned_host_passes_all_checks(tmp_path: Path) -> None:
    checks = check_host(host(tmp_path), MachineKeys(cores=4, memory_gb=16), "warn")

    assert [check.name for check in checks] == ["cores", "memory", *MACHINE_CHECKS]
    assert all(check.holds for check in checks)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"scaling_governor": "powersave"}, "governor"),
        ({"no_turbo": "0"}, "turbo"),
        ({"smt/control": "on"}, "smt"),
        ({"isolated": ""}, "system_cpus"),
        ({"current_clocksource": "kvm-clock"}, "clock_source"),
        ({"cpuinfo": CPU.format(number=0).replace("constant_tsc nonstop_tsc", "")}, "tsc_reliable"),
        ({"hugepage/enabled": "[always] madvise never"}, "huge_pages"),
        ({"swappiness": "60"}, "swappiness"),
    ],
)
def test_each_setting_that_is_not_tuned_is_seen(tmp_path: Path, changes: dict[str, str], name: str) -> None:
    assert failing(check_host(host(tmp_path, **changes), MachineKeys(), "warn")) == [name]


def test_a_virtual_interface_without_direct_access_is_seen(tmp_path: Path) -> None:
    there = host(tmp_path)
    (tmp_path / "sys/bus/drivers/vif").mkdir()
    link = tmp_path / "sys/class/net/eth0/device/driver"
    link.unlink()
    link.symlink_to(tmp_path / "sys/bus/drivers/vif")

    assert failing(check_host(there, MachineKeys(), "warn")) == ["network"]


def test_a_gate_that_warns_says_what_differs_and_lets_the_run_go_on(tmp_path: Path) -> None:
    said: list[str] = []

    require_passed(check_host(host(tmp_path, swappiness="60"), MachineKeys(cores=8), "warn"), "warn", said.append)

    assert said == [
        "the machine differs from a tuned one in 2 of 11 checks: cores is 4, wanted is 8 or more; "
        "swappiness is 60, wanted is 0"
    ]


def test_a_strict_gate_refuses_the_run(tmp_path: Path) -> None:
    checks = check_host(host(tmp_path), MachineKeys(memory_gb=64), "strict")

    with pytest.raises(UsageError, match=r"memory is 16\.4 GB, wanted is 64 GB or more; tune the host"):
        require_passed(checks, "strict", lambda line: None)


def test_checks_that_are_left_out_and_no_gate_look_at_nothing(tmp_path: Path) -> None:
    there = host(tmp_path, swappiness="60")

    assert failing(check_host(there, MachineKeys(without=("swappiness",)), "warn")) == []
    assert check_host(there, MachineKeys(), "none") == ()


def test_cpus_are_written_as_the_kernel_does() -> None:
    assert [format_cpus(cpus) for cpus in ((), (3,), (0, 1, 2, 5), (7, 5, 6))] == ["", "3", "0-2,5", "5-7"]
