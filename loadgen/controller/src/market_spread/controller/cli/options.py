"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
_PAGE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def folder_option(name: str, default: Path | None, meaning: str) -> Callable[[Command], Command]:
    """An option that names a folder."""
    return click.option(name, type=FOLDER, default=default, help=meaning)


def json_option(meaning: str) -> Callable[[Command], Command]:
    """--json, which a command takes as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=meaning)


def page_options(command: Command) -> Command:
    """--html and --markdown: files to write the page to, besides the terminal."""
    html = click.option("--html", type=_PAGE, help="Also write the page as one HTML file, with its pictures.")
    markdown = click.option(
        "--markdown", type=_PAGE, help="Also write the page as Markdown, with its pictures beside it; - prints it."
    )
    return html(markdown(command))


def figure_options(command: Command) -> Command:
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
