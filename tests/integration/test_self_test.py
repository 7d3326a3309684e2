"""The rig looks at a system of which everything is known, and must read back what was done to it."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from market_spread.common.config import to_environment
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.latency import judged_alerts
from market_spread.controller.analysis.observed import alerts_of
from market_spread.controller.analysis.verdict import judged_from_unix_ns
from market_spread.controller.archive import observation
from market_spread.controller.archive.self_test_record import RateTest
from market_spread.controller.plan.objectives import VoidLimits
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder import RunFolder
from market_spread.controller.selftest.session import DELAY_US, WITNESSED, NullStack, look_at, plan_at
from market_spread.loadgen.columns import Alerts
from tests.integration.faulty_system import Done, Fault
from tests.support.paths import ROOT

STALL_S = 0.8
LATE_US = 5_000
# What docs/measurement.md aims at where everything shares two cores.
ERROR_US = 500

pytestmark = pytest.mark.alone


class FaultyStack(NullStack):
    """With a fault in the system, and another in the receiver."""

    def __init__(self, *, fault: Fault, late_receiver: bool, **arguments: Any) -> None:
        super().__init__(**arguments)
        faults = {"job": fault} | ({"receiver": None} if late_receiver else {})
        start = self._services.start

        def start_faulty(
            name: str, module: str, config: object, *, environment: Mapping[str, str] | None = None
        ) -> None:
            if name not in faults:
                return start(name, module, config, environment=environment)
            told = {"PYTHONPATH": str(ROOT)} | (to_environment(fault) if (fault := faults[name]) else {})
            return start(name, "tests.integration.faulty_system", config, environment=told)

        self._services.start = start_faulty


@dataclass
class Read:
    """What was done, what a witness saw of it, and what the rig made of it: from_us is when it began to judge."""

    done: Done
    true: Alerts
    seen: Alerts
    test: RateTest
    result: SimpleNamespace
    from_us: int


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    # What two processors do with time to spare: the rig is judged, not how it does without.
    made = plan_at(100, 30)
    # Images may be built beside this at idle priority.
    workload = made.workload.changed(
        limits={"late_ms": 10_000, "rise_share": 1000},
        void=VoidLimits(1.0, 1.0, 1.0, drift_share=1000, missing_share=1, swap_mb=1e6),
    )
    return dataclasses.replace(made, workload=workload)


def rig(plan: RunPlan, runs_folder: Path, fault: Fault | None = None, *, late_receiver: bool = False) -> Read:
    """Offer the plan's loads to a null system, and judge what comes."""
    kind = partial(FaultyStack, fault=fault, late_receiver=late_receiver) if fault else NullStack
    test = look_at(plan, runs_folder=runs_folder, console=Console(stderr=True), kind=kind)
    done = Done(**json.loads(fault.told.read_text())) if fault else Done()
    folder = RunFolder(runs_folder / ".selftest" / "100")
    observed, result = observation.read(folder), SimpleNamespace(**json.loads(folder.result.read_text()))
    assert observed.alerts is not None
    true = alerts_of((folder.processes / WITNESSED).read_bytes())
    from_us = judged_from_unix_ns(plan, observed) // 1000
    return Read(done, judged_alerts(true, from_us=0), judged_alerts(observed.alerts, from_us=0), test, result, from_us)


def test_a_delay_is_read_back_within_the_stated_error(plan: RunPlan, tmp_path: Path) -> None:
    read = rig(plan, tmp_path)

    print(read.test)
    error_ns, injected_ns, floor_ns = read.test.error_ns, read.test.injected_ns, read.test.floor_ns["p50"]
    assert error_ns is not None
    assert injected_ns is not None
    assert floor_ns is not None
    assert read.test.verdict is Verdict.PASSED, read.result.faults
    assert read.result.latency_samples == read.test.samples > 600
    assert injected_ns // 1000 >= DELAY_US
    assert abs(error_ns) <= ERROR_US * 1000
    at_once = read.seen[(read.seen.order_id % 2 == 0) & (read.seen.intended_us >= read.from_us)]
    at_once_us = np.median(at_once.received_us - at_once.intended_us)
    assert floor_ns > 100_000
    assert floor_ns / 1000 == pytest.approx(at_once_us, rel=0.02)  # the delayed half is not in it
    held_us = np.median((read.true.emitted_us - read.true.read_us)[read.true.order_id % 2 == 1])
    compute_ns = read.result.stages_ns["compute"]["p95"]
    assert compute_ns is not None  # what the system held back is where the report puts it
    assert compute_ns / 1000 >= held_us


def test_a_stall_is_charged_to_every_order_that_it_met_and_a_late_receiver_is_an_error(
    plan: RunPlan, tmp_path: Path
) -> None:
    fault = Fault(told=tmp_path / "done.json", stall_s=STALL_S)

    read = rig(plan, tmp_path, fault, late_receiver=True)

    assert read.test.error_ns == pytest.approx(LATE_US * 1000, abs=ERROR_US * 1000 + LATE_US * 200)
    true_us, seen_us = (
        dict(zip(alerts.order_id.tolist(), values.tolist(), strict=True))
        for alerts, values in (
            (read.true, read.true.emitted_us - read.true.intended_us),
            (read.seen, read.seen.received_us - read.seen.intended_us),
        )
    )
    late_us = read.done.stalled_us / 2
    truly_late = sum(value > late_us for value in true_us.values())
    assert set(seen_us) == set(true_us)
    assert all(seen_us[order_id] >= true_us[order_id] for order_id in seen_us)
    # Of those that were due in the stall, half waited for more than half of it, though none was sent late.
    assert truly_late >= 0.35 * plan.workload.market.probes_per_s * STALL_S
    assert sum(value > late_us for value in seen_us.values()) >= truly_late
    longest_ns = read.result.latency_ns["max"]
    assert longest_ns is not None
    assert longest_ns / 1000 >= max(true_us.values()) >= read.done.stalled_us


def test_loss_duplication_and_reordering_are_counted_to_the_alert(plan: RunPlan, tmp_path: Path) -> None:
    fault = Fault(told=tmp_path / "done.json", held_us=150_000, lost_one_in=100, doubled_one_in=100)

    read = rig(plan, tmp_path, fault)

    lost, doubled, held = read.done.lost, read.done.doubled, read.done.held
    assert min(lost, doubled, held) > 5
    assert read.result.alerts_missing == lost
    assert read.result.alerts_duplicated == doubled
    assert read.result.alerts_wrong == 0
    assert read.result.alerts_reordered >= 0.9 * held
    assert read.test.verdict is Verdict.FAILED
    assert read.test.reasons == (
        f"{lost} alerts are missing",
        f"{doubled} alerts came twice without a restart",
    )
