"""Resumes an interrupted run: judges it from disk if complete, otherwise starts it again in its folder."""

from pathlib import Path

from rich.console import Console

from market_spread.common.clock import Clock
from market_spread.common.errors import UsageError
from market_spread.controller.analysis.observed import judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.archive import observation
from market_spread.controller.archive.logs import gather
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.workload import read_workload
from market_spread.controller.run_folder.folder import RunFolder, locked
from market_spread.controller.run_folder.state import DONE, JUDGING, State
from market_spread.controller.session.finalize import finish, write_report
from market_spread.controller.session.metrics_page import show_page, with_notes
from market_spread.controller.session.run_events import verdict_note
from market_spread.controller.views.progress import result_table


def interrupted_run(runs_folder: Path, run_id: str) -> tuple[RunFolder, RunPlan, bool]:
    """A run that can be resumed, its plan, and whether everything needed to judge it is on disk.

    UsageError if there is no such run, or nothing to resume.
    """
    folder = RunFolder((runs_folder / run_id).resolve())
    state = State.read(folder.state) if run_id and "/" not in run_id else None
    if state is None:
        raise UsageError(f"there is no run {run_id} in {runs_folder}; market-spread list shows those that there are")
    if state["step"] == DONE:
        raise UsageError(f"the run {run_id} has ended; show it with: market-spread show {run_id}")
    if state["source"] != "market":
        raise UsageError(f"{run_id} cannot be resumed: it is a replay of files; start it anew")
    return folder, plan_of_workload(read_workload(folder.workload)), bool(state["can_be_judged"])


def judge_again(folder: RunFolder, plan: RunPlan, *, clock: Clock, console: Console) -> Result:
    """Judge, capture and report what is on disk; no process is started. Shows the result."""
    with locked(folder):
        before = State.read(folder.state)
        assert before is not None
        state = State(folder.state, clock=clock, resumed=int(before["resumed"]) + 1, can_be_judged=True)
        state.enter(JUDGING)
        if not folder.logs.exists():
            gather(folder.processes, folder.logs)
        observed = observation.read(folder)
        judge(plan, observed)
        result = finish(folder, plan, observed, state=state, checks=observation.checks(folder))
        console.print(result_table(result), "", highlight=False)
        verdict = verdict_note(folder.run_id, plan, observed, result, unix_ns=clock.unix_ns())
        show_page(lambda: with_notes(folder, [verdict], clock=clock), console)
        path = write_report(folder, plan, observed, result, clock=clock)
        console.print(f"[dim]{path}[/dim]", soft_wrap=True, highlight=False)
        state.enter(DONE)
    return result
