"""The command `market-spread compare`."""

import sys
from pathlib import Path

import click

from market_spread.controller.cli.options import figure_options, folder_option, json_option, page_options


@click.command(epilog="Example: market-spread compare runs/before runs/after --least 3%")
@click.argument("groups", nargs=-1, required=True)
@figure_options
@click.option("--skip-void", is_flag=True, help="Leave out void runs, and list them.")
@click.option("--force", is_flag=True, help="Include runs that are void or have wrong alerts, and mark them.")
@page_options
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
