"""Whether a release's job is what a workload asks for: its settings are in the values of the chart."""

from collections.abc import Mapping

from market_spread.common.job_contract import APPLICATIONS, BATCH_S_DEFAULT, REAL_TIME, REJECTED_DECISIONS
from market_spread.controller.deploy.base import slots_of
from market_spread.controller.plan.workload import JIT_AUTO, Workload


def differences(workload: Workload, told: Mapping[str, str], *, drivers: int) -> list[str]:
    """What differs, each a sentence with the remedy; nothing if the release can carry out the workload.

    told: the driver's environment, by names without our prefix.
    """
    found = []
    job = workload.job
    partitions = told.get("SHUFFLE_PARTITIONS", "1")
    for asked_by, value, wanted, remedy in (
        ("job.mode", told.get("MODE", "real-time"), job.mode, "job.mode"),
        ("job.batch_s", told.get("BATCH_S", f"{BATCH_S_DEFAULT[REAL_TIME]:g}"), f"{job.batch_s:g}", "job.batchS"),
        ("job.shuffle_partitions", partitions, str(workload.state_partitions), "job.shufflePartitions"),
        ("decisions", _decisions(told), workload.decisions, "job.decisions"),
        ("job.replicas", str(drivers), str(job.replicas), "job.replicas"),
    ):
        if not _same(value, wanted):
            found.append(
                f"the release's job has {asked_by.removeprefix('job.')}={value} and the workload asks for {wanted}; "
                f"change {asked_by} of the workload, or helm upgrade with --set {remedy}={wanted}"
            )
    if job.standby:
        found.append("job.standby=1; a release has no standby: leave it out of the workload, or use job.replicas")
    if job.jit != JIT_AUTO:
        found.append(
            f"job.jit={job.jit}; the JVMs of a release have the options that it gives them: leave job.jit out of the "
            "workload, and set job.driver.javaOptions and job.executors.javaOptions of the release"
        )
    return [*found, *_too_few_slots(workload, told)]


def _decisions(told: Mapping[str, str]) -> str:
    """Which decisions leave, by the application that is told; another application is named as it is."""
    application = told.get("APPLICATION", APPLICATIONS[REJECTED_DECISIONS])
    return {value: name for name, value in APPLICATIONS.items()}.get(application, application)


def _too_few_slots(workload: Workload, told: Mapping[str, str]) -> list[str]:
    if "EXECUTOR_SLOTS" not in told or workload.job.mode != "real-time":
        return []
    slots = int(told["EXECUTOR_SLOTS"]) * int(told.get("EXECUTORS", "1"))
    wanted = slots_of(workload)
    if slots >= wanted:
        return []
    return [
        f"the release's executors have {slots} slots together and the workload's partitions need {wanted}; "
        "helm upgrade with more job.executors.slots or job.executors.count"
    ]


def _same(value: str, wanted: str) -> bool:
    try:
        return float(value) == float(wanted)
    except ValueError:
        return value == wanted
