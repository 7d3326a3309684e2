"""A page as Markdown, for a change request or a document. A picture is a link to a file beside it."""

from collections.abc import Callable, Iterable, Sequence

from market_spread.controller.views.model import Page, Picture, Sentences, Table


def markdown_view(page: Page, link_of: Callable[[Picture], str | None] = lambda picture: None) -> str:
    """The page as text that ends with a line break. link_of: where a picture is; None leaves it out."""
    headline = f"**{page.verdict}**: {page.headline}" if page.verdict else f"**{page.headline}**"
    parts = [_part(part, link_of) for part in page.parts]
    return "\n\n".join(part for part in (headline, *parts) if part) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int | None = None) -> str:
    """A table; all columns but the first text_columns are numbers and stand to the right, with None none of them."""
    rules = ["---" if text_columns is None or number < text_columns else "---:" for number in range(len(head))]
    return "\n".join([_row(head), "|" + "|".join(rules) + "|", *(_row(cells) for cells in rows)])


def _part(part: Table | Sentences | Picture, link_of: Callable[[Picture], str | None]) -> str:
    if isinstance(part, Sentences):
        return "\n".join(f"* {_escaped(sentence)}" for sentence in part.sentences)
    if isinstance(part, Picture):
        link = link_of(part)
        return f"![{_escaped(part.title)}]({link})" if link else ""
    title = f"{_escaped(part.title)}:\n\n" if part.title else ""
    return title + markdown_table(part.head, part.rows, text_columns=part.text_columns)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
