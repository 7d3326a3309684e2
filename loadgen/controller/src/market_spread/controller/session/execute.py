"""A run in view of the user, who may end it early: its folder, progress, notes and result, around its environment.

An interrupted run is resumed: judged from disk if everything is there, otherwise started again in its folder.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import click
from rich.console import Console, RenderableType

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import MarketSpreadError, RunVoidError, UsageError
from market_spread.common.job_contract import RUN_ID
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.processes import call_on_signals, set_in_handler, stop_event_on_signals
from market_spread.controller.analysis.observed import Observed, RunProgress, judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.archive import observation, provenance
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.exits import is_quiet, sentence_of
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.plan.system import SystemWorkload
from market_spread.controller.plan.workload import in_words, run_limits
from market_spread.controller.run_folder import Manifest, RunFolder, State, gather_logs, locked, new_run_folder
from market_spread.controller.session.capture import Capture, finish
from market_spread.controller.session.metrics_page import RunNotes, end_notes, export_page, show_page, with_notes
from market_spread.controller.session.run import Run
from market_spread.controller.session.system_run import SystemRun
from market_spread.controller.views.output import print_result
from market_spread.controller.views.progress import live_progress, result_table
from market_spread.controller.views.report import write_report
from market_spread.loadgen.columns import write_native
from market_spread.metrics_aggregator.model.push_validation import SENTENCE_CHARACTERS_MAX

# Checkpoint, logs, Spark's and the broker's own files; then a message, its share of the frame's record, and reserve.
_WORKING_BYTES, _BYTES_PER_MESSAGE = 200_000_000, 200


def carry_out(
    plan: RunPlan, *, runs_folder: Path, as_json: bool, keep_input: bool = False, keep: bool = False,
    monitored: bool = False, resumed: RunFolder | None = None,
    environment_of: Callable[[str, Path], Environment] | None = None,
) -> Result:  # fmt: skip
    """Carry out the plan and show its result; RunVoidError if the machine refuses something on the way.

    keep: go on serving the metrics page at the end, until Ctrl-C; monitored: Prometheus can read all processes;
    resumed: the folder of a run that is begun again in it; environment_of: where it is carried out, by the run's id and
    folder; on processes of its own unless told.
    """
    console, interrupted, loaded = Console(stderr=True, quiet=is_quiet()), threading.Event(), threading.Event()

    def interrupt() -> None:
        if interrupted.is_set() or not loaded.is_set():  # the second Ctrl-C, or there is nothing to judge yet
            raise KeyboardInterrupt
        set_in_handler(interrupted)
        console.print("ending the run early; once more ends it at once")

    try:
        environment_of = environment_of or processes_of(plan, monitored=monitored)
        call_on_signals(interrupt)
        result = launch(
            plan, environment_of=environment_of, runs_folder=runs_folder, clock=SystemClock(), console=console,
            interrupted=interrupted, on_load=loaded.set, keep_input=keep_input,
            keep=(lambda: stop_event_on_signals().wait()) if keep else None, resumed=resumed,
            print_result=None if as_json else print_result,
        )  # fmt: skip
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
    console, shown_by = Console(stderr=True, quiet=is_quiet()), None if as_json else print_result
    result = judge_again(folder, plan, clock=SystemClock(), console=console, print_result=shown_by)
    if as_json:
        click.echo(result.to_json(), nl=False)
    return result


def interrupted_run(runs_folder: Path, run_id: str) -> tuple[RunFolder, RunPlan, bool]:
    """A run that can be resumed, its plan, and whether everything needed to judge it is on disk.

    UsageError if there is no such run, or nothing to resume.
    """
    folder = RunFolder((runs_folder / run_id).resolve() if RUN_ID.fullmatch(run_id) else runs_folder)
    state = State.read(folder.state) if folder.path != runs_folder else None
    if state is None:
        raise UsageError(f"there is no run {run_id} in {runs_folder}; market-spread list shows those that there are")
    if state["step"] == State.DONE:
        raise UsageError(f"the run {run_id} has ended; show it with: market-spread show {run_id}")
    if state["source"] != "market":
        raise UsageError(f"{run_id} cannot be resumed, as its messages are not drawn from the market; start it anew")
    return folder, plan_of_workload(read_workload(folder.workload)), bool(state["can_be_judged"])


def processes_of(
    plan: RunPlan, *, monitored: bool = False, kind: Callable[..., Environment] | None = None
) -> Callable[[str, Path], Environment]:
    """What makes the processes of a run on this machine, of that kind unless they are the usual ones."""
    # Only then are the processes' own distributions needed: the image of the run controller has none of them.
    from market_spread.controller.deploy.local.stack import LocalStack
    from market_spread.controller.deploy.local.system_stack import SystemStack

    java = find_java(java_home())

    def environment(run_id: str, folder: Path) -> Environment:
        require_room(folder, plan)
        usual: Callable[..., Environment] = SystemStack if isinstance(plan.workload, SystemWorkload) else LocalStack
        return (kind or usual)(
            folder=folder / "processes", java=java, jars=JarCache(), workload=plan.workload, clock=SystemClock(),
            run_id=run_id, runs_folder=folder.parent, monitored=monitored,
        )  # fmt: skip

    return environment


def launch(
    plan: RunPlan, *, environment_of: Callable[[str, Path], Environment], runs_folder: Path, clock: Clock,
    console: Console, interrupted: threading.Event, keep_input: bool = False, keep: Callable[[], object] | None = None,
    resumed: RunFolder | None = None, on_load: Callable[[], object] = lambda: None,
    print_result: Callable[[RenderableType], object] | None = None,
) -> Result:  # fmt: skip
    """Carry the plan out in an environment, which is ended whatever happens; writes and shows the run document.

    environment_of: makes the environment, from the run's id and its folder, but starts nothing.
    keep_input: also write all quotes and the measured orders as they were sent, beside the ledger of alerts.
    keep: called at the end, while the metrics page is still served; it goes on when this returns.
    resumed: the folder of a run that is begun again in it, with what an earlier attempt has left deleted.
    on_load: called from the begin of the measured load on, once or more: before, a run has nothing to show.
    print_result: where the result goes, if not to the console with the progress.
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
            notes.start(addresses.aggregator, addresses.identity)
            pages.append(addresses.aggregator_http)
            line(f"metrics page: {addresses.aggregator_http}")
            if (hint := environment.how_to_watch(folder.path, addresses)) is not None:
                line(hint)

        with _ended(environment, capture, notes):
            _introduce(plan, notes, is_here=environment.host() is not None)
            with live_progress(console) as show:

                def shown(progress: RunProgress) -> None:
                    if progress.phase == "measuring":
                        on_load()
                    notes.follow(progress)
                    capture.follow(progress)
                    show(progress)

                run = (SystemRun if isinstance(plan.workload, SystemWorkload) else Run)(
                    plan, environment, run_id=run_id, clock=clock, show=shown, interrupted=interrupted,
                    on_started=started, on_ready=capture.describe, on_drained=capture.drained,
                )  # fmt: skip
                observed = run.carry_out()
            capture.ending(observed)
            environment.stop_all_but_aggregator()
            result = finish(folder, plan, observed, state=capture.state)
            for note in end_notes(plan, observed, result, unix_ns=clock.unix_ns()):
                notes.tell(note)
            notes.close()
            if keep_input:
                write_input(folder.path, run.plan, observed)
            (print_result or partial(console.print, highlight=False))(result_table(result))
            line(f"\n[dim]{folder.result}[/dim]")
            if loss := notes.loss:
                line(f"{loss}; the page has the verdict when the aggregator has ended")
            show_page(lambda: export_page(pages[0], run_id, folder.path), console)
            line(f"[dim]{write_report(folder, result, clock=clock)}[/dim]")
            capture.state.enter(State.DONE)
            if keep is not None:
                line(f"metrics page: {pages[0]} (until Ctrl-C)")
                keep()
        if notes.waiting:  # nobody else writes the log any more
            show_page(lambda: with_notes(folder, notes.waiting, clock=clock), console)
        return result


