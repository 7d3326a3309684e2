"""A page as one HTML file that needs nothing else: style and pictures are inside."""

from html import escape

from market_spread.controller.views.model import TONES, Page, Picture, Sentences, Table

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --line: #ccc; --good: #1a7f37; --bad: #c62828; --unsure: #9a6700; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #161616; --line: #444; --good: #57ab5a; --bad: #f47067; --unsure: #d4a72c; }
}
body { background: var(--ground); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
body { font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; }
.number { text-align: right; white-space: nowrap; }
td:first-child { white-space: nowrap; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.unsure { color: var(--unsure); font-weight: 600; }
figure { margin: 2rem 0; }
svg { max-width: 100%; height: auto; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
"""


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
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{verdict}{escape(page.headline)}</h1>\n{parts}\n</body>\n</html>\n"
    )


def _part(part: Table | Sentences | Picture) -> str:
    if isinstance(part, Sentences):
        return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in part.sentences) + "</ul>"
    if isinstance(part, Picture):
        return f"<figure><figcaption>{escape(part.title)}</figcaption>\n{part.svg}</figure>"
    return _table(part)


def _table(table: Table) -> str:
    head = "".join(_cell("th", name, number, table) for number, name in enumerate(table.head))
    rows = "\n".join(
        "<tr>" + "".join(_cell("td", cell, number, table) for number, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    title = f"<h2>{escape(table.title)}</h2>\n" if table.title else ""
    return f'{title}<div class="table"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>'


def _cell(kind: str, text: str, number: int, table: Table) -> str:
    classes = ["number"] if number >= table.text_columns else []
    classes += [TONES[text]] if kind == "td" and text in TONES else []
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    return f"<{kind}{attribute}>{escape(text)}</{kind}>"
