"""The commands that make or compare many runs: `compare`, `ab`, `history`, `sweep` and `torture`."""

import sys
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from market_spread.common.errors import UsageError
from market_spread.controller.cli import options
from market_spread.controller.exits import is_quiet, say

if TYPE_CHECKING:
    from market_spread.controller.compare.comparison import Comparison
    from market_spread.controller.compare.figures import Figure
    from market_spread.controller.views.output import Page

Put = Callable[["Page", Mapping[str, Any]], None]


def _page_options(command: options.Command) -> options.Command:
    """--html, --markdown and --json. The command takes `put`, which puts out its page, or else JSON, as they say."""
    kind = click.Path(path_type=Path, dir_okay=False, allow_dash=True)

    @click.option("--html", type=kind, help="Also write the page as one HTML file, with its charts.")
    @click.option("--markdown", type=kind, help="Also write the page as Markdown; - prints it.")
    @options.json_option("Print it as JSON instead.")
    @wraps(command)
    def with_page(html: Path | None, markdown: Path | None, as_json: bool, **given: Any) -> Any:
        from market_spread.controller.views.output import put_out

        return command(put=partial(put_out, html=html, markdown=markdown, as_json=as_json), **given)

    return with_page


def _figure_options(command: options.Command) -> options.Command:
    """--figure and --least: what is compared, and which difference matters. The command takes `figures`."""

    @click.option(
        "--figure", "chosen", multiple=True, metavar="FIELD",
        help="Compare this field of the result, such as latency_ns.p99; may be given several times. Append :higher or "
        ":lower to say which is better.",
    )  # fmt: skip
    @click.option(
        "--least", multiple=True, metavar="SHARE",
        help="Smallest difference that matters, by default 5%; latency_ns.p99=10% sets it for one figure.",
    )  # fmt: skip
    @wraps(command)
    def with_figures(chosen: tuple[str, ...], least: tuple[str, ...], **given: Any) -> Any:
        from market_spread.controller.compare.figures import read_figures

        return command(figures=read_figures(chosen, least), **given)

    return with_figures


def _show_and_exit(comparison: "Comparison", put: Put, junit: Path | None) -> None:
    from market_spread.controller.compare.page import comparison_document, comparison_junit, comparison_page
    from market_spread.controller.views.output import write_text

    if junit is not None:
        write_text(junit, comparison_junit(comparison))
    put(comparison_page(comparison), comparison_document(comparison))
    sys.exit(comparison.exit_status)


@click.command(epilog="Example: market-spread compare runs/before runs/after --least 3%")
@click.argument("groups", nargs=-1, required=True)
@_figure_options
@click.option("--skip-void", is_flag=True, help="Leave out void runs, and list them.")
@click.option("--force", is_flag=True, help="Include runs that are void or have wrong alerts, and mark them.")
@_page_options
@options.junit_option
@options.runs_folder_option("Folder to look up run ids in.")
def compare(
    groups: tuple[str, ...], figures: tuple["Figure", ...], skip_void: bool, force: bool, put: Put, junit: Path | None,
    runs_folder: Path,
) -> None:  # fmt: skip
    """Compare groups of runs: which are better or worse?

    Each of GROUPS is a folder of runs, a quoted pattern of run folders, or run ids separated by commas; NAME= in front
    names the group. Every group is compared with the first. Runs of `ab` are compared in pairs, and a verdict needs 6
    of them; otherwise it needs 8 runs per group, made in turn.

    Exit status: 0 every figure is better or the same, 1 one is worse or an output is wrong, 2 wrong usage, 3 one is
    undecided or void runs are included.
    """
    from market_spread.controller.compare.comparison import compare as compare_groups
    from market_spread.controller.compare.groups import read_groups, refuse_unusable, without_void

    found = read_groups(groups, runs_folder=runs_folder)
    if skip_void:
        found = tuple(without_void(group) for group in found)
    if not force:
        refuse_unusable(found)
    _show_and_exit(compare_groups(found, figures), put, junit)


