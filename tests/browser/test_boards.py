"""Every panel of every board, as Grafana's packages draw it in a real Chromium over a Prometheus that has a run."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.boards.drawing import Drawn, draw
from tests.browser.boards.faults import faults
from tests.browser.boards.packages import made_page
from tests.browser.boards.picture import PICTURES, difference, written
from tests.browser.boards.recording import Recorded, recorded
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, dashboard, panels_of

Board = dict[str, Any]
# Of the points of a picture: of the longest board, one figure or the lines of one panel are 0.0022 or more.
SAME = 0.0015

# The first installs Grafana's packages.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def run() -> Iterator[Recorded]:
    with recorded() as run:
        yield run


@pytest.fixture(scope="module")
def drawn(browser: Browser, run: Recorded) -> Callable[[Path], Drawn]:
    """Draws a board, once."""
    page, kept = made_page(), dict[Path, Drawn]()

    def drawn(path: Path) -> Drawn:
        if path not in kept:
            kept[path] = draw(browser, page, run, dashboard(path))
        return kept[path]

    return drawn


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.full
@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_every_panel_shows_the_series_that_there_are_in_its_unit(
    path: Path, drawn: Callable[[Path], Drawn], run: Recorded
) -> None:
    assert list(faults(dashboard(path), drawn(path), run)) == []


@pytest.mark.full
@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_pictures_of_the_documentation_are_what_is_drawn(path: Path, drawn: Callable[[Path], Drawn]) -> None:
    shown = (PICTURES / f"board-{path.stem}.png").read_bytes()

    assert difference(shown, written(drawn(path).picture, dashboard(path))) < SAME, "take them again: make boards"


def small_board() -> Board:
    """The panels at the top of the overview, and a line."""
    (path,) = (path for path in DASHBOARDS if path.stem == "overview")
    board = copy.deepcopy(dashboard(path))
    board["panels"] = board["panels"][:13]
    return board


def misspelt(panel: Board) -> None:
    panel["targets"][0]["expr"] = panel["targets"][0]["expr"].replace("market_spread_", "market_spred_")


def unknown_look(panel: Board) -> None:
    panel["type"] = "timeseriez"


def no_promql(panel: Board) -> None:
    panel["targets"][0]["expr"] += ")"


def unknown_unit(panel: Board) -> None:
    panel["fieldConfig"]["defaults"]["unit"] = "messages"


@pytest.mark.full
@pytest.mark.parametrize(
    ("break_it", "title", "said"),
    [
        (misspelt, "Sent", "says 'nothing in this range'"),
        (misspelt, "Messages due, sent, processed and committed", "has no series for"),
        (unknown_look, "Sent", "Panel plugin not found: timeseriez"),
        (no_promql, "Sent", "parse error"),
        (unknown_unit, "Sent", "has the unit messages, which Grafana does not know"),
    ],
)
def test_a_wrong_panel_is_found_by_its_name(
    break_it: Callable[[Board], None], title: str, said: str, browser: Browser, run: Recorded
) -> None:
    board = small_board()
    (panel,) = (panel for panel in panels_of(board) if panel["title"] == title)
    break_it(panel)

    found = list(faults(board, draw(browser, made_page(), run, board), run))

    assert found
    assert {sentence.partition(": ")[0] for sentence in found} == {title}
    assert any(said in sentence for sentence in found), found


@pytest.mark.full
@pytest.mark.parametrize("title", ["Sent", "Pushes merged"])
def test_a_picture_without_the_values_of_a_panel_is_another(title: str, browser: Browser, run: Recorded) -> None:
    (path,) = (path for path in DASHBOARDS if path.stem == "overview")
    board = dashboard(path)
    (panel,) = (panel for panel in panels_of(board) if panel["title"] == title)
    misspelt(panel)

    drawn = draw(browser, made_page(), run, board)

    assert difference((PICTURES / "board-overview.png").read_bytes(), written(drawn.picture, board)) >= SAME
