"""A page as one HTML file that needs nothing else: style and pictures are inside."""

from html import escape
from pathlib import Path

from market_spread.controller.views.model import TONES, Page, Picture, Sentences, Table

_STYLE = Path(__file__).with_name("page.css")


def html_view(page: Page) -> str:
    """The whole document."""
    verdict = (
        f'<span class="{TONES.get(page.verdict, "plain")}">{escape(page.verdict)}</span>: ' if page.verdict else ""
    )
    title = f"{page.verdict}: {page.headline}" if page.verdict else page.headline
    parts = "\n".join(_part(part) for part in page.parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE.read_text()}</style>\n</head>\n<body>\n"
        f"<h1>{verdict}{escape(page.headline)}</h1>\n{parts}\n</body>\n</html>\n"
    )


def _part(part: Table | Sentences | Picture) -> str:
    if isinstance(part, Sentences):
        return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in part.sentences) + "</ul>"
    if isinstance(part, Picture):
        return f"<figure><figcaption>{escape(part.title)}</figcaption>\n{part.svg}</figure>"
    head = "".join(_cell("th", name, number, part) for number, name in enumerate(part.head))
    rows = "\n".join(
        "<tr>" + "".join(_cell("td", cell, number, part) for number, cell in enumerate(row)) + "</tr>"
        for row in part.rows
    )
    title = f"<h2>{escape(part.title)}</h2>\n" if part.title else ""
    return f'{title}<div class="table"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>'


def _cell(kind: str, text: str, number: int, table: Table) -> str:
    classes = ["number"] if number >= table.text_columns else []
    classes += [TONES[text]] if kind == "td" and text in TONES else []
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    return f"<{kind}{attribute}>{escape(text)}</{kind}>"
