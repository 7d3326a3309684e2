"""What the documentation says must be so: links, commands, targets, layouts, result fields, metrics.

docs/metrics.md, docs/workloads.md and docs/environment.md are generated; tests/unit/monitoring proves them fresh.
"""

import dataclasses
import importlib
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from market_spread.common.telemetry.metrics import METRICS
from market_spread.common.wire.layout import (
    ALERT,
    DECISION,
    FORMAT_HEADER,
    FORMAT_VERSION,
    NBBO,
    ORDER,
    SENT_HEADER,
    InvalidReason,
    Kind,
    Layout,
)
from market_spread.controller.analysis.result import Result
from market_spread.controller.cli.main import main
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.plan.workload import WORKLOAD
from market_spread.v1 import control_pb2
from tests.support.own_metrics import OWN_METRICS
from tests.support.paths import ROOT
from tests.unit.monitoring.monitoring_fixtures import known_metrics

PAGES = sorted([*ROOT.glob("*.md"), ROOT / "systems" / "README.md", *(ROOT / "docs").rglob("*.md")])
METRIC_NAMES = {*METRICS, *(metric.name for metric in OWN_METRICS)} | known_metrics()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCES = [
    folder
    for folders in ("services/*", "spark", "loadgen/*", "systems")
    for folder in ROOT.glob(f"{folders}/src/market_spread")
]
PACKAGES = {path.name for folder in SOURCES for path in folder.iterdir() if (path / "__init__.py").exists()}
FOLDERS = {".ci", ".github", "charts", "docs", "examples", "loadgen", "proto", "requirements", "services"}
FOLDERS |= {"spark", "systems", "tests"}
# What a reader is to write, and who makes them: no files of ours.
EXAMPLES = {
    "fares.py", "payments.py", "raises.py", "streak.py", "test_fares.py", "tills.py", "trades.py", "unpaid.py",
}  # fmt: skip
# The configuration of processes that only a run starts, and of a probe that reads a variable of the services.
UNLISTED = {"NullConfig", "PinningConfig", "SystemDriverConfig", "WitnessConfig"}
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


