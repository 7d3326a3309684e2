"""Files that a page of the documentation shows, behind a mark that names them: `<!-- file: NAME -->`."""

import re

from tests.support.paths import ROOT

_FILE = re.compile(r"^<!-- file: (?P<name>[\w./-]+) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def documented_files(page: str) -> dict[str, str]:
    """The texts of a page's files, by name; the page as `docs/NAME.md`."""
    return {found["name"]: found["text"] for found in _FILE.finditer((ROOT / page).read_text())}
