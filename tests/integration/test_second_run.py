"""A second run on processes that have carried out one: behind what is there, in real Kafka and Spark."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.analysis.verdict import result_of
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.controller.session.run import Run

SMALL = Path(__file__).parent / "workloads" / "small.yaml"

pytestmark = pytest.mark.timeout(420)


class Standing:
    """Processes that were there before a run, and stay after it, as a release in a cluster does."""

    is_new = False
    job_outage_s = 0.0
    job_restarts = 0

    def __init__(self, stack: LocalStack, addresses: Addresses) -> None:
        self._stack = stack
        self._addresses = addresses

    def start(self) -> Addresses:
        return self._addresses

    def check_alive(self) -> None:
        self._stack.check_alive()

    def broker_cpu_us(self) -> int | None:
        return None

    def executors_cpu_us(self) -> int | None:
        return 0

    def stolen_cpu_s(self) -> float | None:
        return None

    def how_to_watch(self, folder: Path, addresses: Addresses) -> str | None:
        return None

    def stop_all_but_aggregator(self) -> None: ...

    def stop(self) -> None: ...


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standing]:
    workload = read_workload(SMALL)
    stack = LocalStack(folder=tmp_path, java=find_java(), jars=JarCache(), workload=workload, clock=SystemClock())
    try:
        yield Standing(stack, stack.start())
    finally:
        stack.stop()


def test_each_run_is_judged_for_itself(standing: Standing) -> None:
    plan = plan_of_workload(read_workload(SMALL, Overrides(rate_per_s=1_000, duration_s=8)))
    runs: list[tuple[Run, Observed]] = []
    for number in (1, 2):
        run = Run(
            plan,
            cast(Environment, standing),
            run_id=f"run-{number}",
            clock=SystemClock(),
            show=lambda progress: None,
            interrupted=threading.Event(),
        )
        runs.append((run, run.carry_out()))

    for run, observed in runs:
        result = result_of(run.plan, observed, "run")
        assert observed.error is None
        assert observed.judgement is not None
        assert (result.alerts_expected or 0) > 0
        assert (result.alerts_missing, result.alerts_unexpected, result.alerts_wrong) == (0, 0, 0)
        assert result.alerts_duplicated == 0
        assert not [reason for reason in result.reasons if "processed" in reason]
    first, second = (run.plan.initial.parameters["sequences_after"] for run, _ in runs)
    assert first == 0
    assert isinstance(second, int)
    assert second > 0
