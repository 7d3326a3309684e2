"""What nobody means to give: each ends with a sentence that says what to mend, and nothing is overwritten or made."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from market_spread.controller.cli.main import main
from tests.support.paths import QUICK


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def require_refused(*words: str, said: str) -> None:
    result = CliRunner().invoke(main, list(words))

    assert isinstance(result.exception, SystemExit)
    assert (result.exit_code, said in result.output) == (2, True), result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (QUICK.read_text() + "x: " + "[" * 3000 + "]" * 3000, "the workload w.yaml is no YAML"),
        (QUICK.read_text().replace("seed: 1", "seed: " + "9" * 5000), "the workload w.yaml is no YAML"),
        (QUICK.read_text() + "seed: 2\n", "seed stands in line 3 already; leave one of them out"),
        (QUICK.read_text().replace("name: quick", 'name: "\\ud800"'), "the workload w.yaml is no YAML"),
    ],
    ids=["nested", "number", "twice", "surrogate"],
)
def test_a_workload_that_no_one_can_read_is_refused(text: str, said: str) -> None:
    Path("w.yaml").write_text(text)

    require_refused("generate", "w.yaml", "--nbbo", "n", "--orders", "o", said=said)


def test_messages_do_not_overwrite_their_workload() -> None:
    Path("w.yaml").write_text(QUICK.read_text())

    require_refused("generate", "w.yaml", "--nbbo", "w.yaml", "--orders", "o", said="would overwrite the workload")

    assert Path("w.yaml").read_text() == QUICK.read_text()


def test_a_run_whose_name_no_file_can_have_is_not_there() -> None:
    require_refused("run", "--resume", "x\0y", said="there is no run x")


def test_a_folder_that_is_misspelt_is_not_made() -> None:
    require_refused("ui", "nope", said="nope is not a folder")

    assert not Path("nope").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(0)\n", "p.py:2: p.py:f raised SystemExit: 0; mend it there"),
        ("def f(): raise ValueError('no')\n", "p.py:1: p.py:f raised ValueError: no; mend it there"),
        ("f = 3\n", "p.py has no function 'f'"),
        ("def f(a): pass\n", "missing 1 required positional argument: 'a'; mend it there"),
    ],
    ids=["exits", "raises", "no function", "wants an argument"],
)
def test_a_pipeline_that_cannot_be_had_says_where(code: str, said: str) -> None:
    Path("p.py").write_text(code)

    require_refused("describe", "p.py:f", said=said)


def test_a_group_without_a_name_is_refused() -> None:
    require_refused("compare", "", "", said="'' has no finished run")


@pytest.mark.parametrize("address", ["data:,x", "reference://"])
def test_an_address_that_is_no_folder_of_runs_is_refused(address: str) -> None:
    require_refused("list", address, said=f"the store {address} cannot be")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "--core-speed", "nan"], "invalid value for '--core-speed': 'nan' is no number"),
        (["torture", "w.yaml", "--hours", "nan"], "invalid value for '--hours': 'nan' is no number"),
        (["selftest", "--rate", "5000001"], "5000001 is not in the range 1<=x<=5000000"),
        (["selftest", "--rate", "1000", "--duration", "nan"], "'nan' is no number"),
        (["init", "mine", "--template", "attached", "--kafka", "a\nb:1"], "--kafka 'a\\nb:1'; use HOST:PORT"),
        (["run", "w.yaml", "--junit", "."], "invalid value for '--junit'"),
        (["pipeline", "word_count", "--input", "lines=nope"], "--input lines=nope cannot be read: No such file or"),
        (["pipeline", "word_count", "--input", "lines=."], "Is a directory; name a file of lines"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_values_that_no_bound_stops_are_refused_before_anything_starts(words: list[str], said: str) -> None:
    require_refused(*words, said=said)

    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["run", "/dev/zero"],
        ["plan", "--measured", "/dev/zero"],
        ["check", "--nbbo", "/dev/zero", "--orders", "o", "--alerts", "a"],
        ["pipeline", "word_count", "--input", "lines=/dev/zero"],
    ],
    ids=lambda words: words[0],
)
def test_a_device_is_not_read_without_end(words: list[str]) -> None:
    require_refused(*words, said="is a device")


def test_a_name_that_no_folder_can_have_is_refused() -> None:
    Path("w.yaml").write_text(QUICK.read_text().replace("name: quick", f"name: {'q' * 300}"))

    require_refused("run", "w.yaml", said="use at most 100 small letters, digits and hyphens")


def test_a_pipeline_is_no_coroutine(recwarn: pytest.WarningsRecorder) -> None:
    Path("p.py").write_text("async def f(): pass\n")

    require_refused("describe", "p.py:f", said="p.py:f returns coroutine")
    assert [str(warning.message) for warning in recwarn if warning.category is RuntimeWarning] == []


def test_a_ledger_that_is_not_there_is_named_once() -> None:
    require_refused("check", "--nbbo", "n", "--orders", "o", "--alerts", "a", said="spread: a cannot be read: No such")
