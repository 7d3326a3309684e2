"""The command `market-spread sweep`."""

import sys
from pathlib import Path

import click

from market_spread.controller.cli.options import FILE, folder_option, json_option, page_options


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
@page_options
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
    from market_spread.common.errors import UsageError
    from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
    from market_spread.controller.compare.figures import read_share
    from market_spread.controller.plan.objectives import Objectives
    from market_spread.controller.plan.workload import read_workload
    from market_spread.controller.session.subprocess import RunProcess
    from market_spread.controller.sweep.page import search_json, search_page
    from market_spread.controller.sweep.search import Search
    from market_spread.controller.sweep.session import Probing
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
