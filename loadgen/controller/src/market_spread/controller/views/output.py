"""What commands put out: pages, on the terminal, as HTML and as Markdown, and JUnit XML for continuous integration."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from market_spread.common.documents import write_whole
from market_spread.common.errors import usage_errors
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.result import Result
from market_spread.controller.exits import printable
from market_spread.loadgen.oracle.oracle import Judgement
from market_spread.metrics_aggregator.http.run_json import as_json as escaped_json
from market_spread.metrics_aggregator.page import report_file

# Words that mean good or bad news wherever they are a whole cell or a headline's verdict.
TONES = {"better": "good", "held": "good", "worse": "bad", "broken": "bad", "undecided": "unsure", "void": "unsure"}
_STYLES = {"good": "green", "bad": "red", "unsure": "yellow"}
_STANDARD_OUTPUT = Path("-")
_UNBROKEN_COLUMNS = 140
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
_HTML_OR_LINK = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")  # what would be more than text in Markdown


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first text_columns columns are text and stand to the left, the others are numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


@dataclass(frozen=True, slots=True)
class Sentences:
    """Things said, each by itself."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page. verdict: one word, with which its headline begins; empty for none."""

    verdict: str
    headline: str
    parts: tuple[Table | Sentences, ...]


def terminal_view(page: Page) -> RenderableType:
    """The page for a rich console."""
    headline = Text(printable(page.headline), style="bold")
    if page.verdict:
        style = f"bold reverse {_STYLES.get(TONES.get(page.verdict, ''), '')}".strip()
        headline = Text.assemble((f"  {page.verdict.upper()}  ", style), f"  {printable(page.headline)}")
    parts = [_terminal_part(part) for part in page.parts]
    return Group("", headline, *(line for part in parts for line in ("", part)))


def _terminal_part(part: Table | Sentences) -> RenderableType:
    if isinstance(part, Sentences):
        return Group(*(Text(printable(f"• {sentence}")) for sentence in part.sentences))
    table = RichTable(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(part.head):
        table.add_column(Text(printable(name)), justify="left" if number < part.text_columns else "right")
    for row in part.rows:
        table.add_row(*(Text(printable(cell), style=_STYLES.get(TONES.get(cell, ""), "")) for cell in row))
    return Group(Text(printable(part.title), style="bold"), table) if part.title else table


def html_view(page: Page, document: Mapping[str, Any]) -> str:
    """The page as one file that needs nothing else: its script draws the page's tables, and charts of the document that
    the command prints for programs.
    """
    facts = {"page": asdict(page), "tones": TONES, "document": document}
    return report_file(escaped_json(facts), page="comparison.html")


def markdown_view(page: Page) -> str:
    """The page as text that ends with a line break."""
    start, end = (f"**{page.verdict}**: ", "") if page.verdict else ("**", "**")
    return "\n\n".join([start + markdown_text(page.headline) + end, *map(_markdown_part, page.parts)]) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int | None = None) -> str:
    """A table; all columns but the first text_columns are numbers and stand to the right, with None none of them."""
    rules = ["---" if text_columns is None or number < text_columns else "---:" for number in range(len(head))]
    first, *others = ("| " + " | ".join(map(markdown_text, cells)) + " |" for cells in (head, *rows))
    return "\n".join([first, "|" + "|".join(rules) + "|", *others])


def _markdown_part(part: Table | Sentences) -> str:
    if isinstance(part, Sentences):
        return "\n".join(f"* {markdown_text(sentence)}" for sentence in part.sentences)
    title = f"{markdown_text(part.title)}:\n\n" if part.title else ""
    return title + markdown_table(part.head, part.rows, text_columns=part.text_columns)


def markdown_text(text: str) -> str:
    """Text of strangers on one line of Markdown: no cell, HTML, link or picture, and nothing that a terminal obeys."""
    plain = printable(text).replace("\n", " ").replace("\\", "\\\\").replace("|", "\\|")
    return _HTML_OR_LINK.sub(r"\\\g<0>", plain)


def put_out(
    page: Page, document: Mapping[str, Any], *, as_json: bool, html: Path | None = None, markdown: Path | None = None
) -> None:
    """Show the page, or its document as JSON, and write it to the files; markdown: `-` shows that. UsageError if it
    cannot.
    """
    if html is not None:
        write_text(html, html_view(page, document))
    if markdown is not None and markdown != _STANDARD_OUTPUT:
        write_text(markdown, markdown_view(page))
    if as_json:
        click.echo(json.dumps(document, indent=2))
    elif markdown == _STANDARD_OUTPUT:
        click.echo(markdown_view(page), nl=False)
    else:
        print_result(terminal_view(page))


