"""The commands about what a machine is good for: `plan` and `selftest`."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from market_spread.common.errors import UsageError
from market_spread.controller.cli import options
from market_spread.controller.cli.options import INPUT, Number


@click.command(epilog="Example: market-spread plan --rate 3000000 --symbols 35000")
@click.argument("workload", type=INPUT, required=False)
@options.rate_option
@options.symbols_option
@click.option("--machine", default="c4.8xlarge", help="What a node is: c4.8xlarge or this.")
@click.option("--core-speed", type=Number(0.01, 100), default=1, help="Of its cores; the measured ones are 1.")
@click.option("--measured", type=INPUT, help="Measured runs to fit to instead, of tests/benchmarks/capacity.py.")
@options.json_option("Print the plan as JSON instead.")
def plan(
    workload: Path | None, machine: str, core_speed: float, measured: Path | None, as_json: bool, **changes: Any
) -> None:
    """Plan partitions, processes and machines for a load.

    The costs are measured ones. Mode, frames and probes are those of the WORKLOAD, by default of quick with frames of
    up to 900 messages and 5 ms. Each figure has an interval, and says what it follows from and what it does not know.
    """
    from market_spread.controller.capacity.plan import MACHINES, SHIPPED, Model, Planner, read
    from market_spread.controller.plan.reading import Overrides, overridden, read_workload
    from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
    from market_spread.controller.views.output import put_out

    if machine not in MACHINES:
        raise UsageError(f"--machine {machine}; use one of {', '.join(MACHINES)}")
    base = read_workload(workload) if workload else DEFAULT_WORKLOAD.changed(frames={"messages": 900, "linger_ms": 5})
    offered = overridden(base, Overrides(**changes))
    planner = Planner(Model.fit(read(measured or SHIPPED), offered.job.mode), offered, machine, core_speed)
    document = {"machine": machine, "core_speed": core_speed, "figures": [of._asdict() for of in planner.figures()]}
    put_out(planner.page(), document, as_json=as_json)


@click.command(epilog="Example: market-spread selftest --rate 20000")
@click.option("--rate", type=click.IntRange(1, 5_000_000), required=True, help="Messages a second, 1 to 5,000,000.")
@click.option("--duration", type=Number(0.001, 604_800), default=20.0, help="Seconds at each rate, 0.001 to 604,800.")
@options.runs_folder_option("Folder of the runs that will show the result.")
@click.option(
    "--anchor", is_flag=True, help="Instead make one run of a system that answers at once, for `history --anchor null`."
)
@options.json_option()
def selftest(rate: int, duration: float, runs_folder: Path, anchor: bool, as_json: bool) -> None:
    """Measure the rig itself, on this machine.

    Uses a run's broker, sender and receiver; a null system replaces the job. It answers at once, or 10 ms later for
    every second order, at the rate and at twice the rate. Its floor (what the rig itself takes) and its error (what
    it reports beside what was really done) are kept in selftest.json of the runs folder, and every result of this
    machine has them.

    Exit status: 0 the error is within the aim, 1 it is not, 2 wrong usage, 3 the machine does not hold the rate; with
    --anchor that of a run.
    """
    from rich.console import Console

    from market_spread.controller.exits import interrupt_once, is_quiet
    from market_spread.controller.selftest.session import ANCHOR, NullStack, look_at, plan_at, record_page, self_test
    from market_spread.controller.session.execute import carry_out, processes_of
    from market_spread.controller.views.output import put_out

    if anchor:
        plan = plan_at(rate, duration, name=ANCHOR)
        # A system that holds nothing back: all of a latency is of the machine.
        prompt = processes_of(plan, kind=partial(NullStack, delay_us=0))
        made = carry_out(plan, runs_folder=runs_folder, as_json=as_json, environment_of=prompt)
        sys.exit(made.verdict.exit_status)
    interrupt_once()
    console = Console(stderr=True, quiet=is_quiet())
    look = partial(look_at, runs_folder=runs_folder, console=console)
    record = self_test(rate, duration_s=duration, runs_folder=runs_folder, look=look)
    put_out(record_page(record), record.document, as_json=as_json)
    sys.exit(0 if record.holds else 1)
