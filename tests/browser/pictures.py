"""Pictures of the pages: `python -m tests.browser.pictures --run runs/RUN` draws those of the documentation anew.

Given a folder instead, every page, light and dark, wide and narrow, to be looked at there: of a synthetic run, or with
`--url` of what an aggregator or an exported file shows.
"""

import argparse
import io
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright
from rich.console import Console

from market_spread.controller.analysis.causes import Causes
from market_spread.controller.analysis.evidence import Cause, Verdict
from market_spread.controller.analysis.result import Result
from market_spread.controller.views.progress import result_table
from tests.browser.conftest import CHROMIUM
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun

PAGES = (
    "overview", "pipeline", "workers", "workers/receiver", "computations", "computations/ingest", "runs", "aggregator",
)  # fmt: skip
SETTLE_MS = 1_200
DOCUMENTED = Path(__file__).parents[2] / "docs" / "pictures"
# Of what, the file of the run and the page in it, theme, width, and how much of a long page.
OF_A_RUN = (
    ("overview", "metrics.html#/overview", "light", 1280, None),
    ("overview", "metrics.html#/overview", "light", 400, 1000),
    ("pipeline", "metrics.html#/pipeline", "dark", 1280, None),
    ("report", "report.html", "light", 1280, 2560),
)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def take(browser: Browser, url: str, path: Path, *, theme: str, width: int, height: int | None = None) -> None:
    """A PNG of the whole page, or of so much of its top."""
    page = browser.new_page(
        viewport=ViewportSize(width=width, height=height or 860),
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=1 if width > 600 else 1.5,
    )
    page.on("console", lambda said: print(said.type, said.text))
    page.goto(url)
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=path, full_page=height is None)
    page.close()
    print(path)


def take_documented(run: Path) -> None:
    """The pictures in docs/pictures, of a finished run: its metrics page, its report, its result on the terminal."""
    with chromium() as browser:
        for name, page, theme, width, height in OF_A_RUN:
            file, _, fragment = page.partition("#")
            path = DOCUMENTED / f"{name}-{theme}-{width}.png"
            url = (run / file).resolve(strict=True).as_uri() + (f"#{fragment}" if fragment else "")
            take(browser, url, path, theme=theme, width=width, height=height)
            with Image.open(path) as picture:  # a palette takes a third of the bytes, and nobody sees it
                picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    path = DOCUMENTED / "terminal.svg"
    path.write_text(terminal_picture(run / "result.json"))
    print(path)


def terminal_picture(path: Path) -> str:
    """A result as the terminal shows it, as SVG."""
    document = json.loads(path.read_text())
    cause = document["cause"] and Cause(document["cause"])
    causes = document["causes"] and Causes(**document["causes"])
    result = Result(**{**document, "verdict": Verdict(document["verdict"]), "cause": cause, "causes": causes})
    console = Console(record=True, width=108, file=io.StringIO(), force_terminal=True)
    console.print(result_table(result))
    drawn = console.export_svg(title=f"market-spread run loadgen/workloads/{result.workload}.yaml")
    # The reader's own font will do: a picture that fetches one is not offline.
    return re.sub(r"@font-face \{.*?\}\n?", "", drawn, flags=re.DOTALL)


def main() -> None:
    """Read the arguments and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--run", type=Path, help="the folder of a finished run, for the documentation's pictures")
    parser.add_argument("--url", help="of a running aggregator, or of an exported file; a synthetic run if left out")
    parser.add_argument("--page", action="append", help="overview, workers/receiver, ...; may be given again")
    parser.add_argument("--theme", action="append", choices=("light", "dark"))
    parser.add_argument("--width", action="append", type=int)
    asked = parser.parse_args()
    if (asked.folder is None) is (asked.run is None):
        parser.error("name a folder for pictures of all pages, or a run with --run for those of the documentation")
    if asked.run is not None:
        take_documented(asked.run)
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        url = asked.url or stack.enter_context(Site(SyntheticRun())).url
        browser = stack.enter_context(chromium())
        for theme in asked.theme or ("light", "dark"):
            for width in asked.width or (1280, 400):
                for name in asked.page or PAGES:
                    path = asked.folder / f"{name.replace('/', '-')}-{theme}-{width}.png"
                    take(browser, f"{url}#/{name}", path, theme=theme, width=width)


if __name__ == "__main__":
    main()
