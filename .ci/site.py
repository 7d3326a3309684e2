"""Hooks of the documentation's site: the decisions in its menu, and the repository's files that pages link to.

Such a file becomes a page of its own, text as it is and Markdown as a page: the site is whole without a network.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# A link of Markdown to a path, not to an address or to a place of the same page.
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)([^)]*\))")


def on_config(config: Any) -> Any:
    """Put every decision into the menu."""
    decisions = [f"adr/{path.name}" for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    config.nav[-1]["Work on it"][-1]["Decisions"] = decisions
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add what pages link to outside the folder of the documentation, and what that links to."""
    pages = [(page.src_uri, page.content_string) for page in files.documentation_pages()]
    while pages:
        page, markdown = pages.pop()
        for _, link, _ in _LINK.findall(markdown):
            path = _linked(page, link)
            if files.get_file_from_path(_in_site(path)) is None and (ROOT / path).is_file():
                text = (ROOT / path).read_text()
                files.append(File.generated(config, _in_site(path), content=text))
                if path.endswith(".md"):
                    pages.append((_in_site(path), text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links between the documentation and the rest to where the site has them; a folder's is to itself."""

    def mended(found: re.Match[str]) -> str:
        path = _linked(page.file.src_uri, found[2])
        if (ROOT / path).is_dir():
            return "](#)"
        to = posixpath.relpath(_in_site(path), posixpath.dirname(page.file.src_uri) or ".")
        return f"{found[1]}{to}{found[3]}"

    return _LINK.sub(mended, markdown)


def _linked(page: str, link: str) -> str:
    """The path in the repository that a page of the site links to."""
    own = page.removeprefix("files/") if page.startswith("files/") else f"docs/{page}"
    return posixpath.normpath(posixpath.join(posixpath.dirname(own), link))


def _in_site(path: str) -> str:
    """Where the site has a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.txt"
