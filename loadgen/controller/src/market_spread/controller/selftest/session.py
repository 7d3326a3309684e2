"""Carries out a self test: runs whose job is the null system, at a rate and at twice that, on this machine."""

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from market_spread.common.clock import SystemClock
from market_spread.common.errors import RunVoidError
from market_spread.controller.analysis.observed import alerts_of
from market_spread.controller.analysis.verdict import judged_from_unix_ns
from market_spread.controller.archive import observation
from market_spread.controller.archive.provenance import code, packages
from market_spread.controller.archive.self_test_record import RateTest, SelfTestRecord, facts_of, in_ms, rate_test_of
from market_spread.controller.deploy.base import Environment
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.host.facts import Host
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.reading import Overrides, overridden
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from market_spread.controller.run_folder import RunFolder
from market_spread.controller.selftest.null_system import NullConfig
from market_spread.controller.selftest.witness import WitnessConfig
from market_spread.controller.session.execute import launch, processes_of
from market_spread.controller.views.output import Page, Table

DELAY_US = 10_000
# The workload of the runs that `history --anchor` takes.
ANCHOR = "null"
_PROBES_PER_S = 200
# What the witness has seen, in the folder of the processes, once it has ended.
WITNESSED = "witness.ledger"


@dataclass(eq=False, kw_only=True)
class NullStack(LocalStack):
    """The processes of a run, with the null system in place of the job, and the witness beside the receiver."""

    delay_us: int = DELAY_US

    job_waits_for_topics = False

    def stop_all_but_aggregator(self) -> None:
        self._services.stop(("witness",))
        super().stop_all_but_aggregator()

    def _start_job(self, replica: int, port: int = 0) -> None:
        servers, partitions = self.broker.bootstrap_servers, self.workload.market.partitions
        ports_file = self._services.ports_file("job")
        config = NullConfig(
            bootstrap_servers=servers, ports_file=ports_file, partitions=partitions, delay_us=self.delay_us
        )
        self._services.start("job", "market_spread.controller.selftest.null_system", config)
        witness = WitnessConfig(bootstrap_servers=servers, ledger=self.folder / WITNESSED)
        self._services.start("witness", "market_spread.controller.selftest.witness", witness)


def plan_at(rate_per_s: int, duration_s: float, *, name: str = "self-test") -> RunPlan:
    """What is offered: the market of the quick run at a rate. UsageError if rate or duration are out of range."""
    workload = overridden(DEFAULT_WORKLOAD, Overrides(rate_per_s=rate_per_s, duration_s=duration_s))
    workload = workload.changed(
        name=name,
        warm_up={"duration_s": 8},
        market={"probes_per_s": min(_PROBES_PER_S, max(1, rate_per_s * 2 // 5))},
        # As of the quick run: a machine that is shared is looked at as it is.
        limits={"late_ms": 250, "late_share": 0.01},
    )
    made = plan_of_workload(workload)
    # Verdicts that do not change: every probe has an alert, whatever quote it raced with.
    return replace(made, measured=made.measured.with_parameters(tight_share=0))


def look_at(
    plan: RunPlan, *, runs_folder: Path, console: Console, kind: Callable[..., Environment] = NullStack
) -> RateTest:
    """What a run of the plan says of the rig; it is carried out on this machine as any other, in view of the user.

    What it leaves stays until the next one. kind: of its processes.
    """
    rate_per_s = plan.workload.load.highest_per_s
    folder = RunFolder((runs_folder / ".selftest" / str(rate_per_s)).resolve())
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir(parents=True)
    result = launch(
        plan, environment_of=processes_of(plan, kind=kind), runs_folder=folder.path.parent, clock=SystemClock(),
        console=console, interrupted=threading.Event(), resumed=folder, print_result=lambda table: None,
    )  # fmt: skip
    observed, seen = observation.read(folder), folder.processes / WITNESSED
    test = RateTest(rate_per_s=rate_per_s, verdict=result.verdict)
    if observed.alerts is not None and seen.exists():
        witnessed, from_us = alerts_of(seen.read_bytes()), judged_from_unix_ns(plan, observed) // 1000
        test = rate_test_of(observed.alerts, witnessed, rate_per_s=rate_per_s, from_us=from_us)
    return replace(test, verdict=result.verdict, reasons=result.reasons)


def self_test(
    rate_per_s: int, *, duration_s: float, runs_folder: Path, look: Callable[[RunPlan], RateTest]
) -> SelfTestRecord:
    """Look at the rig at the rate and at twice the rate, and keep what was found for the runs of the folder.

    UsageError if the rate is none; RunVoidError, and nothing is kept, if the rig cannot be looked at with it.
    """
    once, twice = plan_at(rate_per_s, duration_s), plan_at(2 * rate_per_s, duration_s)
    first = look(once)
    if not first.is_valid:
        reason = "; ".join(first.reasons) or "too few alerts came"
        raise RunVoidError(
            f"the rig cannot be looked at with {rate_per_s:,} messages/s on this machine, choose a lower --rate or "
            f"give it more room: {reason}"
        )
    record = SelfTestRecord(
        at=datetime.now(UTC).isoformat(timespec="seconds"), rate_per_s=rate_per_s, rates=(first, look(twice)),
        machine=facts_of(Host().sections()), code=code(), packages=packages(),
    )  # fmt: skip
    record.write(runs_folder)
    return record


def record_page(record: SelfTestRecord) -> Page:
    """What it says, and its figures."""
    head = ("messages/s", "floor p50", "p95", "p99, ms", "injected", "error", "of all", "95% within, ms", "samples")
    rows = []
    for each in record.rates:
        times = [each.floor_ns.get(name) for name in ("p50", "p95", "p99")]
        times += [each.injected_ns, each.error_ns, each.error_ns_all, each.error_ns_p95]
        rows.append((f"{each.rate_per_s:,}", *map(in_ms, times), f"{each.samples:,}"))
    return Page("", record.sentence, (Table("", head, tuple(rows), text_columns=0),))
