"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def page_options(command: Command) -> Command:
    """--html and --markdown: files to write the page to, besides the terminal."""
    html = click.option("--html", type=_FILE, help="Also write the page as one HTML file, with its pictures.")
    markdown = click.option(
        "--markdown", type=_FILE, help="Also write the page as Markdown, with its pictures beside it; - prints it."
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
