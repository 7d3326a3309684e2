"""The light examples of the documentation, run exactly as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# A marked block of commands, and the block with all that it prints on standard output or says on standard error, if one
# follows.
MARKED = re.compile(
    r"^<!-- runs: exit (?P<status>\d) -->\n```sh\n(?P<script>.*?)^```$"
    r"(?:\n+<!-- (?P<stream>prints|says) -->\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
# A file that the page has its reader write before the commands that follow.
FILE = re.compile(r"^<!-- file: (?P<name>[\w./-]+) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FOUND = [
    (f"{page.relative_to(ROOT)}-{number}", found)
    for page in PAGES
    for number, found in enumerate(MARKED.finditer(page.read_text()))
]
# Each of these starts a broker and Spark; `make test` has the first one.
ON_KAFKA = [name for name, found in FOUND if "market-spread pipeline " in found["script"]]


def run(script: str, folder: Path, before: str) -> "subprocess.CompletedProcess[str]":
    """Run the script as a user would in a checkout, with the command on the path; writes stay in the folder.

    before: the page up to the script; the files in it are written first.
    """
    (folder / "loadgen").symlink_to(ROOT / "loadgen")
    for file in FILE.finditer(before):
        (folder / file["name"]).write_text(file["text"])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=os.environ | {"PATH": path, "COLUMNS": "80"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def without_padding(output: str) -> str:
    """The output without the blanks that fill up the lines of tables."""
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


def test_there_are_snippets() -> None:
    assert len(FOUND) >= 2
    assert len(ON_KAFKA) >= 2


@pytest.mark.parametrize(
    "snippet",
    [pytest.param(found, id=name, marks=pytest.mark.full if name in ON_KAFKA[1:] else []) for name, found in FOUND],
)
def test_snippet_does_what_the_page_says(snippet: "re.Match[str]", tmp_path: Path) -> None:
    ended = run(snippet["script"], tmp_path, snippet.string[: snippet.start()])

    assert ended.returncode == int(snippet["status"]), ended.stderr
    expected = {"prints": None, "says": ""} | {snippet["stream"]: snippet["output"]}
    assert without_padding(ended.stderr) == expected["says"]
    if expected["prints"] is not None:
        assert without_padding(ended.stdout) == expected["prints"]
