"""Pages: what the terminal, Markdown and HTML make of the same thing, and the axes of charts."""

import os
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from market_spread.common.errors import UsageError
from market_spread.controller.views.charts import Axis, Chart, linear_axis, log_axis
from market_spread.controller.views.output import (
    Page,
    Picture,
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
        Picture("a picture", "<svg/>"),
        Picture("another", "<svg></svg>"),
    ),
)


def on_terminal(page: Page) -> list[str]:
    output = StringIO()
    Console(file=output, width=60).print(terminal_view(page), highlight=False)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def whole(value: float) -> str:
    return f"{value:g}"


def test_terminal_shows_texts_as_they_are_and_no_picture() -> None:
    assert on_terminal(PAGE) == [
        "", "  WORSE    b against a", "", "• first [red]", "• second | third", "",
        "Figures", "name        value", "p99 & more     12", "state       worse",
    ]  # fmt: skip


def test_a_page_without_a_verdict_is_its_headline() -> None:
    page = Page("", "3 changes", ())

    assert on_terminal(page) == ["", "3 changes"]
    assert markdown_view(page) == "**3 changes**\n"
    assert "<h1>3 changes</h1>" in html_view(page)


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert markdown_view(PAGE) == (
        "**worse**: b against a\n\n* first [red]\n* second \\| third\n\n"
        "Figures:\n\n| name | value |\n|---|---:|\n| p99 & more | 12 |\n| state | worse |\n"
    )


def test_html_escapes_texts_and_marks_words_that_are_news() -> None:
    text = html_view(PAGE)

    assert '<h1><span class="bad">worse</span>: b against a</h1>' in text
    assert "<td>p99 &amp; more</td>" in text
    assert '<td class="number bad">worse</td>' in text
    assert "<figcaption>another</figcaption>\n<svg></svg>" in text


def test_a_piped_result_is_neither_broken_nor_filled_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sentence = " ".join(["word"] * 40)

    print_result(terminal_view(Page("", "3 changes", (Sentences((sentence,)), Table("", ("a" * 50, "b" * 50), ())))))

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["", "3 changes", "", f"• {sentence}", "", f"{'a' * 50}  {'b' * 50}"]


def test_pictures_of_a_markdown_file_are_beside_it(tmp_path: Path) -> None:
    put_out(PAGE, markdown=tmp_path / "c.md", instead="")

    assert "![a picture](c.svg)\n\n![another](c-2.svg)\n" in (tmp_path / "c.md").read_text()
    assert (tmp_path / "c-2.svg").read_text() == "<svg></svg>"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c-2.svg", "c.md", "c.svg"]


def test_pictures_of_a_markdown_file_behind_a_link_are_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "latest.md").symlink_to("kept/c.md")

    put_out(PAGE, markdown=tmp_path / "latest.md", instead="")

    assert "![a picture](c.svg)" in (tmp_path / "latest.md").read_text()
    assert (tmp_path / "kept" / "c.svg").read_text() == "<svg/>"
    assert (tmp_path / "latest.md").is_symlink()


def test_markdown_for_a_pipe_has_no_pictures(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)) as reading:
        put_out(PAGE, markdown=tmp_path / "pipe", instead="")

        assert reading.read() == markdown_view(PAGE)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        write_text(tmp_path / "missing" / "c.md", "")

    assert (
        str(raised.value) == f"{tmp_path}/missing/c.md cannot be written: No such file or directory; name another file"
    )


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (-0.07, 0.12, [-0.1, -0.05, 0, 0.05, 0.1, 0.15]),
        (5, 5, [5, 6]),
        (0, 0, [0, 0.2]),
    ],
)
def test_linear_axis_goes_from_round_to_round(low: float, high: float, ticks: list[float]) -> None:
    axis = linear_axis("", low, high, whole)

    assert axis.low <= low
    assert axis.high >= high
    assert [value for value, _ in axis.ticks] == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(7, 900, [5, 10, 20, 50, 100, 200, 500, 1000]), (10, 10, [10, 20]), (0.3, 0.9, [0.2, 0.5, 1])],
)
def test_log_axis_has_one_two_and_five(low: float, high: float, ticks: list[float]) -> None:
    assert [value for value, _ in log_axis("", low, high, whole).ticks] == pytest.approx(ticks)


def test_a_value_is_at_its_share_of_the_axis_and_never_beyond() -> None:
    linear, log = Axis("", 0, 10, ()), Axis("", 1, 100, (), is_log=True)

    assert [linear.share(value) for value in (0, 5, 10, 99)] == [0, 0.5, 1, 1]
    assert [log.share(value) for value in (1, 10, 100, 0.1)] == [0, 0.5, 1, 0]


def test_chart_is_well_formed_whatever_the_words() -> None:
    chart = Chart(linear_axis("x < y", 0, 10, whole), linear_axis('"y"', 0, 10, whole))
    chart.line("a & b", [(0, 0), (10, 10)], "#123456")
    chart.point(5, 5, "#123456", filled=True, title="<here>")
    chart.band(2, 4, "&")
    chart.across(3, "<")
    chart.upright(3, ">")
    chart.bar(4, 1, 2, "#123456")

    texts = {element.text for element in ET.fromstring(chart.svg()).iter() if element.text}

    assert {"a & b", "<here>", "&", "<", ">", "x < y", '"y"'} <= texts