@click.command(epilog="Example: market-spread ab before.yaml after.yaml --repeats 8 -- --duration 30")
@click.argument("words", metavar="A.yaml B.yaml [-- RUN_OPTIONS]", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--checkout", "checkouts", multiple=True, type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Given twice: run one workload, A.yaml, as it is in each of these working trees, with the files beside it.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 1000), default=8, help="Pairs of valid runs; a verdict needs 6 or more."
)
@options.runs_folder_option("Folder for the runs, by default runs/ab-A-B. Only the runs that it lacks are made.", None)
@click.option("--seed", type=int, help="Seed of the order; random by default.")
@_figure_options
@_page_options
@options.junit_option
def ab(
    words: tuple[str, ...], checkouts: tuple[Path, ...], repeats: int, runs_folder: Path | None, seed: int | None,
    figures: tuple["Figure", ...], put: Put, junit: Path | None,
) -> None:  # fmt: skip
    """Run two workloads or working trees in turn; compare them.

    Runs come in pairs of A and B, in random order within the pair, and are compared in pairs. Options
    after -- go to every run. A pair with a void run is repeated; if the runs of one workload are void more often, there
    is no verdict. Run the same command again to resume after an interruption. The runs of a working tree are made by
    its own .venv/bin/market-spread, if it has one. Exit status: as of `compare`.
    """
    import random

    from market_spread.common.clock import SystemClock
    from market_spread.controller.archive.provenance import tree_of
    from market_spread.controller.compare.ab_session import ARMS, TakingTurns
    from market_spread.controller.compare.comparison import compare as compare_groups
    from market_spread.controller.compare.groups import Group, without_void
    from market_spread.controller.plan.reading import read_workload
    from market_spread.controller.session.subprocess import RunProcess

    workloads, run_options = _arms(words, checkouts)
    for workload in workloads:
        read_workload(workload)
    names = [folder.resolve().name for folder in checkouts] or [workload.stem for workload in workloads]
    taking_turns = TakingTurns.open(
        runs_folder or Path("runs") / f"ab-{'-'.join(names)}", workloads, pairs=repeats,
        seed=random.SystemRandom().randrange(2**32) if seed is None else seed, clock=SystemClock(), options=run_options,
        trees=[tree_of(checkout) for checkout in checkouts],
    )  # fmt: skip
    taking_turns.go_on(
        {
            arm: RunProcess(run_options, quiet=is_quiet(), checkout=checkout, name=words[0])
            for arm, checkout in zip(ARMS, checkouts or (None, None), strict=True)
        },
        say,
    )
    groups = [
        without_void(Group(f"{arm} ({name})" if len({*names}) == 1 else name, tuple(taking_turns.runs_of(arm))))
        for arm, name in zip(ARMS, names, strict=True)
    ]
    _show_and_exit(compare_groups(groups, figures), put, junit)


def _arms(words: tuple[str, ...], checkouts: tuple[Path, ...]) -> tuple[list[Path], tuple[str, ...]]:
    """The two workloads, and the options of their runs. UsageError if there are not two."""
    first, *others = words
    if checkouts:
        if len(checkouts) != 2 or checkouts[0].resolve() == checkouts[1].resolve():
            raise UsageError(f"--checkout {' --checkout '.join(map(str, checkouts))}; name two working trees")
        if others and not others[0].startswith("-"):
            raise UsageError(f"{others[0]} is a second workload; with --checkout there is one, in both working trees")
        return [folder / first for folder in checkouts], words[1:]
    if not others or others[0].startswith("-"):
        raise UsageError(f"{first} is one workload; name another one, or two working trees with --checkout")
    return [Path(first), Path(others[0])], words[2:]


@click.command(epilog="Example: market-spread history runs --workload steady")
@options.runs_folder_argument()
@click.option("--workload", help="Only runs of this workload, by name.")
@click.option(
    "--anchor", metavar="WORKLOAD", help="Show figures as ratios to those of this workload: the machine cancels out."
)
@_figure_options
@_page_options
def history(
    runs_folder: Path, workload: str | None, anchor: str | None, figures: tuple["Figure", ...], put: Put
) -> None:
    """Show figures over many runs, and where they changed.

    RUNS_FOLDER is `runs` by default. Each workload has its own history; void runs and those with wrong alerts are left
    out. Changes are looked for from ten runs on. Without an anchor, a change of the machine looks like one of the code.
    """
    from market_spread.controller.compare.history import history_of
    from market_spread.controller.compare.runs import read_runs, run_folders

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
    put(*history_of(valid, figures, left_out=left_out, unreadable=unreadable, anchors=anchors))


