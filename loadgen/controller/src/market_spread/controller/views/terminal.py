"""A page on the terminal. Pictures are left out."""

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from market_spread.controller.views.model import TONES, Page, Picture, Sentences, Table

_STYLES = {"good": "green", "bad": "red", "unsure": "yellow"}


def terminal_view(page: Page) -> RenderableType:
    """The page for a rich console."""
    parts = [_part(part) for part in page.parts if not isinstance(part, Picture)]
    return Group("", _headline(page), *(line for part in parts for line in ("", part)))


def _headline(page: Page) -> Text:
    style = _STYLES.get(TONES.get(page.verdict, ""), "")
    if not page.verdict:
        return Text(page.headline, style="bold")
    return Text.assemble((f"  {page.verdict.upper()}  ", f"bold reverse {style}".strip()), f"  {page.headline}")


def _part(part: Table | Sentences) -> RenderableType:
    if isinstance(part, Sentences):
        return Group(*(Text(f"• {sentence}") for sentence in part.sentences))
    table = RichTable(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(part.head):
        table.add_column(name, justify="left" if number < part.text_columns else "right")
    for row in part.rows:
        table.add_row(*(Text(cell, style=_STYLES.get(TONES.get(cell, ""), "")) for cell in row))
    return Group(Text(part.title, style="bold"), table) if part.title else table
