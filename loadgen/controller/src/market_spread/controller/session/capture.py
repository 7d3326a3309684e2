"""Captures a run while it goes (workload, step, timeline, manifest, logs) and then makes its document of that."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.errors import MarketSpreadError
from market_spread.common.hdr.codec import DIGITS, HIGHEST_US, LOWEST_US
from market_spread.common.telemetry.metrics import FRAME_DELAY, SEND_LAG
from market_spread.controller.analysis.latency import judged_alerts, stages_us
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.analysis.result import Result
from market_spread.controller.analysis.validity import Seen, push_gaps
from market_spread.controller.analysis.verdict import judged_from_unix_ns, result_of
from market_spread.controller.archive import histograms, jvm_pauses, observation, provenance
from market_spread.controller.archive.self_test_record import beside
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.host import timeline
from market_spread.controller.host.counters import MachineCounters, sign_of_run
from market_spread.controller.host.facts import Host, HostCheck, check_host, require_passed, this_machine
from market_spread.controller.host.timeline import Row, Sampler
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.reading import to_yaml
from market_spread.controller.plan.system import SystemWorkload
from market_spread.controller.run_folder import Manifest, RunFolder, Section, State, flat
from market_spread.controller.views import report

_log = logging.getLogger(__name__)

# What an earlier attempt of the same run has left.
_OF_AN_ATTEMPT = (
    "processes", "histograms", "logs", "metrics.hlog", "metrics.html", "timeline.arrows", "timeline.parquet",
    "manifest.json", "evidence.json", "alerts.ledger", "decisions.ledger", "result.json", "run.md", "report.html",
)  # fmt: skip
# What a timeline has of the statuses of a run's processes.
_COUNTS = {
    "sender": ("messages_due", "messages_sent", "unacknowledged_bytes", "frames_late"),
    "job": ("messages_committed", "batch_id"),
    "receiver": ("alerts", "alerts_duplicated"),
}
# Components of a timeline that are no processes of the run.
_OUTSIDE = {"machine", "controller", "path"}
_MEASUREMENT: Section = {
    "latency": "from intended send to receipt of the first alert of an order, or output of a message",
    "clock": "Unix, of the hosts",
    "histogram_digits": DIGITS,
    "histogram_us_lowest": LOWEST_US,
    "histogram_us_highest": HIGHEST_US,
}


class Capture:
    """What is captured of one run. `begin`, the calls that follow it, then `close`."""

    def __init__(self, folder: RunFolder, plan: RunPlan, environment: Environment, *, clock: Clock) -> None:
        self.folder = folder
        self.state = State(folder.state, clock=clock, source=str(plan.origin["source"]))
        self.checks: tuple[HostCheck, ...] = ()
        self._plan, self._environment, self._host = plan, environment, environment.host()
        self._ending = ExitStack()
        machine = MachineCounters(cgroup=Host().cgroup())
        self._sampler = Sampler(folder.samples, clock=clock, processes=environment.process_ids, machine=machine)

    def check_host(self, say: Callable[[str], None]) -> None:
        """Check the machine against what the workload wants. UsageError if `preflight` is strict and it differs."""
        if self._host is not None:
            self.checks = check_host(self._host, self._plan.workload.machine, self._plan.workload.preflight)
            require_passed(self.checks, self._plan.workload.preflight, say)

    def begin(self) -> None:
        """Write down what is to be run, without what an earlier attempt has left, and begin to sample."""
        for name in _OF_AN_ATTEMPT:
            path = self.folder.path / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        write_whole(self.folder.workload, to_yaml(self._plan.workload))
        if self._host is not None:
            self._ending.enter_context(sign_of_run())
        self._sampler.start()

    def follow(self, progress: RunProgress) -> None:
        """Take the step and the counts of a progress."""
        with suppress(OSError):  # a full disk ends the run where it matters, with a better sentence
            self.state.enter(progress.phase)
        values: dict[str, float] = {
            name: getattr(status, name)
            for process, names in _COUNTS.items()
            if (status := getattr(progress, process)) is not None
            for name in names
        }
        if progress.job is not None:
            values["messages_processed"] = progress.job.messages_processed - progress.sent_before
        if values:
            self._sampler.tell("path", values)

    def describe(self, addresses: Addresses) -> None:
        """Write the manifest: everything is there and runs. Best effort: unavailable sections are omitted."""
        settings = self._plan.workload.to_mapping()
        sections: dict[str, Section] = {
            "code": provenance.code(), "packages": provenance.packages(),
            **(self._host.sections() if self._host is not None else {}),
            "workload": flat({name: value for name, value in settings.items() if name != "purpose"}),
            "data": provenance.data_section(self._plan), "measurement": _MEASUREMENT,
        }  # fmt: skip
        if isinstance(workload := self._plan.workload, SystemWorkload):
            sections["system_code"] = provenance.state_of(Path(workload.system.folder))
        try:
            sections |= self._environment.sections(addresses)
        except (MarketSpreadError, OSError, LookupError) as error:
            _log.warning("the manifest of this run lacks what its processes are made of: %s", error)
        Manifest(sections).write(self.folder.manifest)

    def drained(self, observed: Observed) -> None:
        """Write everything needed to judge; from here the run can be resumed without its processes."""
        self.state.enter(State.JUDGING)
        self._keep(observed)
        if observed.drained and self._environment.is_new:  # else the plan was numbered on, which is not on disk
            self.state.can_be_judged = True
            self.state.write()

    def ending(self, observed: Observed) -> None:
        """Keep what the processes leave, before they are ended."""
        self._keep(observed)
        self._sampler.close()  # the timeline is made of what it has written
        self._environment.capture(self.folder.logs)

    def close(self) -> None:
        """End sampling. Idempotent."""
        self._ending.close()
        self._sampler.close()

    def _keep(self, observed: Observed) -> None:
        observed.checks = self.checks
        observation.write(self.folder, observed)


def finish(folder: RunFolder, plan: RunPlan, observed: Observed, *, state: State) -> Result:
    """Write everything but the report, which shows the verdict that this gives; needs no process of the run.

    OSError if something cannot be written.
    """
    state.enter(State.CAPTURING)
    if folder.samples.exists() or not folder.timeline.exists():
        timeline.write(folder.samples, folder.timeline, _more_rows(folder, observed))
    _write_histograms(folder, plan, observed)
    series = timeline.Timeline.read(folder.timeline)
    components = tuple(sorted({component for component, _ in series.names} - _OUTSIDE))
    from_s, to_s = observed.starts_unix_ns.get("measured", 0) / 1e9, observed.measured_until_unix_ns / 1e9
    cores, pushes = this_machine()["cores"], push_gaps(folder.metrics)
    pauses = [(jvm, *each) for jvm in ("job", "broker") for each in jvm_pauses.read(folder.logs / f"{jvm}.gc.log")]
    seen = Seen(series, components, cores, from_s, to_s, *pushes, pauses)
    manifest = report.manifest_of(folder)
    result = result_of(
        plan, observed, folder.run_id, seen=seen, manifest_sha256=manifest.sha256 if manifest else None,
        steps=[*map(dict, state.steps)], resumed=state.resumed,
        self_test=beside(folder.path.parent, manifest.sections, plan.offered_rate_per_s) if manifest else None,
    )  # fmt: skip
    result.write(folder.path)
    write_whole(folder.document, report.markdown(folder, plan, result))
    folder.samples.unlink(missing_ok=True)
    return result


def _more_rows(folder: RunFolder, observed: Observed) -> Iterator[Row]:
    """Latencies of each second by the intended send, and what the JVMs stood still."""
    for name in ("job", "broker"):
        yield from jvm_pauses.rows(name, folder.logs / f"{name}.gc.log")
    if (timed := observed.timed_alerts) is None:
        return
    alerts = judged_alerts(timed, from_us=0)
    for start_ns, _, counts in histograms.by_second(alerts.intended_us, alerts.received_us - alerts.intended_us):
        second = start_ns // 1_000_000_000
        yield second, "path", "latency_samples", counts.count
        for percent in (50, 99):
            if counts.supports(percent):
                yield second, "path", f"latency_p{percent}_ms", counts.percentile(percent) / 1000
        yield second, "path", "latency_max_ms", counts.max_us / 1000


def _write_histograms(folder: RunFolder, plan: RunPlan, observed: Observed) -> None:
    from_ns = judged_from_unix_ns(plan, observed)
    if (timed := observed.timed_alerts) is not None:
        alerts = judged_alerts(timed, from_us=from_ns // 1000)
        figures = {
            "latency": alerts.received_us - alerts.intended_us,
            "service_time": alerts.received_us - alerts.sent_us,
            **{f"stage_{name}": values_us for name, values_us in stages_us(alerts).items()},
        }
        for name, values_us in figures.items():
            histograms.write(folder.histograms / f"{name}.hlog", histograms.by_second(alerts.intended_us, values_us))
    begin_ns, end_ns = observed.starts_unix_ns.get("measured", 0), observed.measured_until_unix_ns
    for name, metric in (("send_lag", SEND_LAG), ("frame_delay", FRAME_DELAY)):
        intervals = histograms.pushed(folder.metrics, metric.name, from_unix_ns=begin_ns, to_unix_ns=end_ns)
        histograms.write(folder.histograms / f"{name}.hlog", intervals)