@click.command(epilog="Example: market-spread sweep loadgen/workloads/sustained.yaml --slo p99=50ms")
@click.argument("workload", type=options.INPUT)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--slo", multiple=True, metavar="NAME=VALUE",
    help="What must hold: p50, p95, p99, p99.9, p99.99 or max with a time, rate=99% of the offered rate, loss=0. May "
    "be given several times.",
)  # fmt: skip
@click.option("--start", type=click.IntRange(1), help="First rate, messages per second; by default the workload's.")
@click.option("--from", "low", type=click.IntRange(1), default=100, help="Lowest rate to try.")
@click.option("--to", "high", type=click.IntRange(1), default=10_000_000, help="Highest rate to try.")
@click.option("--precision", default="5%", help="Stop when the bracket is this narrow.")
@click.option("--repeats", type=click.IntRange(1, 99), default=4, help="Extra runs at each end of the bracket.")
@click.option(
    "--drift", default="12%", help="Standard deviation of the machine's speed from hour to hour; 0 if it is dedicated."
)
@click.option("--curve/--no-curve", default=True, help="Also try 50%, 80% and 95% of the limit.")
@click.option("--runs-max", type=click.IntRange(1), default=40, help="Give up after this many runs.")
@options.runs_folder_option("Folder for the runs, by default runs/sweep-WORKLOAD. Runs that it has count.", None)
@_page_options
def sweep(
    workload: Path, run_options: tuple[str, ...], slo: tuple[str, ...], start: int | None, low: int, high: int,
    precision: str, repeats: int, drift: str, curve: bool, runs_max: int, runs_folder: Path | None, put: Put,
) -> None:  # fmt: skip
    """Find the highest rate that a WORKLOAD's job holds.

    The answer has an interval. A run holds its rate if it meets every objective, loses nothing and its backlog does not
    grow. The limit is the rate that half of the runs hold. Options after -- go to every run, such as --duration. Run
    the same command again to resume after an interruption.

    Exit status: 0 found, 1 even the lowest rate is broken, 2 wrong usage, 3 no answer.
    """
    from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
    from market_spread.controller.compare.figures import read_share
    from market_spread.controller.plan.objectives import Objectives
    from market_spread.controller.plan.reading import read_workload
    from market_spread.controller.session.subprocess import RunProcess
    from market_spread.controller.sweep.search import Search
    from market_spread.controller.sweep.session import Probing, search_document, search_page
    from market_spread.loadgen.recorded import Recorded

    objectives = Objectives.of_options(slo)
    offered = read_workload(workload)
    load = offered.load
    if not isinstance(load, Constant | Recorded):
        raise UsageError(f"{offered.name} has neither a constant profile nor a recorded one, whose rate a sweep sets")
    if not low <= high <= RATE_PER_S_MAX:
        raise UsageError(f"--from {low} --to {high}; use rates that ascend, up to {RATE_PER_S_MAX}")
    if start is not None and not low <= start <= high:
        raise UsageError(f"--start {start}; use {low} to {high}, which --from and --to allow")
    search = Search(
        start=start if start is not None else min(max(round(load.total() * 1e9 / load.duration_ns), low), high),
        low=low, high=high, precision=read_share(precision, "--precision"), repeats=repeats,
        drift_share=0.0 if drift.rstrip("%") == "0" else read_share(drift, "--drift"), curve=curve,
    )  # fmt: skip
    place = runs_folder or Path("runs") / f"sweep-{workload.stem}"
    probing = Probing.open(place, workload, search, objectives, options=run_options)
    found = probing.go_on(RunProcess(run_options, quiet=is_quiet()), say, runs_max=runs_max)
    points = probing.points()
    put(search_page(workload.stem, found, points, objectives), search_document(found, points, objectives))
    sys.exit({"held": 0, "broken": 1}.get(found.verdict, 3))


@click.command(epilog="Example: market-spread torture loadgen/workloads/torture.yaml --hours 8")
@click.argument("workload", type=options.INPUT)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
@click.option("--hours", type=options.Number(0, 10_000, min_open=True), default=1.0, help="Begin runs for so long.")
@click.option("--seed", type=click.IntRange(0, 2**62), default=1, help="The first seed; each run takes the next one.")
@options.runs_folder_option("Folder for the runs, by default runs/torture-WORKLOAD. Seeds that it has count.", None)
@_page_options
def torture(
    workload: Path, run_options: tuple[str, ...], hours: float, seed: int, runs_folder: Path | None, put: Put
) -> None:
    """Run a WORKLOAD under random faults, seed after seed.

    The seed draws the messages and, as the workload's faults.random says, the faults. Each seed's workload and run
    stay, so that one that was not survived can be made again. Options after -- go to every run. Run the same command
    again to go on.

    Exit status: 0 all that are not void passed, 1 one failed, 2 wrong usage, 3 all are void.
    """
    from market_spread.common.clock import SystemClock
    from market_spread.controller.session.subprocess import RunProcess
    from market_spread.controller.sweep.torture import Torture, torture_page

    place = runs_folder or Path("runs") / f"torture-{workload.stem}"
    tortured = Torture.open(place, workload, clock=SystemClock(), options=run_options)
    tortured.go_on(RunProcess(run_options, quiet=is_quiet()), say, seed=seed, hours=hours)
    page, document = torture_page(workload.stem, tortured.runs())
    put(page, document)
    sys.exit({"passed": 0, "failed": 1}.get(page.verdict, 3))
