"""Pictures of every page, light and dark, wide and narrow, to be looked at: `python -m tests.browser.pictures FOLDER`.

They are of a synthetic run, or with `--url` of what an aggregator or an exported file shows.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from tests.browser.conftest import CHROMIUM
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun

PAGES = (
    "overview", "pipeline", "workers", "workers/receiver", "computations", "computations/ingest", "runs", "aggregator",
)  # fmt: skip
SETTLE_MS = 1_200


def take(url: str, folder: Path, *, pages: list[str], themes: list[str], widths: list[int]) -> None:
    """One PNG of the whole page for each."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in themes:
            for width in widths:
                page = browser.new_page(
                    viewport=ViewportSize(width=width, height=860),
                    color_scheme="dark" if theme == "dark" else "light",
                    device_scale_factor=1 if width > 600 else 1.5,
                )
                page.on("console", lambda said: print(said.type, said.text))
                for name in pages:
                    page.goto(f"{url}#/{name}")
                    page.wait_for_timeout(SETTLE_MS)
                    picture = folder / f"{name.replace('/', '-')}-{theme}-{width}.png"
                    page.screenshot(path=picture, full_page=True)
                    print(picture)
                page.close()
        browser.close()


def main() -> None:
    """Read the arguments and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", help="of a running aggregator, or of an exported file; a synthetic run if left out")
    parser.add_argument("--page", action="append", help="overview, workers/receiver, ...; may be given again")
    parser.add_argument("--theme", action="append", choices=("light", "dark"))
    parser.add_argument("--width", action="append", type=int)
    asked = parser.parse_args()
    with ExitStack() as stack:
        url = asked.url or stack.enter_context(Site(SyntheticRun())).url
        take(
            url,
            asked.folder,
            pages=asked.page or list(PAGES),
            themes=asked.theme or ["light", "dark"],
            widths=asked.width or [1280, 400],
        )


if __name__ == "__main__":
    main()
