"""The tuning profile: read as a whole, refused as a whole, and the ones that the chart ships."""

from pathlib import Path

import pytest
import yaml

from market_spread.common.errors import UsageError
from market_spread.host_tuner.config import Applied, Sysctl, TuningProfile, Verified, read_profile_file

CHART = Path(__file__).parents[3] / "charts" / "host-tuning"

WHOLE = """\
housekeeping_cpus: "0,9"
apply:
  resume_latency_us: 2
  governor: performance
  turbo: false
  transparent_hugepages: never
  interrupts: housekeeping
  workqueues: housekeeping
  sysctls:
    vm.swappiness: {at_most: 10}
    net.core.busy_poll: 50
verify:
  smt: false
  kernel_arguments: [quiet, intel_idle.max_cstate=1]
  swap: false
  numa_nodes: 2
  network_driver: ixgbevf
  frequency_mhz: 2900
  exclusive_cpus: true
  sysctls: {kernel.numa_balancing: 0}
"""


def profile_of(folder: Path, text: str) -> TuningProfile:
    (folder / "profile.yaml").write_text(text)
    return read_profile_file(folder / "profile.yaml")


def test_every_key_is_read(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, WHOLE)

    assert profile == TuningProfile(
        housekeeping_cpus=frozenset({0, 9}),
        applied=Applied(
            resume_latency_us=2,
            governor="performance",
            turbo=False,
            transparent_hugepages="never",
            interrupts="housekeeping",
            workqueues="housekeeping",
            sysctls=(Sysctl("vm.swappiness", 10, at_most=True), Sysctl("net.core.busy_poll", 50)),
        ),
        verified=Verified(
            smt=False,
            kernel_arguments=("quiet", "intel_idle.max_cstate=1"),
            swap=False,
            numa_nodes=2,
            network_driver="ixgbevf",
            frequency_mhz=2900,
            exclusive_cpus=True,
            sysctls=(Sysctl("kernel.numa_balancing", 0),),
        ),
    )


def test_what_is_left_out_is_left_alone(tmp_path: Path) -> None:
    assert profile_of(tmp_path, "housekeeping_cpus: '0'") == TuningProfile(frozenset({0}), Applied(), Verified())


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("housekeeping_cpus: 0-x", "housekeeping_cpus='0-x'; use a list of CPUs such as '0,9' or '0-1'"),
        ("housekeeping_cpus: 0", "housekeeping_cpus=0; use a list of CPUs such as '0,9' or '0-1'"),
        ("aply: {}", "aply is unknown; leave it out"),
        ("apply: {turbo: 1}", "apply.turbo=1; use true or false"),
        ("apply: {governor: '../x'}", "apply.governor='../x'; use small letters, digits, hyphens and underscores"),
        (
            "apply: {transparent_hugepages: no}",
            "apply.transparent_hugepages=False; use one of always, madvise, never",
        ),
        (
            "apply: {sysctls: {vm/../../x: 1}}",
            "apply.sysctls.vm/../../x is not a name of a sysctl; use one such as vm.swappiness",
        ),
        (
            "apply: {sysctls: {vm.swappiness: low}}",
            "apply.sysctls.vm.swappiness='low'; use a whole number from 0 to 2147483647",
        ),
        (
            "apply: {sysctls: {vm.swappiness: {at_most: -1}}}",
            "apply.sysctls.vm.swappiness.at_most=-1; use a whole number from 0 to 2147483647",
        ),
        ("apply: {interrupts: both}", "apply.interrupts='both'; use one of housekeeping, as-found"),
        (
            "verify: {kernel_arguments: [a b]}",
            "verify.kernel_arguments[0]='a b'; use arguments without blanks, one each",
        ),
        ("verify: {numa_nodes: 0}", "verify.numa_nodes=0; use a whole number from 1 to 1024"),
        ("verify: {kernel_arguments: quiet}", "verify.kernel_arguments='quiet'; use a list of texts"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, line: str, error: str) -> None:
    text = f"{line}\n" if line.startswith("housekeeping") else f"housekeeping_cpus: '0'\n{line}\n"

    with pytest.raises(UsageError) as raised:
        profile_of(tmp_path, text)

    number = 1 if line.startswith("housekeeping") else 2
    assert str(raised.value) == f"{tmp_path / 'profile.yaml'}:{number}: {error}"


@pytest.mark.parametrize("name", ["values.yaml", "values-ci.yaml", "values-c4.8xlarge.yaml"])
def test_profiles_of_the_chart_can_be_read(tmp_path: Path, name: str) -> None:
    values = yaml.safe_load((CHART / name).read_text())

    profile = profile_of(tmp_path, yaml.safe_dump(values["profile"]))

    assert profile.applied.sysctls
