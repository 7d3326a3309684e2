"""The command `market-spread ab`."""

import sys
from pathlib import Path

import click

from market_spread.controller.cli.options import FILE, figure_options, folder_option, page_options


@click.command(epilog="Example: market-spread ab before.yaml after.yaml --repeats 8 -- --duration 30")
@click.argument("workload_a", metavar="A.yaml", type=FILE)
@click.argument("workload_b", metavar="B.yaml", type=FILE)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=8,
    help="Pairs of valid runs; a verdict needs 6 or more.",
)
@folder_option("--folder", None, "Folder for the runs, by default runs/ab-A-B. Only the runs that it lacks are made.")
@click.option("--seed", type=int, help="Seed of the order; random by default.")
@figure_options
@page_options
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
    from market_spread.controller.compare.comparison import compare
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
    stems = [workload.stem for workload in workloads]
    names = stems if stems[0] != stems[1] else [f"{arm} ({stem})" for arm, stem in zip(ARMS, stems, strict=True)]
    groups = [
        without_void(Group(name, tuple(taking_turns.runs_of(arm)))) for name, arm in zip(names, ARMS, strict=True)
    ]
    comparison = compare(groups, figures)
    put_out(comparison_page(comparison), html=html, markdown=markdown)
    sys.exit(comparison.exit_status)
