"""The command `market-spread history`."""

from pathlib import Path

import click

from market_spread.common.errors import UsageError
from market_spread.controller.cli.options import FOLDER, figure_options, page_options


@click.command(epilog="Example: market-spread history runs --workload steady")
@click.argument("runs_folder", metavar="[FOLDER]", type=FOLDER, default=Path("runs"))
@click.option("--workload", help="Only runs of this workload, by name.")
@click.option(
    "--anchor",
    metavar="WORKLOAD",
    help="Show each figure as a ratio to that of this workload's runs at the time, so that changes of the "
    "machine cancel out.",
)
@figure_options
@page_options
def history(
    runs_folder: Path,
    workload: str | None,
    anchor: str | None,
    chosen: tuple[str, ...],
    least: tuple[str, ...],
    html: Path | None,
    markdown: Path | None,
) -> None:
    """Show figures over the runs of a folder, and where they changed.

    FOLDER is `runs` by default. Each workload has its own history; void runs and those with wrong alerts are left
    out. Changes are looked for from ten runs on. Without an anchor, a change of the machine looks like one of the code.
    """
    from market_spread.controller.compare.figures import read_figures
    from market_spread.controller.compare.history import history_page
    from market_spread.controller.compare.runs import read_runs, run_folders
    from market_spread.controller.views.output import put_out

    figures = read_figures(chosen, least)
    if not runs_folder.is_dir():
        raise UsageError(f"{runs_folder} is not a folder; name the one that holds the runs, which `run` makes")
    found, unreadable = read_runs(run_folders(runs_folder))
    there = [run for run in found if workload is None or run.workload in (workload, anchor)]
    usable = [run for run in there if not run.is_void and not run.wrong_reasons]
    anchors = [run for run in usable if run.workload == anchor]
    if anchor is not None and not anchors:
        raise UsageError(f"{runs_folder} has no valid run of the anchor {anchor}; name another one, or make some")
    valid = [run for run in usable if run.workload != anchor]
    if not valid:
        of_workload = f" of the workload {workload}" if workload is not None else ""
        raise UsageError(f"{runs_folder} has no valid run{of_workload}; name another folder, or make some")
    left_out = [run for run in there if run not in usable]
    page = history_page(valid, figures, left_out=left_out, unreadable=unreadable, anchors=anchors)
    put_out(page, html=html, markdown=markdown)
