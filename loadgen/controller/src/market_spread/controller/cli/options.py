"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)

rate_option = click.option("--rate", "rate_per_s", type=int, help="Messages per second, quotes and orders together.")
symbols_option = click.option("--symbols", type=int, help="Symbols in the market, 350 to 100,000.")


def folder_option(name: str, default: Path | None, meaning: str) -> Callable[[Command], Command]:
    """An option that names a folder."""
    return click.option(name, type=FOLDER, default=default, help=meaning)


def json_option(meaning: str) -> Callable[[Command], Command]:
    """--json, which a command takes as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=meaning)
