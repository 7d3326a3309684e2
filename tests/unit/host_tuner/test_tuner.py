"""Apply, verify, mend and put back, on a host whose files behave as the kernel's do."""

import errno
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.host_tuner.config import Applied, Sysctl, TuningProfile
from market_spread.host_tuner.tuner import Tuner
from market_spread.host_tuner.values import Report, SettingOutcome
from tests.unit.host_tuner.fakes import CPU, THP, FakeKernel, FakeRecord, Steps, host, originals, tree, until_crash

EVERYTHING = TuningProfile(
    housekeeping_cpus=frozenset({0}),
    applied=Applied(
        resume_latency_us=2,
        governor="performance",
        turbo=False,
        transparent_hugepages="never",
        interrupts="housekeeping",
        workqueues="housekeeping",
        sysctls=(
            Sysctl("vm.swappiness", 10, at_most=True),
            Sysctl("vm.stat_interval", 10),
            Sysctl("kernel.numa_balancing", 0),
        ),
    ),
)
TUNED = {
    f"{CPU}/cpu1/power/pm_qos_resume_latency_us": "2\n",
    f"{CPU}/cpu2/power/pm_qos_resume_latency_us": "2\n",
    f"{CPU}/cpu3/power/pm_qos_resume_latency_us": "2\n",
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/policy1/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/policy2/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/policy3/scaling_governor": "performance\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{THP}/enabled": "always madvise [never]\n",
    f"{THP}/defrag": "always defer defer+madvise madvise [never]\n",
    "proc/irq/default_smp_affinity": "00000001\n",
    "proc/irq/24/smp_affinity_list": "0\n",
    "proc/irq/25/smp_affinity_list": "0\n",
    "proc/irq/26/smp_affinity_list": "0\n",
    "sys/devices/virtual/workqueue/cpumask": "00000001\n",
    "proc/sys/vm/swappiness": "10\n",
    "proc/sys/vm/stat_interval": "10\n",
    "proc/sys/kernel/numa_balancing": "0\n",
}
FAULTS = st.sampled_from([errno.EACCES, errno.ENOENT, errno.EIO, errno.EPERM, errno.EINVAL])
SETTING_PATHS = sorted(TUNED)


def tuner(kernel: FakeKernel, record: FakeRecord | None, profile: TuningProfile = EVERYTHING) -> Tuner:
    """A process that has just started."""
    return Tuner(profile, tree(kernel), originals(record) if record is not None else None, None)


def cycle(kernel: FakeKernel, record: FakeRecord) -> Report:
    """What it does first."""
    return tuner(kernel, record).cycle()


def outcome(report: Report, setting: str) -> SettingOutcome:
    return next(outcome for outcome in report.outcomes if outcome.setting == setting)


def put_back(kernel: FakeKernel, record: FakeRecord) -> tuple[str, ...]:
    """What a process that restores the host says of problems."""
    _, problems = originals(record).put_back(tree(kernel))
    return problems


def test_everything_is_set_and_nothing_else() -> None:
    kernel = FakeKernel(host())

    report = tuner(kernel, FakeRecord()).cycle()

    assert report.ok, report.table()
    assert kernel.files == host() | TUNED


def test_second_look_writes_nothing() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    first = tuner(kernel, record)
    first.cycle()
    kernel.writes.clear()

    first.cycle()
    again = tuner(kernel, record).cycle()

    assert kernel.writes == []
    assert again.ok


def test_what_is_right_already_is_not_written() -> None:
    kernel = FakeKernel(host() | TUNED | {"proc/sys/vm/swappiness": "5\n", f"{CPU}/online": "0-3\n"})

    report = tuner(kernel, FakeRecord()).cycle()

    assert report.ok
    assert kernel.writes == []


def test_dry_run_writes_nothing_and_says_what_is_wrong() -> None:
    kernel = FakeKernel(host())

    report = tuner(kernel, None).cycle()

    assert kernel.files == host()
    assert [found.setting for found in report.outcomes if not found.ok] == [
        "c_states", "governor", "turbo", "transparent_hugepages", "interrupts", "workqueues",
        "vm.swappiness", "vm.stat_interval", "kernel.numa_balancing",
    ]  # fmt: skip


@given(st.sets(st.sampled_from(SETTING_PATHS), min_size=1))
def test_drift_is_found_counted_and_repaired_in_one_look(changed: set[str]) -> None:
    kernel = FakeKernel(host())
    running = tuner(kernel, FakeRecord())
    running.cycle()
    kernel.writes.clear()
    kernel.files |= {path: host()[path] for path in changed}

    report = running.cycle()

    assert report.ok
    assert sorted(kernel.writes) == sorted(changed)
    assert running.drifts.total() == len(changed)
    assert kernel.files == host() | TUNED


def test_what_was_wrong_from_the_start_is_no_drift() -> None:
    running = tuner(FakeKernel(host()), FakeRecord())

    running.cycle()
    running.cycle()

    assert running.drifts.total() == 0
    assert running.written.total() == len(TUNED)


