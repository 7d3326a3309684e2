"""Pictures of the boards in the documentation: one of each, of the panels that it has, and small."""

from pathlib import Path

import pytest

from tests.browser.boards.picture import PICTURES, titles_in
from tests.support.paths import ROOT
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, panels

BYTES_MAX = 300_000


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_the_picture_of_a_board_has_its_panels(path: Path) -> None:
    picture = (PICTURES / f"board-{path.stem}.png").read_bytes()

    assert titles_in(picture) == [panel["title"] for panel in panels(path)], "take it again: make boards"
    assert len(picture) < BYTES_MAX


def test_every_picture_of_a_board_is_shown() -> None:
    page = (ROOT / "docs" / "boards.md").read_text()
    shown = {f"board-{path.stem}.png" for path in DASHBOARDS}

    assert {path.name for path in PICTURES.glob("board-*.png")} == shown
    assert [name for name in shown if f"](pictures/{name})" not in page] == []