def is_there(path: str, page: Path) -> bool:
    """Whether a path names something: from the root, from the page, or below `market_spread`. It may have a `*`."""
    return any(next(base.glob(path.strip("/")), None) for base in (ROOT, page.parent, *SOURCES))


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or package, or a name in one, with or without `market_spread` in front."""
    path = Path(*name.removeprefix("market_spread.").split("."))
    return any(
        (base / path).is_dir()
        or (base / path).with_suffix(".py").exists()
        or (base / path.parent).with_suffix(".py").exists()
        for base in (ROOT, *SOURCES)
    )


def entry_points() -> set[str]:
    """The groups of entry points that our distributions declare."""
    projects = [tomllib.loads(path.read_text())["project"] for path in ROOT.glob("*/*/pyproject.toml")]
    return {group for project in projects for group in project.get("entry-points", {})}


def is_value_of_a_chart(name: str) -> bool:
    """Whether a dotted name is a key of a chart's values."""
    for path in ROOT.glob("charts/*/values.yaml"):
        node = yaml.safe_load(path.read_text())
        for key in name.split("."):
            node = node.get(key) if isinstance(node, dict) else None
        if node is not None:
            return True
    return False


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
def test_paths_in_text_exist(page: Path) -> None:
    words = [word for code in inline(page) for word in code]
    paths = [word for word in words if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", word)]
    ours = [
        path for path in paths if path.endswith(".py") or ("/" in path and path.split("/")[0] in FOLDERS | PACKAGES)
    ]

    missing = {path for path in ours if not is_there(path if "/" in path else f"**/{path}", page)}
    assert missing - EXAMPLES == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_in_text_exist(page: Path) -> None:
    names = {word for code in inline(page) for word in code if re.fullmatch(r"\w+(\.\w+)+", word)}
    ours = {name for name in names if name.split(".")[0] in PACKAGES | {"market_spread", "tests"}}

    missing = {name for name in ours if not is_module(name) and not is_value_of_a_chart(name)}
    assert {name for name in missing - entry_points() if not next(ROOT.glob(f"tests/**/{name}"), None)} == set()


def test_control_table_has_every_call() -> None:
    rows = table(ROOT / "docs" / "architecture.md", "| service |")

    calls = {row[0]: re.findall(r"\b[A-Z]\w+", re.sub(r"\([^)]*\)", "", row[1])) for row in rows}
    services = control_pb2.DESCRIPTOR.services_by_name
    assert calls == {name: [method.name for method in service.methods] for name, service in services.items()}


@pytest.mark.parametrize("heading", ["One message, from sender to alert", "One histogram, from recorder to panel"])
def test_a_walk_has_eight_stops_at_most_and_each_is_there(heading: str) -> None:
    stops = [(bare(row[0]), bare(row[1])) for row in table(ROOT / "docs" / "architecture.md", f"### {heading}")]

    assert 0 < len(stops) <= 8
    for module, function in stops:
        if module.endswith(".js"):
            owner, name = function.split(".")
            script = (ROOT / module).read_text()
            assert f"class {owner} " in script, module
            assert re.search(rf"^  {name}\(", script, re.MULTILINE), function
        else:
            found = importlib.import_module(f"market_spread.{module}")
            for name in function.split("."):
                found = getattr(found, name)
            assert callable(found)


def test_every_decision_is_in_its_list() -> None:
    folder = ROOT / "docs" / "adr"
    listed = (folder / "README.md").read_text().splitlines()[7:]

    pages = [(path.name, path.read_text().splitlines()[0].removeprefix("# ")) for path in sorted(folder.glob("0*.md"))]
    assert listed == [f"| [{name[:4]}]({name}) | {title[5:]} |" for name, title in pages]


def test_the_glossary_is_short_and_linked_from_the_readme() -> None:
    rows = table(ROOT / "docs" / "glossary.md", "| term |")

    terms = [row[0] for row in rows]
    assert 0 < len(terms) <= 30
    assert terms == sorted(set(terms), key=str.lower)
    assert all(row[1] for row in rows)
    assert "docs/glossary.md" in links((ROOT / "README.md").read_text())


def test_the_index_and_the_site_have_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}

    index = set(links((ROOT / "docs" / "README.md").read_text()))
    site = set(re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert pages - index == set()
    assert pages - site == set()


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
    everywhere = {name for parameter in main.params for name in parameter.opts}
    for each in inline(page):
        words = [word for word in each if word not in everywhere]
        if words[:1] == ["market-spread"] and len(words) > 1:
            assert words[1] in main.commands, words
            options = {name for parameter in main.commands[words[1]].params for name in parameter.opts}
            assert {word for word in words[2:] if word.startswith("--")} <= options, words


def test_every_command_stands_in_its_table() -> None:
    rows = table(ROOT / "docs" / "commands.md", "| command")

    assert sorted(bare(row[0]).split()[1] for row in rows) == sorted(main.commands)


def test_every_variable_of_the_environment_has_its_row() -> None:
    page = (ROOT / "docs" / "environment.md").read_text()
    files = [path for folder in SOURCES for path in folder.rglob("*.py")] + [*ROOT.glob("charts/*/templates/**/*.*")]
    texts = [path.read_text() for path in files]

    named = {name for text in texts for name in re.findall(r"\bMARKET_SPREAD_[A-Z_]*[A-Z]\b(?!_)", text)}
    read = {name for text in texts for name in re.findall(r"from_environment\((\w+)\)", text)}
    generator = (ROOT / "tests" / "references" / "__main__.py").read_text()
    assert {name for name in named if f"| `{name}` |" not in page} == set()
    assert {name for name in read if name not in generator} == UNLISTED


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    named = [words for words in (*commands(page), *inline(page)) if words[0] == "make"]

    unknown = [word for words in named for word in words[1:] if "=" not in word and word not in TARGETS]
    assert unknown == []


@pytest.mark.parametrize("layout", [NBBO, ORDER, ALERT, DECISION], ids=lambda layout: layout.name)
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


def test_what_is_said_of_the_quick_workload_is_so() -> None:
    readme, operating = (" ".join((ROOT / page).read_text().split()) for page in ("README.md", "docs/operating.md"))

    quick = read_workload(ROOT / "loadgen" / "workloads" / "quick.yaml")

    assert WORKLOAD.to_mapping(quick)["load"] == {"profile": "constant", "messages_per_s": 20_000, "duration_s": 60}
    assert "(a minute at 20,000 messages a second)" in readme
    assert f"{quick.limits.late_share:.0%} of the frames leave more than {quick.limits.late_ms:g} ms late" in operating


def test_result_fields_are_those_of_the_code() -> None:
    rows = table(ROOT / "docs" / "run-document.md", "## result.json")

    assert [bare(row[0]) for row in rows] == [field.name for field in dataclasses.fields(Result)]
    assert all(row[1] for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_metrics_that_are_mentioned_exist(page: Path) -> None:
    mentioned = set(re.findall(r"\bmarket_spread_\w+", page.read_text()))

    assert mentioned - METRIC_NAMES == set()