def test_interrupts_that_come_later_are_moved_and_put_back_too() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    running = tuner(kernel, record)
    running.cycle()
    kernel.files["proc/irq/40/smp_affinity_list"] = "2-3\n"
    del kernel.files["proc/irq/24/smp_affinity_list"]

    report = running.cycle()
    moved = kernel.files["proc/irq/40/smp_affinity_list"]

    assert report.ok
    assert moved == "0\n"
    assert put_back(kernel, record) == ()
    assert kernel.files["proc/irq/40/smp_affinity_list"] == "2-3\n"


@given(
    st.dictionaries(
        st.sampled_from([f"proc/irq/{irq}/smp_affinity_list" for irq in (24, 25, 26)]),
        st.sampled_from([errno.EIO, errno.EPERM, None]),
    )
)
def test_interrupts_that_the_kernel_keeps_are_told_and_are_no_fault(kept: dict[str, int | None]) -> None:
    kernel, record = FakeKernel(host(), kept=kept), FakeRecord()
    running = tuner(kernel, record)

    report = running.cycle()
    kernel.writes.clear()
    steps = kernel.steps.done
    running.cycle()

    assert report.ok
    assert (f"{len(kept)} kept by the kernel" in outcome(report, "interrupts").found) == bool(kept)
    assert running.errors.total() == 0
    assert kernel.writes == []
    assert kernel.steps.done - steps == len(TUNED) + 1, "nothing is tried again"
    assert not set(kept) & originals(record).paths


@given(st.dictionaries(st.sampled_from(SETTING_PATHS), FAULTS, min_size=1), st.booleans())
def test_a_file_that_fails_is_told_and_all_others_are_set(faults: dict[str, int], when_written: bool) -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    (kernel.write_faults if when_written else kernel.faults).update(faults)
    running = tuner(kernel, record)

    report = running.cycle()

    kept = {path for path, fault in faults.items() if when_written and _is_refusal(path, fault)}
    assert kernel.files == host() | {path: text for path, text in TUNED.items() if path not in faults}
    told = "\n".join(error for found in report.outcomes for error in found.errors)
    assert all(path in told for path in set(faults) - kept)
    assert report.ok == (set(faults) == kept)
    assert running.errors.total() == len(set(faults) - kept)


def _is_refusal(path: str, fault: int) -> bool:
    return path.startswith("proc/irq") and fault in (errno.EIO, errno.EPERM)


def test_a_fault_that_passes_is_mended_by_the_next_look() -> None:
    kernel = FakeKernel(host(), write_faults={f"{THP}/enabled": errno.EACCES})
    running = tuner(kernel, FakeRecord())
    first = running.cycle()
    kernel.write_faults.clear()

    second = running.cycle()

    assert (first.ok, second.ok) == (False, True)


def test_a_value_that_the_kernel_makes_another_of_is_wrong() -> None:
    class Stubborn(FakeKernel):
        def write(self, path: str, text: str) -> None:
            super().write(path, "7" if path == "proc/sys/vm/stat_interval" else text)

    running = tuner(Stubborn(host()), FakeRecord())

    found = outcome(running.cycle(), "vm.stat_interval")

    assert (found.ok, found.found) == (False, "7")
    assert found.errors == ("proc/sys/vm/stat_interval reads '7' after '10'",)


def test_what_the_host_does_not_have_is_wrong_and_says_what_to_do() -> None:
    files = {path: text for path, text in host().items() if "cpufreq" not in path and "pstate" not in path}

    report = tuner(FakeKernel(files), FakeRecord()).cycle()

    assert not report.ok
    assert outcome(report, "governor").errors == ("this host has no governor; leave it out of the profile",)
    assert outcome(report, "turbo").errors == ("this host has no turbo; leave it out of the profile",)


def test_turbo_is_switched_where_there_is_no_intel_pstate() -> None:
    files = host() | {f"{CPU}/cpufreq/boost": "1\n"}
    del files[f"{CPU}/intel_pstate/no_turbo"]
    kernel = FakeKernel(files)

    report = tuner(kernel, FakeRecord()).cycle()

    assert report.ok
    assert kernel.files[f"{CPU}/cpufreq/boost"] == "0\n"


def test_a_host_whose_cpus_cannot_be_read_is_left_alone() -> None:
    kernel = FakeKernel(host(), faults={f"{CPU}/online": errno.EIO})

    report = tuner(kernel, FakeRecord()).cycle()

    assert not report.ok
    assert kernel.writes == []


def test_nothing_is_written_when_originals_cannot_be_saved() -> None:
    kernel = FakeKernel(host())

    report = tuner(kernel, FakeRecord(fault=errno.ENOSPC)).cycle()

    assert not report.ok
    assert kernel.files == host()
    assert outcome(report, "originals").errors == (
        "originals cannot be saved, so nothing was written: No space left on device",
    )


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_crash_at_any_step_can_be_undone_byte_for_byte(restarts: int) -> None:
    for at in range(1000):
        steps = Steps()
        kernel, record = FakeKernel(host(), steps=steps), FakeRecord(steps=steps)
        crashed = until_crash(steps, at, partial(cycle, kernel, record))
        for _ in range(restarts):
            assert tuner(kernel, record).cycle().ok

        problems = put_back(kernel, record)

        assert (kernel.files, record.text, problems) == (host(), None, ()), at
        if not crashed:
            assert at > 40
            return
    pytest.fail("it never ends")


