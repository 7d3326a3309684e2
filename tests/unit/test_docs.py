"""What the documentation says must be so: links, commands, targets, layouts, result fields, metrics.

docs/metrics.md and docs/workloads.md are generated; tests/unit/monitoring proves them fresh.
"""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from market_spread.common.telemetry.metrics import METRICS
from market_spread.common.wire.layout import (
    FORMAT_HEADER,
    FORMAT_VERSION,
    LAYOUTS,
    SENT_HEADER,
    InvalidReason,
    Kind,
    Layout,
)
from market_spread.controller.analysis.result import Result
from market_spread.controller.cli.main import main
from market_spread.controller.plan.workload import WORKLOAD, read_workload
from market_spread.metrics_aggregator.prometheus_view import OWN_METRICS
from tests.unit.monitoring.monitoring_fixtures import known_metrics

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
METRIC_NAMES = {*METRICS, *(metric.name for metric in OWN_METRICS)} | known_metrics()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def links(text: str) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    return [link for link in found if "://" not in link]


def anchors(text: str) -> set[str]:
    """The names that headings have as targets of links."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page's shell blocks, a list of words each."""
    for language, block in FENCE.findall(page.read_text()):
        if language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                if words := shlex.split(line, comments=True):
                    yield words[: words.index("|")] if "|" in words else words


def inline(page: Path) -> Iterator[list[str]]:
    """The words of a page's inline code."""
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text())):
        yield code.split()


def table(page: Path, after: str) -> list[list[str]]:
    """The cells of the first table at or below a line that begins so, row by row, without its head."""
    text = page.read_text()
    rows = re.compile(r"((?:^\|.*\n)+)", re.MULTILINE).search(text, text.index(f"\n{after}"))
    assert rows is not None
    cells = [[cell.strip() for cell in line.strip("|").split(" |")] for line in rows.group(1).splitlines()]
    return cells[2:]


def bare(cell: str) -> str:
    return cell.strip("`")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_blocks_parse(page: Path) -> None:
    for words in commands(page):
        if Path(words[0]).name == "market-spread":
            parse(words[1:])


def parse(words: list[str]) -> None:
    """Have click read the words as the command would, without carrying anything out; an error fails the test."""
    if words[0] == "--help":
        return
    assert words[0] in main.commands, f"there is no command {words[0]}"
    try:
        main.commands[words[0]].make_context(words[0], words[1:])
    except click.exceptions.Exit:  # --help
        return


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_text_exist_with_their_options(page: Path) -> None:
    for words in inline(page):
        if words[0] == "market-spread" and len(words) > 1:
            assert words[1] in main.commands, words
            options = {name for parameter in main.commands[words[1]].params for name in parameter.opts}
            assert {word for word in words[2:] if word.startswith("--")} <= options, words


def test_every_command_stands_in_its_table() -> None:
    rows = table(ROOT / "docs" / "commands.md", "| command")

    assert sorted(bare(row[0]).split()[1] for row in rows) == sorted(main.commands)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    named = [words for words in (*commands(page), *inline(page)) if words[0] == "make"]

    unknown = [word for words in named for word in words[1:] if "=" not in word and word not in TARGETS]
    assert unknown == []


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_layout_tables_are_those_of_the_code(layout: Layout) -> None:
    rows = table(ROOT / "docs" / "architecture.md", f"### {layout.name}")

    expected = [[f"`{field.name}`", str(field.width), _kind_text(field.kind, field.letters)] for field in layout.fields]
    assert [row[:3] for row in rows] == [*expected, ["in all", str(layout.width), ""]]


def _kind_text(kind: Kind, letters: str) -> str:
    return " or ".join(f"`{letter}`" for letter in letters) if kind is Kind.LETTER else kind.value


def test_headers_and_reasons_are_those_of_the_code() -> None:
    architecture = ROOT / "docs" / "architecture.md"

    headers = table(architecture, "| header of a frame")
    reasons = table(architecture, "## Malformed messages")

    assert [bare(row[0]) for row in headers] == [FORMAT_HEADER, SENT_HEADER]
    assert f"`{FORMAT_VERSION}`" in headers[0][1]
    assert sorted(bare(row[0]) for row in reasons) == sorted(reason.name.lower() for reason in InvalidReason)


def test_what_the_readme_says_of_the_quick_workload_is_so() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())

    quick = read_workload(ROOT / "loadgen" / "workloads" / "quick.yaml")

    assert WORKLOAD.to_mapping(quick)["load"] == {"profile": "constant", "messages_per_s": 20_000, "duration_s": 60}
    assert "(a minute at 20,000 messages a second)" in readme
    assert f"{quick.limits.late_share:.0%} of the frames leave more than {quick.limits.late_ms:g} ms late" in readme


def test_result_fields_are_those_of_the_code() -> None:
    rows = table(ROOT / "docs" / "run-document.md", "## result.json")

    assert [bare(row[0]) for row in rows] == [field.name for field in dataclasses.fields(Result)]
    assert all(row[1] for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_metrics_that_are_mentioned_exist(page: Path) -> None:
    mentioned = set(re.findall(r"\bmarket_spread_\w+", page.read_text()))

    assert mentioned - METRIC_NAMES == set()
