"""A run around its environment: its folder, its progress, its notes, its result; and one that is judged from disk."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console

from market_spread.common.clock import Clock
from market_spread.common.errors import MarketSpreadError, UsageError
from market_spread.common.words import counted
from market_spread.controller.analysis.observed import Observed, RunProgress, judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.archive import observation, provenance
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.workload import in_words, run_limits
from market_spread.controller.run_folder.folder import RunFolder, State, gather_logs, locked, new_run_folder
from market_spread.controller.run_folder.manifest import Manifest
from market_spread.controller.session.capture import Capture, finish, write_report
from market_spread.controller.session.metrics_page import (
    CLOSE_S,
    RunNotes,
    export_page,
    show_page,
    verdict_note,
    with_notes,
)
from market_spread.controller.session.run import Run
from market_spread.controller.views.progress import live_progress, result_table
from market_spread.loadgen.files.native import write_native

# Checkpoint, logs, Spark's and the broker's own files; then a message, its share of the frame's record, and reserve.
_WORKING_BYTES = 200_000_000
_BYTES_PER_MESSAGE = 200


def launch(
    plan: RunPlan,
    *,
    environment_of: Callable[[str, Path], Environment],
    runs_folder: Path,
    clock: Clock,
    console: Console,
    interrupted: threading.Event,
    keep_input: bool = False,
    keep: Callable[[], object] | None = None,
    resumed: RunFolder | None = None,
) -> Result:
    """Carry the plan out in an environment, which is ended whatever happens; writes and shows the run document.

    environment_of: makes the environment, from the run's id and its folder, but starts nothing.
    keep_input: also write all quotes and the measured orders as they were sent, beside the ledger of alerts.
    keep: called at the end, while the metrics page is still served; it goes on when this returns.
    resumed: the folder of a run that is begun again in it, with what an earlier attempt has left deleted.
    """
    folder = resumed or RunFolder(new_run_folder(runs_folder, plan.workload.name))
    run_id = folder.run_id
    pages: list[str] = []

    def line(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False)

    with locked(folder):
        environment = environment_of(run_id, folder.path)
        capture = Capture(folder, plan, environment, clock=clock)
        capture.check_host(line)
        capture.begin()
        notes = RunNotes(run_id, clock=clock)

        def started(addresses: Addresses) -> None:
            notes.start(addresses.aggregator)
            pages.append(addresses.aggregator_http)
            line(f"metrics page: {addresses.aggregator_http}")
            if (hint := environment.how_to_watch(folder.path, addresses)) is not None:
                line(hint)

        with _ended(environment, capture, notes):
            limits = run_limits(plan.workload)
            notes.say("title", f"{plan.workload.name}: {plan.workload.load.highest_per_s:,} messages/s")
            notes.say("limits", plan.workload.name, in_words(limits), limits=limits)
            with live_progress(console, clock) as show:

                def shown(progress: RunProgress) -> None:
                    notes.follow(progress)
                    capture.follow(progress)
                    show(progress)

                run = Run(
                    plan, environment, run_id=run_id, clock=clock, show=shown, interrupted=interrupted,
                    on_started=started, on_ready=capture.describe, on_drained=capture.drained,
                )  # fmt: skip
                observed = run.carry_out()
            capture.ending(observed)
            environment.stop_all_but_aggregator()
            result = finish(folder, plan, observed, state=capture.state, checks=capture.checks)
            notes.tell(verdict_note(run_id, plan, observed, result, unix_ns=clock.unix_ns()))
            notes.close()
            if keep_input:
                write_input(folder.path, run.plan, observed)
            console.print(result_table(result), highlight=False)
            line(f"\n[dim]{folder.result}[/dim]")
            if lost := len(notes.waiting) + notes.dropped:
                said = f"the metrics aggregator did not take {counted(lost, 'note')} within {CLOSE_S:g} s"
                line(f"{said}; the page has the verdict when the aggregator has ended")
            show_page(lambda: export_page(pages[0], run_id, folder.path), console)
            line(f"[dim]{write_report(folder, plan, observed, result, clock=clock)}[/dim]")
            capture.state.enter(State.DONE)
            if keep is not None:
                line(f"metrics page: {pages[0]} (until Ctrl-C)")
                keep()
        if notes.waiting:  # nobody else writes the log any more
            show_page(lambda: with_notes(folder, notes.waiting, clock=clock), console)
        return result


@contextmanager
def _ended(environment: Environment, capture: Capture, notes: RunNotes) -> Iterator[None]:
    """Ends all three whatever happens. An error has the step at which it came, and is noted."""
    try:
        yield
    except (MarketSpreadError, OSError) as error:
        sentence = f"{error} (step: {capture.state.step})"
        with suppress(OSError):
            capture.state.fail(sentence)
        if isinstance(error, MarketSpreadError):
            raise type(error)(sentence) from error
        raise
    finally:
        notes.close()
        capture.close()
        environment.stop()


def judge_again(folder: RunFolder, plan: RunPlan, *, clock: Clock, console: Console) -> Result:
    """Judge, capture and report what is on disk; no process is started. Shows the result.

    UsageError if this version draws other messages than were sent: it would judge by orders that nobody saw.
    """
    with locked(folder):
        # Without a manifest it broke off before anything was sent.
        sections = Manifest.read(folder.manifest).sections if folder.manifest.exists() else None
        if sections is not None and sections.get("data") != provenance.data_section(plan):
            commit = sections.get("code", {}).get("git_commit") or "another version"
            raise UsageError(
                f"{folder.run_id} cannot be judged by this version, which draws other messages than {commit} did; "
                "resume it with that one, or start it anew"
            )
        state = State(folder.state, clock=clock, can_be_judged=True)
        state.enter(State.JUDGING)
        if not folder.logs.exists():
            gather_logs(folder.processes, folder.logs)
        observed = observation.read(folder)
        judge(plan, observed)
        result = finish(folder, plan, observed, state=state, checks=observation.checks(folder))
        console.print(result_table(result), "", highlight=False)
        verdict = verdict_note(folder.run_id, plan, observed, result, unix_ns=clock.unix_ns())
        show_page(lambda: with_notes(folder, [verdict], clock=clock), console)
        path = write_report(folder, plan, observed, result, clock=clock)
        console.print(f"[dim]{path}[/dim]", soft_wrap=True, highlight=False)
        state.enter(State.DONE)
    return result


def require_room(folder: Path, plan: RunPlan) -> None:
    """UsageError if the disk cannot hold what the broker keeps of the run, and what the processes write."""
    messages = plan.workload.load.total() + plan.workload.load.highest_per_s * plan.workload.warm_up.duration_s
    needed_bytes = _WORKING_BYTES + messages * _BYTES_PER_MESSAGE
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise UsageError(
            f"No space left on device: {folder} has {free_bytes / 1e6:,.0f} MB free, "
            f"the run needs {needed_bytes / 1e6:,.0f} MB; make room or name another --runs-folder"
        )


def write_input(folder: Path, plan: RunPlan, observed: Observed) -> None:
    """Quotes and orders for `market-spread check`: made again from the plan, with the times when its loads began."""
    loads = plan.opened(observed.starts_unix_ns)
    write_native(folder / "nbbo.messages", (block.quotes.rows for load in loads.values() for block in load.blocks()))
    if "measured" in loads:
        write_native(folder / "orders.messages", (block.orders.rows for block in loads["measured"].blocks()))