def test_a_crash_at_any_step_of_putting_back_is_mended_by_doing_it_again() -> None:
    for at in range(1000):
        steps = Steps()
        kernel, record = FakeKernel(host(), steps=steps), FakeRecord(steps=steps)
        tuner(kernel, record).cycle()
        crashed = until_crash(steps, at, partial(put_back, kernel, record))

        problems = put_back(kernel, record)

        assert (kernel.files, record.text, problems) == (host(), None, ()), at
        if not crashed:
            assert at > 40
            return
    pytest.fail("it never ends")


@given(
    cpus=st.integers(2, 12),
    interrupts=st.sets(st.integers(0, 200), max_size=6),
    housekeeping=st.sets(st.integers(0, 3), min_size=1),
    texts=st.fixed_dictionaries(
        {
            f"{THP}/enabled": st.sampled_from(["[always] madvise never\n", "always madvise [never]\n"]),
            "proc/sys/vm/swappiness": st.integers(0, 200).map(lambda value: f"{value}\n"),
            "proc/sys/vm/stat_interval": st.integers(1, 3600).map(lambda value: f"{value}\n"),
        }
    ),
    resume_latency_us=st.one_of(st.none(), st.integers(0, 100)),
    crash_at=st.integers(0, 80),
)
def test_any_host_is_put_back_byte_for_byte(
    cpus: int, interrupts: set[int], housekeeping: set[int], texts: dict[str, str],
    resume_latency_us: int | None, crash_at: int,
) -> None:  # fmt: skip
    before = host(cpus=cpus, interrupts=interrupts) | texts
    profile = replace(
        EVERYTHING,
        housekeeping_cpus=frozenset(housekeeping),
        applied=replace(EVERYTHING.applied, resume_latency_us=resume_latency_us),
    )
    steps = Steps()
    kernel, record = FakeKernel(dict(before), steps=steps), FakeRecord(steps=steps)

    until_crash(steps, crash_at, lambda: tuner(kernel, record, profile).cycle())
    tuner(kernel, record, profile).cycle()
    kernel.writes.clear()
    tuner(kernel, record, profile).cycle()
    written_twice = list(kernel.writes)
    problems = put_back(kernel, record)

    assert written_twice == []
    assert problems == ()
    assert kernel.files == before


def test_a_file_that_cannot_be_put_back_is_told_and_kept_for_the_next_attempt() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    tuner(kernel, record).cycle()
    kernel.write_faults = {f"{THP}/enabled": errno.EIO}

    problems = put_back(kernel, record)
    kernel.write_faults = {}
    again = put_back(kernel, record)

    assert problems == (f"{THP}/enabled cannot be put back: Input/output error",)
    assert again == ()
    assert kernel.files == host()


def test_a_setting_that_leaves_the_profile_is_put_back() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    tuner(kernel, record).cycle()
    smaller = replace(EVERYTHING, applied=replace(EVERYTHING.applied, governor=None, sysctls=()))

    report = tuner(kernel, record, smaller).cycle()

    assert report.ok
    assert kernel.files[f"{CPU}/cpufreq/policy0/scaling_governor"] == "powersave\n"
    assert kernel.files["proc/sys/vm/swappiness"] == "60\n"
    assert kernel.files[f"{THP}/enabled"] == "always madvise [never]\n"


def test_a_setting_whose_file_is_not_mounted_any_more_is_kept_and_told() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    tuner(kernel, record).cycle()
    smaller = replace(EVERYTHING, applied=replace(EVERYTHING.applied, transparent_hugepages=None, sysctls=()))
    here = {path: text for path, text in kernel.files.items() if not path.startswith((THP, "proc/sys/vm/swappiness"))}

    report = tuner(FakeKernel(here), record, smaller).cycle()

    assert "proc/sys/vm/swappiness cannot be put back: it is not here; mount it, or reboot the host" in (
        outcome(report, "originals").errors
    )
    assert originals(record).paths >= {f"{THP}/enabled", "proc/sys/vm/swappiness"}
    assert put_back(kernel, record) == ()
    assert (kernel.files[f"{THP}/enabled"], kernel.files["proc/sys/vm/swappiness"]) == (
        host()[f"{THP}/enabled"], "60\n",
    )  # fmt: skip


def test_an_interrupt_that_the_kernel_has_taken_away_is_forgotten() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    tuner(kernel, record).cycle()
    del kernel.files["proc/irq/24/smp_affinity_list"]

    assert put_back(kernel, record) == ()


def test_originals_of_an_earlier_boot_are_forgotten() -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    tuner(kernel, record).cycle()
    rebooted = FakeKernel(host(governor="ondemand"))

    Tuner(EVERYTHING, tree(rebooted), originals(record, "another boot"), None).cycle()
    _, problems = originals(record, "another boot").put_back(tree(rebooted))

    assert problems == ()
    assert rebooted.files == host(governor="ondemand")
