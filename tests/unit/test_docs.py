"""What the documentation says must be so: links, commands, targets, layouts, workload keys, result fields, metrics.

docs/metrics.md is generated; tests/unit/monitoring proves it fresh.
"""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from market_spread.common.mapping import MappingReader
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
from market_spread.controller.plan.workload import read_workload
from market_spread.metrics_aggregator.prometheus_view import OWN_METRICS
from tests.unit.monitoring.shipped import known_metrics

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
METRIC_NAMES = {*METRICS, *(metric.name for metric in OWN_METRICS)} | known_metrics()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

WORKLOAD = """\
name: all-keys
seed: 1
load: {load}
market: {{symbols: 350, changing_symbols: 1, rejected_orders: 0.1, order_share: 0.5, probes_per_s: 1, partitions: 2}}
frames: {{messages: 200, linger_ms: 2}}
job: {{mode: real-time, batch_s: 10, shuffle_partitions: 1, memory: 2g}}
warm_up: {{batches: 5, duration_s: 5, settle_s: 1}}
limits: {{late_ms: 10, late_share: 0.001, stall_ms: 2000, p99_ms: 50}}
purpose: a test
slo: {{p50_ms: 5, p95_ms: 20, p99_ms: 50, p99.9_ms: 80, p99.99_ms: 100, max_ms: 500, rate_share: 0.99, loss: 0}}
void: {{stolen_share: 0.1, foreign_share: 0.1, throttled_share: 0.1, clock_ms: 1, missing_share: 0, drift_share: 1,
  swap_mb: 1}}
gate: warn
machine: {{cores: 1, memory_gb: 1, without: [smt]}}
"""
LOADS = (
    "{profile: constant, messages_per_s: 10, duration_s: 10}",
    "{profile: steps, steps: [{messages_per_s: 10, duration_s: 10}]}",
    "{profile: ramp, from_messages_per_s: 1, to_messages_per_s: 10, duration_s: 10}",
    "{profile: burst, messages_per_s: 1, burst_messages_per_s: 10, period_s: 5, burst_s: 1, duration_s: 10}",
)


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


def test_workload_keys_are_those_of_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    take = MappingReader._take

    def noting(self: MappingReader, name: str, default: object) -> object:
        read.add(re.sub(r"\[\d+\]", "[]", self._path) + name)
        return take(self, name, default)

    monkeypatch.setattr(MappingReader, "_take", noting)
    for number, load in enumerate(LOADS):
        path = tmp_path / f"{number}.yaml"
        path.write_text(WORKLOAD.format(load=load))
        read_workload(path)

    parts = {"load", "market", "frames", "job", "warm_up", "limits", "slo", "void", "machine"}
    documented = [bare(row[0]) for row in table(ROOT / "docs" / "operating.md", "## Workload files")]
    assert sorted(documented) == sorted(read - parts)


def test_what_the_readme_says_of_the_quick_workload_is_so() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())

    quick = read_workload(ROOT / "loadgen" / "workloads" / "quick.yaml")

    assert quick.profile.to_mapping() == {"profile": "constant", "messages_per_s": 20_000, "duration_s": 60}
    assert "(a minute at 20,000 messages a second)" in readme
    assert f"{quick.late_share_max:.0%} of the frames leave more than {quick.late_ms:g} ms late" in readme


def test_result_fields_are_those_of_the_code() -> None:
    rows = table(ROOT / "docs" / "run-document.md", "## result.json")

    assert [bare(row[0]) for row in rows] == [field.name for field in dataclasses.fields(Result)]
    assert all(row[1] for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_metrics_that_are_mentioned_exist(page: Path) -> None:
    mentioned = set(re.findall(r"\bmarket_spread_\w+", page.read_text()))

    assert mentioned - METRIC_NAMES == set()
