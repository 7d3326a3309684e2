"""The commands that compare runs: `compare`, `ab` and `history`, and `sweep`, which compares rates."""

import sys
from pathlib import Path

import click

from market_spread.common.errors import UsageError
from market_spread.controller.cli.options import FILE, FOLDER, Command, folder_option, json_option


def _page_options(command: Command) -> Command:
    """--html and --markdown: files to write the page to, besides the terminal."""
    page = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
    html = click.option("--html", type=page, help="Also write the page as one HTML file, with its pictures.")
    markdown = click.option(
        "--markdown", type=page, help="Also write the page as Markdown, with its pictures beside it; - prints it."
    )
    return html(markdown(command))


def _figure_options(command: Command) -> Command:
    """--figure and --least: what is compared, and which difference matters."""
    figure = click.option(
        "--figure",
        "chosen",
        multiple=True,
        metavar="FIELD",
        help="Compare this field of the result, such as latency_ns.p99; may be given several times. Append :higher or "
        ":lower to say which is better.",
    )
    least = click.option(
        "--least",
        multiple=True,
        metavar="SHARE",
        help="Smallest difference that matters, by default 5%; latency_ns.p99=10% sets it for one figure.",
    )
    return figure(least(command))


@click.command(epilog="Example: market-spread compare runs/before runs/after --least 3%")
@click.argument("groups", nargs=-1, required=True)
@_figure_options
@click.option("--skip-void", is_flag=True, help="Leave out void runs, and list them.")
@click.option("--force", is_flag=True, help="Include runs that are void or have wrong alerts, and mark them.")
@_page_options
@json_option("Print the comparison as JSON instead.")
@folder_option("--runs-folder", Path("runs"), "Folder to look up run ids in.")
def compare(
    groups: tuple[str, ...],
    chosen: tuple[str, ...],
    least: tuple[str, ...],
    skip_void: bool,
    force: bool,
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
    runs_folder: Path,
) -> None:
    """Compare groups of runs: is the second better or worse than the first?

    Each of GROUPS is a folder of runs, a quoted pattern of run folders, or run ids separated by commas; NAME= in front
    names the group. Every group is compared with the first. Runs of `ab` are compared in pairs, and a verdict needs 6
    of them; otherwise it needs 8 runs per group, made in turn.

    Exit status: 0 every figure is better or the same, 1 one is worse, 2 wrong usage, 3 one is undecided or void runs
    are included.
    """
    from market_spread.controller.compare.comparison import compare as compare_groups
    from market_spread.controller.compare.figures import read_figures
    from market_spread.controller.compare.groups import read_groups, refuse_unbelievable, without_void
    from market_spread.controller.compare.page import comparison_json, comparison_page
    from market_spread.controller.views.output import put_out

    figures = read_figures(chosen, least)
    found = read_groups(groups, runs_folder=runs_folder)
    if skip_void:
        found = tuple(without_void(group) for group in found)
    if not force:
        refuse_unbelievable(found)
    comparison = compare_groups(found, figures)
    document = comparison_json(comparison) if as_json else None
    put_out(comparison_page(comparison), html=html, markdown=markdown, instead=document)
    sys.exit(comparison.exit_status)


@click.command(epilog="Example: market-spread ab before.yaml after.yaml --repeats 8 -- --duration 30")
@click.argument("workload_a", metavar="A.yaml", type=FILE)
@click.argument("workload_b", metavar="B.yaml", type=FILE)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--repeats", type=click.IntRange(1, 1000), default=8, help="Pairs of valid runs; a verdict needs 6 or more."
)
@folder_option("--folder", None, "Folder for the runs, by default runs/ab-A-B. Only the runs that it lacks are made.")
@click.option("--seed", type=int, help="Seed of the order; random by default.")
@_figure_options
@_page_options
def ab(
    workload_a: Path,
    workload_b: Path,
    run_options: tuple[str, ...],
    repeats: int,
    folder: Path | None,
    seed: int | None,
    chosen: tuple[str, ...],
    least: tuple[str, ...],
    html: Path | None,
    markdown: Path | None,
) -> None:
    """Run two workloads in turn, and compare them.

    Runs come in pairs of A and B, in random order within the pair, and are compared in pairs. Options
    after -- go to every run. A pair with a void run is repeated; if the runs of one workload are void more often, there
    is no verdict. Run the same command again to resume after an interruption. Exit status: as of `compare`.
    """
    import random

    from market_spread.common.clock import SystemClock
    from market_spread.controller.compare.ab_session import ARMS, TakingTurns
    from market_spread.controller.compare.comparison import compare as compare_groups
    from market_spread.controller.compare.figures import read_figures
    from market_spread.controller.compare.groups import Group, without_void
    from market_spread.controller.compare.page import comparison_page
    from market_spread.controller.plan.workload import read_workload
    from market_spread.controller.session.subprocess import RunProcess
    from market_spread.controller.views.output import put_out

    figures = read_figures(chosen, least)
    workloads = (workload_a, workload_b)
    for workload in workloads:
        read_workload(workload)
    taking_turns = TakingTurns.open(
        folder or Path("runs") / f"ab-{workload_a.stem}-{workload_b.stem}",
        workloads,
        pairs=repeats,
        seed=random.SystemRandom().randrange(2**32) if seed is None else seed,
        clock=SystemClock(),
        options=run_options,
    )
    taking_turns.go_on(RunProcess(run_options), lambda line: click.echo(line, err=True))
    are_of_one_name = workload_a.stem == workload_b.stem
    groups = [
        without_void(Group(f"{arm} ({path.stem})" if are_of_one_name else path.stem, tuple(taking_turns.runs_of(arm))))
        for arm, path in zip(ARMS, workloads, strict=True)
    ]
    comparison = compare_groups(groups, figures)
    put_out(comparison_page(comparison), html=html, markdown=markdown)
    sys.exit(comparison.exit_status)