def _introduce(plan: RunPlan, notes: RunNotes, *, is_here: bool) -> None:
    """Note what is to run and for how long, by what it is judged, and of a system that is not ours its kind and steps.

    is_here: else the steps are left out, as a pod that drives a run has no Spark.
    """
    workload, limits = plan.workload, run_limits(plan.workload)
    seconds = {"warming up": workload.warm_up.duration_s, "measuring": plan.duration_s}
    notes.say("title", f"{workload.name}: {workload.load.highest_per_s:,} messages/s")
    notes.say("limits", workload.name, in_words(limits), limits=limits)
    notes.say("plan", workload.name, phases_ms={phase: round(each * 1000) for phase, each in seconds.items() if each})
    if isinstance(workload, SystemWorkload):
        steps = ""
        if is_here and (pipeline := workload.system.pipeline) is not None:
            from market_spread.streaming.applications.registry import find

            steps = find(pipeline).describe()[:SENTENCE_CHARACTERS_MAX]
        notes.say("system", workload.system.kind, steps)


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


def judge_again(
    folder: RunFolder, plan: RunPlan, *, clock: Clock, console: Console,
    print_result: Callable[[RenderableType], object] | None = None,
) -> Result:  # fmt: skip
    """Judge, capture and report what is on disk; no process is started. Shows the result, as `launch` does.

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
        result = finish(folder, plan, observed, state=state)
        (print_result or partial(console.print, highlight=False))(result_table(result))
        console.print()
        ending = end_notes(plan, observed, result, unix_ns=clock.unix_ns())
        show_page(lambda: with_notes(folder, ending, clock=clock), console)
        path = write_report(folder, result, clock=clock)
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
