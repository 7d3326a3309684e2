"""JUnit XML of runs and comparisons, read as continuous integration reads it."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from market_spread.common.errors import RunFailedError, RunVoidError
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.controller.analysis.result import Result
from market_spread.controller.cli.main import main
from market_spread.controller.views.output import Case, junit_of_run, junit_xml
from tests.support.paths import QUICK
from tests.unit.controller.compare.run_fixtures import judged, write_run

# What GitHub, GitLab and Jenkins know; an attribute or element besides these is not shown by any of them.
KNOWN = {
    "testsuites": {"tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name"},
    "failure": {"message"},
    "error": {"message"},
    "skipped": {"message"},
}


def read(text: str) -> tuple[dict[str, int], dict[str, tuple[str, str]]]:
    """The counts of the suite; and of each case that does not hold, its end and its text."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert set(element.attrib) <= KNOWN[element.tag]
    (suite,) = root
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert {name: int(root.attrib[name]) for name in counts} == counts
    assert len(suite) == counts["tests"]
    ended = {case.attrib["name"]: (end.tag, end.attrib["message"]) for case in suite for end in case}
    assert [end.text for case in suite for end in case] == [text for _, text in ended.values()]  # as GitLab reads it
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(list(root.iter(tag))) == counts[name]
    return counts, ended


def result(verdict: Verdict, *failed: Criterion, decisive: tuple[Criterion, ...]) -> Result:
    values = {"workload": "fares", "duration_s": 30.0, "decisive": decisive, **judged(verdict, *failed)}
    return cast("Result", SimpleNamespace(**values))


def test_a_run_that_passes_has_no_failure() -> None:
    counts, ended = read(junit_of_run(result(Verdict.PASSED, decisive=())))

    assert (counts["tests"], counts["failures"] + counts["errors"], ended) == (3, 0, {})


def test_the_systems_fault_is_a_failure_and_the_rigs_an_error() -> None:
    missing, late = Criterion.ALERTS_MISSING, Criterion.LATE_GENERATOR
    both = result(Verdict.FAILED, missing, late, decisive=(missing, late))

    _, ended = read(junit_of_run(both))

    assert ended == {missing: ("failure", f"{missing} says so"), late: ("error", f"{late} says so")}


def test_what_decided_nothing_is_skipped() -> None:
    stalled, steady = Criterion.STALLED, Criterion.NOT_STEADY

    _, ended = read(junit_of_run(result(Verdict.FAILED, stalled, steady, decisive=(stalled,))))

    assert {name: end for name, (end, _) in ended.items()} == {stalled: "failure", steady: "skipped"}


def test_last_words_in_colours_are_well_formed() -> None:
    _, ended = read(
        junit_xml("fares", [Case("g", "job_failed", "it ended: \x1b[31mno licence\x1b[0m \x00", "failure")])
    )

    assert ended == {"job_failed": ("failure", "it ended: \ufffd[31mno licence\ufffd[0m \ufffd")}


def test_any_text_is_well_formed() -> None:
    _, ended = read(junit_xml('a "suite" & more', [Case("g", "<case>", "1 < 2 & 'so' \u2013", "failure")]))

    assert ended == {"<case>": ("failure", "1 < 2 & 'so' \u2013")}


@pytest.mark.parametrize(
    ("after_ms", "status", "end"), [(22, 1, "failure"), (18, 0, None), (20, 0, None)], ids=["worse", "better", "same"]
)
def test_a_comparison_fails_in_both_or_in_none(after_ms: float, status: int, end: str | None, tmp_path: Path) -> None:
    for number in range(8):
        write_run(tmp_path / "before", 2 * number, 20 + number / 10)
        write_run(tmp_path / "after", 2 * number + 1, after_ms + number / 10)
    file = tmp_path / "j.xml"

    ended = CliRunner().invoke(main, ["compare", *map(str, (tmp_path / "before", tmp_path / "after", "--junit", file))])

    counts, cases = read(file.read_text())
    assert (ended.exit_code, counts["tests"]) == (status, 4)
    assert {case for case, _ in cases.values()} == ({end} if end else set())
    if end:
        assert "p99, ms: 20.35 [20, 20.7] -> 22.35 [22, 22.7]" in cases["latency_ns.p99"][1]


def test_a_change_that_is_wrong_in_one_of_its_runs_is_a_failure(tmp_path: Path) -> None:
    """Who takes status 3 for no verdict must not merge it."""
    for number in range(8):
        write_run(tmp_path / "before", 2 * number)
        wrong = judged(Verdict.FAILED, Criterion.ALERTS_MISSING) if number == 3 else {}
        write_run(tmp_path / "after", 2 * number + 1, **wrong)
    file = tmp_path / "j.xml"

    words = ["compare", tmp_path / "before", tmp_path / "after", "--force", "--junit", file]
    ended = CliRunner().invoke(main, list(map(str, words)))
    other_way = CliRunner().invoke(main, list(map(str, [words[0], words[2], words[1], "--force"])))

    counts, cases = read(file.read_text())
    assert (ended.exit_code, counts["failures"], cases["usable"][0]) == (1, 1, "failure")
    assert other_way.exit_code == 3


def test_what_is_undecided_or_forced_is_an_error(tmp_path: Path) -> None:
    for number in range(2):
        write_run(tmp_path / "few", 2 * number)
        write_run(tmp_path / "more", 2 * number + 1, verdict="void", reasons=["the generator was late"])
    file = tmp_path / "j.xml"

    words = ["compare", tmp_path / "few", tmp_path / "more", "--force", "--junit", file]
    ended = CliRunner().invoke(main, list(map(str, words)))

    counts, cases = read(file.read_text())
    assert (ended.exit_code, counts["failures"], counts["errors"]) == (3, 0, 5)
    assert "the generator was late" in cases["usable"][1]


@pytest.mark.parametrize(
    ("error", "status", "end", "text"),
    [
        (KeyboardInterrupt(), 3, "error", "interrupted"),
        (RunVoidError("the broker ended"), 3, "error", "the broker ended"),
        (RunFailedError("the system ended"), 1, "failure", "the system ended"),
        (OSError(errno.EACCES, "Permission denied", "runs"), 2, "error", "Permission denied: runs"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_run_that_is_ended_before_its_load_has_its_file_all_the_same(
    error: BaseException, status: int, end: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("market_spread.controller.session.execute.carry_out", carry_out)
    file = tmp_path / "j.xml"

    ended = CliRunner().invoke(main, ["run", str(QUICK), "--junit", str(file)])

    counts, cases = read(file.read_text())
    assert (ended.exit_code, counts["tests"]) == (status, 1)
    assert [*cases.values()] == [(end, text)]
    assert ended.stderr == f"market-spread: {text}\n"


def test_a_command_that_ends_without_a_result_says_why(tmp_path: Path) -> None:
    """Else whoever shows the file shows none, or that of another time."""
    file = tmp_path / "j.xml"

    ended = CliRunner().invoke(main, ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--junit", str(file)])

    counts, cases = read(file.read_text())
    assert (ended.exit_code, counts["failures"], counts["errors"]) == (2, 0, 1)
    ((kind, text),) = cases.values()
    assert (kind, f"market-spread: {text}\n") == ("error", ended.stderr)
