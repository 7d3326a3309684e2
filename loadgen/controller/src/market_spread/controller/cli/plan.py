"""The command `market-spread plan`."""

import json
from pathlib import Path
from typing import Any

import click

from market_spread.controller.cli.options import FILE, json_option


@click.command(epilog="Example: market-spread plan --rate 3000000 --symbols 35000")
@click.argument("workload", type=FILE, required=False)
@click.option("--rate", "rate_per_s", type=int, help="Messages per second, quotes and orders together.")
@click.option("--symbols", type=int, help="Symbols in the market, 350 to 100,000.")
@click.option("--machine", default="c4.8xlarge", help="What a node is: c4.8xlarge or this.")
@click.option(
    "--core-speed", type=click.FloatRange(0.01, 100), default=1, help="Of its cores; the measured ones are 1."
)
@click.option("--measured", type=FILE, help="Measured runs to fit to instead, of tests/benchmarks/capacity.py.")
@json_option("Print the plan as JSON instead.")
def plan(
    workload: Path | None, machine: str, core_speed: float, measured: Path | None, as_json: bool, **changes: Any
) -> None:
    """Plan partitions, processes and machines for a load, from measured costs.

    Mode, frames and probes are those of the WORKLOAD, by default of quick with frames of up to 900 messages and 5 ms.
    Each figure has an interval, and says what it follows from and what it does not know.
    """
    from market_spread.common.errors import UsageError
    from market_spread.controller.capacity.costs import SHIPPED, Model, read
    from market_spread.controller.capacity.plan import MACHINES, Planner
    from market_spread.controller.plan.defaults import DEFAULT_WORKLOAD
    from market_spread.controller.plan.workload import Overrides, overridden, read_workload
    from market_spread.controller.views.output import put_out

    if machine not in MACHINES:
        raise UsageError(f"--machine {machine}; use one of {', '.join(MACHINES)}")
    base = read_workload(workload) if workload else DEFAULT_WORKLOAD.changed(frames={"messages": 900, "linger_ms": 5})
    offered = overridden(base, Overrides(**changes))
    planner = Planner(Model.fit(read(measured or SHIPPED), offered.job.mode), offered, machine, core_speed)
    document = {"machine": machine, "core_speed": core_speed, "figures": [of._asdict() for of in planner.figures()]}
    put_out(planner.page(), instead=json.dumps(document, indent=2) + "\n" if as_json else None)
