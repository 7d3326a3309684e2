"""Reading figures off the page."""

from playwright.sync_api import Page

Table = dict[str, dict[str, str]]


def key_figures(page: Page) -> dict[str, str]:
    """The key figures by name, value and unit."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.figures > div')].map((each) => [
          each.querySelector('dt').textContent,
          `${each.querySelector('b').textContent} ${each.querySelector('.unit').textContent}`.trim()]))"""
    )
    return found


def table(page: Page, caption: str) -> Table:
    """The table of that caption, once it is there: row, then column, by their titles without unit."""
    page.locator("table").filter(has=page.get_by_text(caption, exact=True)).first.wait_for(state="attached")
    found: Table = page.evaluate(
        """(caption) => {
          const table = [...document.querySelectorAll('table')].find((each) => each.caption?.textContent === caption);
          const heads = [...table.tHead.rows[0].cells].map((cell) => cell.firstChild?.textContent ?? '');
          return Object.fromEntries([...table.tBodies[0].rows].map((row) => [row.cells[0].textContent,
            Object.fromEntries([...row.cells].map((cell, at) => [heads[at], cell.textContent]))])); }""",
        caption,
    )
    return found


def blank_canvases(page: Page) -> list[str]:
    """The charts that are shown and have nothing drawn on them, by title."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('figure.chart')].filter((figure) => {
            const canvas = figure.querySelector('canvas');
            if (!canvas || canvas.width === 0) return true;
            const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const pixels = new Uint32Array(image.data.buffer);
            return new Set(pixels).size < 4;
          }).map((figure) => figure.querySelector('h3').textContent)"""
    )
    return found