@click.command(epilog="Example: market-spread history runs --workload steady")
@click.argument("runs_folder", metavar="[FOLDER]", type=FOLDER, default=Path("runs"))
@click.option("--workload", help="Only runs of this workload, by name.")
@click.option(
    "--anchor",
    metavar="WORKLOAD",
    help="Show each figure as a ratio to that of this workload's runs at the time, so that changes of the "
    "machine cancel out.",
)
@_figure_options
@_page_options
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


@click.command(epilog="Example: market-spread sweep loadgen/workloads/sustained.yaml --slo p99=50ms")
@click.argument("workload", type=FILE)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--slo",
    multiple=True,
    metavar="NAME=VALUE",
    help="What must hold: p50, p95, p99, p99.9, p99.99 or max with a time, rate=99% of the offered rate, loss=0. May "
    "be given several times.",
)
@click.option("--start", type=click.IntRange(1), help="First rate, messages per second; by default the workload's.")
@click.option("--from", "low", type=click.IntRange(1), default=100, help="Lowest rate to try.")
@click.option("--to", "high", type=click.IntRange(1), default=10_000_000, help="Highest rate to try.")
@click.option("--precision", default="5%", help="Stop when the bracket is this narrow.")
@click.option("--repeats", type=click.IntRange(1, 99), default=4, help="Extra runs at each end of the bracket.")
@click.option(
    "--drift",
    default="12%",
    help="How much the machine's speed varies from hour to hour, as a standard deviation; 0 if it is dedicated.",
)
@click.option("--curve/--no-curve", default=True, help="Also try 50%, 80% and 95% of the limit.")
@click.option("--runs-max", type=click.IntRange(1), default=40, help="Give up after this many runs.")
@folder_option("--folder", None, "Folder for the runs, by default runs/sweep-WORKLOAD. Runs that it already has count.")
@_page_options
@json_option("Print the answer as JSON instead.")
def sweep(
    workload: Path,
    run_options: tuple[str, ...],
    slo: tuple[str, ...],
    start: int | None,
    low: int,
    high: int,
    precision: str,
    repeats: int,
    drift: str,
    curve: bool,
    runs_max: int,
    folder: Path | None,
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    """Find the highest rate that the WORKLOAD's job holds, with an interval.

    A run holds its rate if it meets every objective, loses nothing and its backlog does not grow. The limit is the rate
    that half of the runs hold. Options after -- go to every run, such as --duration. Run the same
    command again to resume after an interruption.

    Exit status: 0 found, 1 even the lowest rate is broken, 2 wrong usage, 3 no answer.
    """
    from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
    from market_spread.controller.compare.figures import read_share
    from market_spread.controller.plan.objectives import Objectives
    from market_spread.controller.plan.workload import read_workload
    from market_spread.controller.session.subprocess import RunProcess
    from market_spread.controller.sweep.search import Search
    from market_spread.controller.sweep.session import Probing, search_json, search_page
    from market_spread.controller.views.output import put_out

    objectives = Objectives.of_options(slo)
    offered = read_workload(workload)
    load = offered.load
    if not isinstance(load, Constant):
        raise UsageError(f"{offered.name} has no constant profile; a sweep needs one, whose rate it sets")
    if not low <= high <= RATE_PER_S_MAX:
        raise UsageError(f"--from {low} --to {high}; use rates that ascend, up to {RATE_PER_S_MAX}")
    if start is not None and not low <= start <= high:
        raise UsageError(f"--start {start}; use {low} to {high}, which --from and --to allow")
    search = Search(
        start=start if start is not None else min(max(load.rate_per_s, low), high),
        low=low,
        high=high,
        precision=read_share(precision, "--precision"),
        repeats=repeats,
        drift_share=0.0 if drift.rstrip("%") == "0" else read_share(drift, "--drift"),
        curve=curve,
    )
    place = folder or Path("runs") / f"sweep-{workload.stem}"
    probing = Probing.open(place, workload, search, objectives, options=run_options)
    found = probing.go_on(RunProcess(run_options), lambda line: click.echo(line, err=True), runs_max=runs_max)
    points = probing.points()
    document = search_json(found, points, objectives) if as_json else None
    put_out(search_page(workload.stem, found, points, objectives), html=html, markdown=markdown, instead=document)
    sys.exit(3 if found.is_contradictory else 0 if found.held else 1)
