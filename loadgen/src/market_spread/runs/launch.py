"""A run on this machine: its folder, its processes, its progress, its result."""

import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from market_spread.common.clock import Clock
from market_spread.common.errors import RunFailedError, UsageError
from market_spread.loadgen.recorded import write_native
from market_spread.runs.broker import remove_data
from market_spread.runs.display import live_progress, result_table
from market_spread.runs.ensemble import Addresses, Ensemble, JobSettings
from market_spread.runs.jars import JarCache
from market_spread.runs.java import Java
from market_spread.runs.metrics_page import export_page
from market_spread.runs.monitoring import how_to_watch, write_configuration
from market_spread.runs.noting import JUDGED_FROM, RunNotes
from market_spread.runs.plan import RunPlan
from market_spread.runs.result import Result
from market_spread.runs.run import Observed, Progress, Run, write_evidence
from market_spread.runs.verdict import judged_from_unix_ns, result_of

# Checkpoint, logs, Spark's and the broker's own files; then a message, its share of the frame's record, and reserve.
_WORKING_BYTES = 200_000_000
_BYTES_PER_MESSAGE = 200


def launch(
    plan: RunPlan,
    *,
    runs_folder: Path,
    java: Java,
    jars: JarCache,
    clock: Clock,
    console: Console,
    interrupted: threading.Event,
    keep_input: bool = False,
    keep: Callable[[], None] | None = None,
    monitored: bool = False,
) -> Result:
    """Carry the plan out on processes of its own, which are ended whatever happens; writes and shows the result.

    keep_input: also write all quotes and the measured orders as they were sent, beside the ledger of alerts.
    keep: called at the end, while the metrics page is still served; it goes on when this returns.
    monitored: Prometheus can read broker and job as well; its configuration is written into the run's folder.
    """
    run_id, folder = new_run_folder(runs_folder, plan.workload.name)
    _require_room(folder, plan)
    ensemble = Ensemble(
        folder=folder / "processes",
        java=java,
        jars=jars,
        job=JobSettings.of(plan.workload),
        clock=clock,
        run_id=run_id,
        runs_folder=folder.parent,
        monitored=monitored,
    )
    notes = RunNotes(run_id, clock=clock)
    notes.say("title", _title(plan))
    pages: list[str] = []

    def started(addresses: Addresses) -> None:
        notes.start(addresses.aggregator)
        pages.append(addresses.aggregator_http)
        console.print(f"metrics page: {addresses.aggregator_http}", soft_wrap=True, highlight=False)
        if (targets := ensemble.targets(addresses)) is not None:
            console.print(how_to_watch(write_configuration(folder, targets)), soft_wrap=True, highlight=False)

    try:
        with live_progress(console, clock) as show:

            def shown(progress: Progress) -> None:
                notes.follow(progress)
                show(progress)

            run = Run(
                plan, ensemble, run_id=run_id, clock=clock, show=shown, interrupted=interrupted, on_started=started
            )
            observed = run.carry_out()
        ensemble.stop_all_but_aggregator()
        remove_data(folder / "processes" / "broker")
        result = result_of(plan, observed, run_id)
        if "measured" in observed.starts_unix_ns:
            text = "the result's latencies are of orders due after this"
            notes.say("event", JUDGED_FROM, text, unix_ns=judged_from_unix_ns(plan, observed))
        notes.say("verdict", result.verdict.value, "; ".join(result.reasons))
        notes.close()
        path = result.write(folder)
        write_evidence(folder, observed)
        if keep_input:
            _write_input(folder, plan, observed)
        console.print(result_table(result), highlight=False)
        console.print(f"\n[dim]{path}[/dim]", soft_wrap=True, highlight=False)
        _write_page(pages[0], run_id, folder, console)
        if keep is not None:
            console.print(f"metrics page: {pages[0]} (until Ctrl-C)", soft_wrap=True, highlight=False)
            keep()
    finally:
        notes.close()
        ensemble.stop()
        remove_data(folder / "processes" / "broker")
    return result


def _title(plan: RunPlan) -> str:
    return f"{plan.workload.name}: {plan.workload.profile.highest_per_s:,} messages/s"


def _write_page(address: str, run_id: str, folder: Path, console: Console) -> None:
    """Best effort: a run is not worse for want of its page."""
    try:
        path = export_page(address, run_id, folder)
    except RunFailedError as error:
        console.print(str(error), soft_wrap=True, highlight=False)
        return
    console.print(f"[dim]{path}[/dim]", soft_wrap=True, highlight=False)


def _require_room(folder: Path, plan: RunPlan) -> None:
    """UsageError if the disk cannot hold what the broker keeps of the run, and what the processes write."""
    messages = plan.workload.profile.total() + plan.workload.profile.highest_per_s * plan.workload.warm_up_s
    needed_bytes = _WORKING_BYTES + messages * _BYTES_PER_MESSAGE
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise UsageError(
            f"No space left on device: {folder} has {free_bytes / 1e6:,.0f} MB free, "
            f"the run needs {needed_bytes / 1e6:,.0f} MB; make room or name another --runs-folder"
        )


def _write_input(folder: Path, plan: RunPlan, observed: Observed) -> None:
    """The files for `market-spread check`: made again from the plan, with the times at which its loads began."""
    loads = [
        getattr(plan, phase).open(observed.starts_unix_ns[phase])
        for phase in ("initial", "warm_up", "measured")
        if phase in observed.starts_unix_ns
    ]
    write_native(folder / "nbbo.messages", (block.quotes.rows for load in loads for block in load.blocks()))
    if "measured" in observed.starts_unix_ns:
        write_native(folder / "orders.messages", (block.orders.rows for block in loads[-1].blocks()))
    (folder / "alerts.ledger").write_bytes(observed.ledger)


def new_run_folder(runs_folder: Path, name: str) -> tuple[str, Path]:
    """A run id that no run has yet, and its new folder. UsageError if it cannot be made."""
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = runs_folder / (stem + suffix)
        try:
            folder.mkdir(parents=True)
            return stem + suffix, folder.resolve()
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"the run's folder {folder} cannot be made: {error.strerror}") from error
    raise UsageError(f"{runs_folder} has 99 runs of this second; wait a moment")
