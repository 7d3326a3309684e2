"""Ctrl-C: before the measured load it ends a run at once, in it the load; and what a run leaves that never began."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.session import execute
from market_spread.controller.session.execute import carry_out
from tests.support.paths import QUICK


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """The handlers of this process, put back: a run has its own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def carried_out(runs_folder: Path, environment_of: Callable[[str, Path], Environment]) -> None:
    plan = plan_of_workload(read_workload(QUICK))
    carry_out(plan, runs_folder=runs_folder, as_json=False, environment_of=environment_of)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_load_ends_the_run_at_once(tmp_path: Path, number: signal.Signals) -> None:
    def environment_of(run_id: str, folder: Path) -> Environment:
        os.kill(os.getpid(), number)
        raise AssertionError("it goes on")

    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path, environment_of)


def test_the_first_ctrl_c_in_the_load_ends_that_and_the_second_one_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []

    def launch(*_: object, on_load: Callable[[], None], interrupted: object, **__: object) -> None:
        on_load()
        os.kill(os.getpid(), signal.SIGINT)
        said.append(interrupted.wait(10))  # type: ignore[attr-defined]
        os.kill(os.getpid(), signal.SIGINT)
        said.append("goes on")

    monkeypatch.setattr(execute, "launch", launch)

    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path, lambda run_id, folder: pytest.fail("it starts"))

    assert said == [True]


def test_a_run_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    def environment_of(run_id: str, folder: Path) -> Environment:
        raise UsageError(f"No space left on device: {folder}")

    with pytest.raises(UsageError, match="No space left on device"):
        carried_out(tmp_path, environment_of)

    assert list(tmp_path.iterdir()) == []
