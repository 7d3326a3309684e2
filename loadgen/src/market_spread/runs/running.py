"""What `run` and `replay` have in common: a plan is carried out in view of the user, who may end it early."""

import threading
from pathlib import Path

import click
from rich.console import Console

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import RunVoidError
from market_spread.common.processes import call_on_signals, stop_event_on_signals
from market_spread.runs.exits import sentence_of
from market_spread.runs.jars import JarCache
from market_spread.runs.java import find_java
from market_spread.runs.launch import launch
from market_spread.runs.plan import RunPlan
from market_spread.runs.result import Result


def carry_out(
    plan: RunPlan,
    *,
    runs_folder: Path,
    as_json: bool,
    keep_input: bool = False,
    keep: bool = False,
    monitored: bool = False,
) -> Result:
    """Carry out the plan and show its result; RunVoidError if the machine refuses something on the way.

    keep: go on serving the metrics page at the end, until Ctrl-C; monitored: Prometheus can read all processes.
    """
    console = Console(stderr=True)
    java = find_java(java_home())
    try:
        result = launch(
            plan,
            runs_folder=runs_folder,
            java=java,
            jars=JarCache(),
            clock=SystemClock(),
            console=console,
            interrupted=_interrupted(console),
            keep_input=keep_input,
            keep=until_signal if keep else None,
            monitored=monitored,
        )
    except OSError as error:
        raise RunVoidError(f"the run broke off: {sentence_of(error)}") from error
    if as_json:
        click.echo(result.to_json(), nl=False)
    return result


def until_signal() -> None:
    """Wait for SIGINT or SIGTERM."""
    stop_event_on_signals().wait()


def _interrupted(console: Console) -> threading.Event:
    """An event that the first Ctrl-C sets; a second one ends everything at once."""
    event = threading.Event()

    def handle() -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()
        console.print("ending the run early; once more ends it at once")

    call_on_signals(handle)
    return event
