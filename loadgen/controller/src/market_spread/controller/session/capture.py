"""Captures a run while it goes: its workload, its step, its timeline, its manifest, its logs."""

import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.errors import MarketSpreadError
from market_spread.common.hdr.codec import DIGITS, HIGHEST_US, LOWEST_US
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.archive.observation import write as write_observation
from market_spread.controller.archive.provenance import code, data_section, packages
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.host.counters import MachineCounters
from market_spread.controller.host.facts import Host
from market_spread.controller.host.preflight import HostCheck, check_host, require_passed
from market_spread.controller.host.sampler import Sampler
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.workload import WORKLOAD, to_yaml
from market_spread.controller.run_folder.folder import RunFolder
from market_spread.controller.run_folder.manifest import Manifest, Section, flat
from market_spread.controller.run_folder.state import JUDGING, State

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


class Capture:
    """What is captured of one run. `begin`, the calls that follow it, then `close`."""

    def __init__(
        self, folder: RunFolder, plan: RunPlan, environment: Environment, *, clock: Clock, resumed: int = 0
    ) -> None:
        self.folder = folder
        self.state = State(folder.state, clock=clock, source=str(plan.origin["source"]), resumed=resumed)
        self.checks: tuple[HostCheck, ...] = ()
        self._plan = plan
        self._environment = environment
        self._host = environment.host()
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
        settings = WORKLOAD.to_mapping(self._plan.workload)
        sections: dict[str, Section] = {
            "code": code(),
            "packages": packages(),
            **(self._host.sections() if self._host is not None else {}),
            "workload": flat({name: value for name, value in settings.items() if name != "purpose"}),
            "data": data_section(self._plan),
            "measurement": MEASUREMENT,
        }
        try:
            sections |= self._environment.sections(addresses)
        except (MarketSpreadError, OSError, LookupError) as error:
            _log.warning("the manifest of this run lacks what its processes are made of: %s", error)
        Manifest(sections).write(self.folder.manifest)

    def drained(self, observed: Observed) -> None:
        """Write everything needed to judge; from here the run can be resumed without its processes."""
        self.state.enter(JUDGING)
        self._keep(observed)
        if observed.drained and self._environment.is_new:  # else the plan was numbered on, which is not on disk
            self.state.can_be_judged = True
            self.state.write()

    def ending(self, observed: Observed) -> None:
        """Keep what the processes leave, before they are ended."""
        self._keep(observed)
        self._environment.capture(self.folder.logs)

    def fail(self, sentence: str) -> None:
        """Note at which step the run broke off, and why."""
        with suppress(OSError):
            self.state.fail(sentence)

    def close(self) -> None:
        """End sampling. Idempotent."""
        self._sampler.close()

    def _keep(self, observed: Observed) -> None:
        evidence = {**self._environment.evidence(), "preflight": [asdict(check) for check in self.checks]}
        write_observation(self.folder, observed, evidence)


MEASUREMENT: Section = {
    "latency": "from intended send to receipt of the first alert of an order",
    "clock": "Unix, of the hosts",
    "histogram_digits": DIGITS,
    "histogram_us_lowest": LOWEST_US,
    "histogram_us_highest": HIGHEST_US,
}
