"""What `run` and `replay` have in common: a plan is carried out in view of the user, who may end it early.

An interrupted run is resumed: judged from disk if everything is there, otherwise started again in its folder.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import find_java
from market_spread.common.processes import call_on_signals, set_in_handler, stop_event_on_signals
from market_spread.controller.analysis.result import Result
from market_spread.controller.deploy.base import Environment
from market_spread.controller.exits import sentence_of
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.workload import read_workload
from market_spread.controller.run_folder.folder import RunFolder, State
from market_spread.controller.session.lifecycle import judge_again, launch, require_room


def carry_out(
    plan: RunPlan,
    *,
    runs_folder: Path,
    as_json: bool,
    keep_input: bool = False,
    keep: bool = False,
    monitored: bool = False,
    resumed: RunFolder | None = None,
    environment_of: Callable[[str, Path], Environment] | None = None,
) -> Result:
    """Carry out the plan and show its result; RunVoidError if the machine refuses something on the way.

    keep: go on serving the metrics page at the end, until Ctrl-C; monitored: Prometheus can read all processes;
    resumed: the folder of a run that is begun again in it; environment_of: where it is carried out, by the run's id and
    folder; on processes of its own unless told.
    """
    console, interrupted = Console(stderr=True), threading.Event()

    def interrupt() -> None:
        if interrupted.is_set():  # the second Ctrl-C
            raise KeyboardInterrupt
        set_in_handler(interrupted)
        console.print("ending the run early; once more ends it at once")

    try:
        environment_of = environment_of or processes_of(plan, monitored=monitored)
        call_on_signals(interrupt)
        result = launch(
            plan,
            environment_of=environment_of,
            runs_folder=runs_folder,
            clock=SystemClock(),
            console=console,
            interrupted=interrupted,
            keep_input=keep_input,
            keep=(lambda: stop_event_on_signals().wait()) if keep else None,
            resumed=resumed,
        )
    except OSError as error:
        raise RunVoidError(f"the run broke off: {sentence_of(error)}") from error
    if as_json:
        click.echo(result.to_json(), nl=False)
    return result


def resume(run_id: str, *, runs_folder: Path, as_json: bool) -> Result:
    """Resume an interrupted run, and show its result. UsageError if there is nothing to resume."""
    folder, plan, can_be_judged = interrupted_run(runs_folder, run_id)
    if not can_be_judged:
        return carry_out(plan, runs_folder=runs_folder, as_json=as_json, resumed=folder)
    result = judge_again(folder, plan, clock=SystemClock(), console=Console(stderr=True))
    if as_json:
        click.echo(result.to_json(), nl=False)
    return result


def interrupted_run(runs_folder: Path, run_id: str) -> tuple[RunFolder, RunPlan, bool]:
    """A run that can be resumed, its plan, and whether everything needed to judge it is on disk.

    UsageError if there is no such run, or nothing to resume.
    """
    folder = RunFolder((runs_folder / run_id).resolve())
    state = State.read(folder.state) if run_id and "/" not in run_id else None
    if state is None:
        raise UsageError(f"there is no run {run_id} in {runs_folder}; market-spread list shows those that there are")
    if state["step"] == State.DONE:
        raise UsageError(f"the run {run_id} has ended; show it with: market-spread show {run_id}")
    if state["source"] != "market":
        raise UsageError(f"{run_id} cannot be resumed: it is a replay of files; start it anew")
    return folder, plan_of_workload(read_workload(folder.workload)), bool(state["can_be_judged"])


def processes_of(
    plan: RunPlan, *, monitored: bool = False, kind: Callable[..., Environment] | None = None
) -> Callable[[str, Path], Environment]:
    """What makes the processes of a run on this machine, of that kind unless they are the usual ones."""
    # Only then are the processes' own distributions needed: the image of the run controller has none of them.
    from market_spread.controller.deploy.local.stack import LocalStack

    java = find_java(java_home())

    def environment(run_id: str, folder: Path) -> Environment:
        require_room(folder, plan)
        return (kind or LocalStack)(
            folder=folder / "processes",
            java=java,
            jars=JarCache(),
            workload=plan.workload,
            clock=SystemClock(),
            run_id=run_id,
            runs_folder=folder.parent,
            monitored=monitored,
        )

    return environment
