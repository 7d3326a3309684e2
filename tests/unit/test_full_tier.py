"""What `make test` leaves to `make test-full`: each such test is listed with what else finds its faults."""

import ast
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT

ROW = re.compile(r"^\| `(?P<left>\w+/\w+\.py::\w+)` \|[^|]*\|(?P<finders>[^|]*)\|$", re.MULTILINE)
TEST = re.compile(r"`(\w+(?:/\w+)*\.py)::(\w+)`")


def marked_in(source: str) -> Iterator[tuple[str, bool, bool]]:
    """The tests of a module: the name, whether all its cases are marked `full`, and whether any is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            words = " ".join(marks)
            yield node.name, "pytest.mark.full" in marks, "mark.full" in words


def all_tests() -> dict[str, tuple[bool, bool]]:
    return {
        f"{path.relative_to(ROOT / 'tests')}::{name}": (whole, some)
        for path in (ROOT / "tests").rglob("test_*.py")
        for name, whole, some in marked_in(path.read_text())
    }


def test_every_full_test_is_listed_with_what_else_finds_its_faults() -> None:
    tests = all_tests()
    rows = {row["left"]: row["finders"] for row in ROW.finditer((ROOT / "tests" / "README.md").read_text())}

    assert {name for name, (_, some) in tests.items() if some} == rows.keys() != set()
    for left, finders in rows.items():
        named = [f"{file}::{name}" for file, name in TEST.findall(finders)]
        assert named, left
        unknown = [name for name in named if name not in tests]
        assert unknown == [], left
        # It is of `make test` itself, at least in one of its cases.
        assert [name for name in named if tests[name][0]] == [], left


def test_a_mark_of_a_test_or_of_a_case_is_seen() -> None:
    source = """
@pytest.mark.full
def test_whole(): ...
@pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.full)])
def test_case(): ...
@pytest.mark.alone
def test_none(): ...
"""

    assert list(marked_in(source)) == [
        ("test_whole", True, True),
        ("test_case", False, True),
        ("test_none", False, False),
    ]


@pytest.mark.parametrize(("argument", "tier"), [((), "--not-full"), (("full",), "")])
def test_make_test_leaves_full_tests_out_and_make_test_full_does_not(argument: tuple[str, ...], tier: str) -> None:
    """The script's own lines that choose, and what each stage gives to pytest."""
    script = (ROOT / ".ci" / "test").read_text()
    chosen = re.findall(r"^(?:tier=\S*|\[ \"\$\{1:-\}\" .*)(?: #.*)?$", script, re.MULTILINE)
    ended = subprocess.run(
        ["bash", "-euc", "\n".join([*chosen, "true", 'echo "$tier"']), "test", *argument],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ended.stdout.strip() == tier
    assert re.findall(r"-m pytest (\S+)", script) == ["$tier"]
    makefile = (ROOT / "Makefile").read_text()
    targets = dict(re.findall(r"^(test[a-z-]*):.*\n\t@(.*)$", makefile, re.MULTILINE))
    assert targets["test"] == ".ci/test"
    assert targets["test-full"] == ".ci/test full"
    assert "--not-full" in targets["test-cluster"]
    assert targets["test-cluster-full"] == targets["test-cluster"].replace("--not-full ", "")
