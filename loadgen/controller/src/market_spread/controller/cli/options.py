"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def page_options(command: Command) -> Command:
    """--html and --markdown: where the page goes besides the terminal."""
    html = click.option("--html", type=_FILE, help="Also write it as one HTML file, pictures inside.")
    markdown = click.option(
        "--markdown", type=_FILE, help="Also write it as Markdown, pictures beside it; - prints it instead."
    )
    return html(markdown(command))


def figure_options(command: Command) -> Command:
    """--figure and --least: what is compared, and which difference matters."""
    figure = click.option(
        "--figure",
        "chosen",
        multiple=True,
        metavar="FIELD",
        help="Compare this field of the result, such as latency_ns.p99; may be given several times. After :higher or "
        ":lower is the better direction.",
    )
    least = click.option(
        "--least",
        multiple=True,
        metavar="SHARE",
        help="The least difference that matters, 5% if not given; latency_ns.p99=10% for one figure.",
    )
    return figure(least(command))
