"""`make boards` draws every board, and writes what docs/boards.md shows of them."""

import sys
from pathlib import Path

from tests.browser.boards.drawing import draw
from tests.browser.boards.packages import made_page
from tests.browser.boards.picture import PICTURES, written
from tests.browser.boards.recording import recorded
from tests.browser.pictures import chromium
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, dashboard


def main(into: Path) -> None:
    """Write all of them."""
    page = made_page()
    with recorded() as run, chromium() as browser:
        for path in DASHBOARDS:
            board = dashboard(path)
            (into / f"board-{path.stem}.png").write_bytes(written(draw(browser, page, run, board).picture, board))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PICTURES)
