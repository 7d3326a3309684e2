"""Options that several commands have."""

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from market_spread.common.errors import RunFailedError
from market_spread.controller.exits import ENDINGS, ending_of, printable

Command = Callable[..., Any]


class _Input(click.Path):
    """A file to read: a device such as /dev/zero has no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.is_char_device() and path != Path(os.devnull):
            self.fail(f"{path} is a device; name a file", param, ctx)
        return path


class Number(click.FloatRange):
    """A number of a range, which `nan` is not, though no bound is above or below it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if number == number else self.fail(f"{value!r} is no number", param, ctx)  # noqa: PLR0124


FILE = click.Path(path_type=Path, dir_okay=False)
INPUT = _Input(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def workload_option(name: str, taken_as: str, kind: Any, meaning: str) -> Callable[[Command], Command]:
    """An option that changes what the WORKLOAD says."""
    return click.option(name, taken_as, type=kind, show_default="that of the WORKLOAD", help=meaning)


rate_option = workload_option(
    "--rate", "rate_per_s", int, "Messages per second, quotes and orders together, 1 to 10,000,000."
)
symbols_option = workload_option("--symbols", "symbols", int, "Symbols in the market, 350 to 100,000.")


def runs_folder_argument(kind: click.ParamType[Any] = FOLDER) -> Callable[[Command], Command]:
    """The folder that all of a command is about."""
    return click.argument("runs_folder", metavar="[RUNS_FOLDER]", type=kind, default="runs")


def runs_folder_option(
    meaning: str, default: Path | str | None = Path("runs"), kind: click.ParamType[Any] = FOLDER
) -> Callable[[Command], Command]:
    """--runs-folder, the folder that a command finds runs in or puts them into."""
    return click.option("--runs-folder", metavar="RUNS_FOLDER", type=kind, default=default, help=meaning)


def json_option(meaning: str = "Print the result as JSON on standard output.") -> Callable[[Command], Command]:
    """--json, which a command takes as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=meaning)


def show_result(document: object, text: str, *, as_json: bool) -> None:
    """Print what a command found or did on standard output: the text, or the document as JSON."""
    click.echo(json.dumps(document, indent=2) if as_json else printable(text))


def junit_option(command: Command) -> Command:
    """--junit, into which a command that ends without a result writes why."""

    @click.option("--junit", type=FILE, help="Also write JUnit XML: failures, and errors if void or undecided.")
    @wraps(command)
    def with_junit(junit: Path | None, **given: Any) -> Any:
        try:
            return command(junit=junit, **given)
        except ENDINGS as error:
            if junit is not None:
                from market_spread.controller.views.output import ERROR, FAILURE, Case, junit_xml, write_text

                sentence, status = ending_of(error)
                ended = FAILURE if status == RunFailedError.exit_status else ERROR
                write_text(junit, junit_xml("market-spread", [Case("command", "has a result", sentence, ended)]))
            raise

    return with_junit
