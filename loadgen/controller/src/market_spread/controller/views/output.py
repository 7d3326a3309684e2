"""Where a page goes: the terminal, and the files that the user names."""

from pathlib import Path

import click
from rich.console import Console

from market_spread.common.documents import write_whole
from market_spread.common.errors import UsageError
from market_spread.controller.views.html import html_view
from market_spread.controller.views.markdown import markdown_view
from market_spread.controller.views.model import Page, Picture
from market_spread.controller.views.terminal import terminal_view

_STANDARD_OUTPUT = Path("-")
_UNBROKEN_COLUMNS = 140


def put_out(page: Page, *, html: Path | None = None, markdown: Path | None = None, instead: str | None = None) -> None:
    """Show the page on standard output, and write it to the files. UsageError if one cannot be written.

    markdown: `-` puts Markdown on standard output; the pictures of a file are beside it, as `<name>.svg`,
    `<name>-2.svg` and so on. instead: what is printed in the place of the page.
    """
    if html is not None:
        write_text(html, html_view(page))
    if markdown is not None and markdown != _STANDARD_OUTPUT:
        _write_markdown(page, markdown)
    if instead is not None:
        click.echo(instead, nl=False)
    elif markdown == _STANDARD_OUTPUT:
        click.echo(markdown_view(page), nl=False)
    else:
        console = Console()
        if not console.is_terminal:  # a file or a pipe has no width, and tables are easier to read unbroken
            console = Console(width=max(_UNBROKEN_COLUMNS, console.width))
        console.print(terminal_view(page), highlight=False)


def write_text(path: Path, text: str) -> None:
    """Write the file whole or not at all. UsageError if that fails."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from error


def _write_markdown(page: Page, path: Path) -> None:
    pictures = [part for part in page.parts if isinstance(part, Picture)]
    names = {
        id(picture): f"{path.stem}.svg" if number == 1 else f"{path.stem}-{number}.svg"
        for number, picture in enumerate(pictures, 1)
    }
    for picture in pictures:
        write_text(path.with_name(names[id(picture)]), picture.svg)
    write_text(path, markdown_view(page, lambda picture: names[id(picture)]))
