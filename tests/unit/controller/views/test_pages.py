"""Pages: what the terminal, Markdown and HTML make of the same thing."""

import json
import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from market_spread.common.errors import UsageError
from market_spread.controller.views.output import (
    Page,
    Sentences,
    Table,
    html_view,
    markdown_view,
    print_result,
    put_out,
    terminal_view,
    write_text,
)

PAGE = Page(
    "worse",
    "b against a",
    (
        Sentences(("first [red]", "second | third")),
        Table("Figures", ("name", "value"), (("p99 & more", "12"), ("state", "worse"))),
    ),
)


def on_terminal(page: Page) -> list[str]:
    output = StringIO()
    Console(file=output, width=60).print(terminal_view(page), highlight=False)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_terminal_shows_texts_as_they_are() -> None:
    assert on_terminal(PAGE) == [
        "", "  WORSE    b against a", "", "• first [red]", "• second | third", "",
        "Figures", "name        value", "p99 & more     12", "state       worse",
    ]  # fmt: skip


def test_a_page_without_a_verdict_is_its_headline() -> None:
    page = Page("", "3 changes", ())

    assert on_terminal(page) == ["", "3 changes"]
    assert markdown_view(page) == "**3 changes**\n"


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert markdown_view(PAGE) == (
        "**worse**: b against a\n\n* first [red]\n* second \\| third\n\n"
        "Figures:\n\n| name | value |\n|---|---:|\n| p99 & more | 12 |\n| state | worse |\n"
    )


def facts_of(html: str) -> dict[str, Any]:
    """What the script of a page has to draw."""
    (found,) = re.findall(r'<script type="application/json" id="report-data">([^<]*)</script>', html)
    facts: dict[str, Any] = json.loads(found)
    return facts


def test_html_has_the_page_and_the_document_as_data_of_its_own_script() -> None:
    text = html_view(PAGE, {"is": "</script><script>"})

    facts = facts_of(text)
    assert facts["document"] == {"is": "</script><script>"}
    assert facts["page"]["headline"] == "b against a"
    assert facts["page"]["parts"][1]["rows"] == [["p99 & more", "12"], ["state", "worse"]]
    assert facts["tones"][facts["page"]["verdict"]] == "bad"
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\';' in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_a_piped_result_is_neither_broken_nor_filled_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sentence = " ".join(["word"] * 40)

    print_result(terminal_view(Page("", "3 changes", (Sentences((sentence,)), Table("", ("a" * 50, "b" * 50), ())))))

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["", "3 changes", "", f"• {sentence}", "", f"{'a' * 50}  {'b' * 50}"]


def test_files_are_written_beside_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_out(PAGE, {"a": 1}, as_json=True, html=tmp_path / "c.html", markdown=tmp_path / "c.md")

    assert capsys.readouterr().out == '{\n  "a": 1\n}\n'
    assert (tmp_path / "c.md").read_text() == markdown_view(PAGE)
    assert facts_of((tmp_path / "c.html").read_text())["document"] == {"a": 1}


def test_markdown_through_a_link_or_into_a_pipe_is_there(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "latest.md").symlink_to("kept/c.md")
    os.mkfifo(tmp_path / "pipe")

    put_out(PAGE, {}, as_json=False, markdown=tmp_path / "latest.md")

    assert (tmp_path / "kept" / "c.md").read_text() == markdown_view(PAGE)
    assert (tmp_path / "latest.md").is_symlink()
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)) as reading:
        put_out(PAGE, {}, as_json=False, markdown=tmp_path / "pipe")
        assert reading.read() == markdown_view(PAGE)


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        write_text(tmp_path / "missing" / "c.md", "")

    assert (
        str(raised.value) == f"{tmp_path}/missing/c.md cannot be written: No such file or directory; name another file"
    )