def print_result(result: RenderableType) -> None:
    """Print it on standard output. A file or a pipe has no width: there lines are neither broken nor filled up."""
    console = Console()
    if console.is_terminal:
        console.print(result, highlight=False)
        return
    console = Console(width=max(_UNBROKEN_COLUMNS, console.width))
    with console.capture() as captured:
        console.print(result, soft_wrap=True, highlight=False)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write_text(path: Path, text: str) -> None:
    """Write the file whole or not at all. UsageError if that fails."""
    with usage_errors(f"{path} cannot be written", "name another file"):
        write_whole(path, text)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at. ended: FAILURE, ERROR or SKIPPED, for the reason in `text`; None if it holds."""

    group: str
    name: str
    text: str = ""
    ended: str | None = None


def junit_xml(suite: str, cases: Sequence[Case], *, seconds: float | None = None) -> str:
    """The document of one suite, as of Ant's task: https://github.com/testmoapp/junitxml. seconds: how long it took.

    Failures are what ends a command with status 1, errors what ends it with 3.
    """
    ends = Counter(case.ended for case in cases)
    counts = {"tests": len(cases), "failures": ends[FAILURE], "errors": ends[ERROR], "skipped": ends[SKIPPED]}
    told = {name: str(count) for name, count in counts.items()} | ({} if seconds is None else {"time": f"{seconds:g}"})
    root = ElementTree.Element("testsuites", told)
    element = ElementTree.SubElement(root, "testsuite", {"name": suite, **told})
    for case in cases:
        of_case = ElementTree.SubElement(element, "testcase", {"classname": f"{suite}.{case.group}", "name": case.name})
        if case.ended:
            text = printable(case.text)
            ElementTree.SubElement(of_case, case.ended, {"message": text}).text = text  # GitLab shows what is inside
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def junit_of_run(result: Result) -> str:
    """Every check of a run. What failed without deciding, as another fault explains it, is skipped."""

    def ended(question: str, check: Mapping[str, Any]) -> str | None:
        if check["holds"]:
            return None
        if check["holds"] is None or check["check"] not in result.decisive:
            return SKIPPED
        return ERROR if question == "valid" else FAILURE

    cases = [
        Case(question, each["check"], each["text"], ended(question, each))
        for question, verdict in result.verdicts.items()
        for each in verdict["evidence"]
    ]
    return junit_xml(f"market-spread.{result.workload}", cases, seconds=result.duration_s)


def verdict_of(judgement: Judgement) -> Verdict:
    """Failed if the alerts have a fault, which is certain; else void if the input allows no judgement."""
    if judgement.faulty:
        return Verdict.FAILED
    return Verdict.PASSED if judgement.void_reason is None else Verdict.VOID


def judgement_page(judgement: Judgement) -> Page:
    """The oracle's judgement: the verdict, its counts, and the first faults of each kind."""
    counts = (
        ("orders", "", judgement.orders),
        ("alerts expected", "orders that are certainly rejected", judgement.expected),
        ("alerts received", "orders with an alert", judgement.received),
        ("missing", "expected, but without an alert", judgement.missing),
        ("unexpected", "alerts for accepted or unknown orders", judgement.unexpected),
        ("wrong", "alerts that contradict the input", judgement.wrong),
        ("duplicated", "alerts after the first of their order", judgement.duplicated),
        ("replayed", "the same, where duplicates are allowed", judgement.replayed),
        ("disagreeing", "duplicates that name another quote than the first", judgement.disagreeing),
        ("stale", "on older quotes than nearby delays allow; a fault above 1% of the alerts", judgement.stale),
        ("undecided", f"orders that cannot be decided (delay bound {judgement.delay_us:,} us)", judgement.undecided),
    )
    rows = tuple((name, meaning, f"{count:,}") for name, meaning, count in counts)
    faults = tuple(f"{kind}: {sentence}" for kind, found in judgement.sentences.items() for sentence in found)
    parts = (Table("", ("", "", "count"), rows, text_columns=2), Sentences(faults))
    return Page(verdict_of(judgement).value, judgement.void_reason or "", parts)
