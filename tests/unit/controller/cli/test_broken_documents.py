"""Documents that someone else has written or cut: whatever one of them holds, it hides no other run."""

import json
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from market_spread.common.documents import json_object
from market_spread.controller.cli.main import main
from market_spread.controller.compare.runs import Place
from market_spread.controller.views.output import Page, Sentences, Table, markdown_view
from tests.unit.controller.compare.run_fixtures import write_run

DEEP, HUGE = "[" * 100_000, "9" * 400
WHOLE = {
    "cut": b'{"schema_version": 3, "verd', "empty": b"", "list": b"[]", "text": b'"passed"', "not UTF-8": b"\xff\xfe{}",
    "deep": DEEP.encode(), "deep object": b'{"a": ' * 100_000, "huge": b'{"schema_version": %s}' % HUGE.encode(),
}  # fmt: skip
# As they stand in the text of a document in place of a value.
VALUES = (
    DEEP, "[" * 99 + "]" * 99, HUGE, f"-{HUGE}", "1e999", "NaN", "-Infinity", "1e308", "5e-324", "-1", "0", "true",
    "null", '"\\ud800"', '"yesterday"', '"0001-01-01T00:00:00"', '"\\u0000"', '""', "[]", "{}", '[{"holds": false}]',
    '{"a": [1]}', "[[1]]", '{"evidence": [{"holds": false, "check": [], "text": 5}]}',
)  # fmt: skip

# What a terminal clears its screen, moves its cursor and turns its text by, and a page loads a picture by.
ORDERS = "\x1b[2J\x9b1A\r\u202e<img src=x> \\<b> ![a](https://x) <https://x> <!-- a|b \\|c 1 <= 2"

MARKDOWN = ["--markdown", "-"]


def paths(values: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every place of a document."""
    inner = values.items() if isinstance(values, dict) else ()
    return [path, *(each for name, value in inner for each in paths(value, (*path, name)))]


def replaced(document: Any, path: tuple[str, ...], text: str) -> bytes:
    """The document with a text in place of a value."""
    changed = json.loads(json.dumps(document))
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = "here"
    return json.dumps(changed).replace('"here"', text).encode()


def invoke(*words: object) -> Result:
    ended = CliRunner().invoke(main, [str(word) for word in words])
    assert isinstance(ended.exception, SystemExit | None), words
    return ended


def runs_with(folder: Path, name: str, content: bytes | None) -> Path:
    """Four runs of `ab`, of which one has that content in a file, or a folder in its place, and their manifests."""
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(4):
        run = write_run(folder / "ab"[number % 2], number)
        Place("session", number // 2, "ab"[number % 2]).write(run)
        (run / "manifest.json").write_text(json.dumps({"sections": {"code": {"git_commit": "aaa"}}}))
        (run / "run.md").write_text("# Run\n")
    broken = folder / "a" / "20260101-000000-quick" / name
    broken.unlink(missing_ok=True)
    if content is None:
        broken.mkdir()
    else:
        broken.write_bytes(content)
    return folder


def require_that_the_others_are_shown(folder: Path) -> None:
    listed, history = invoke("list", folder / "a"), invoke("history", folder / "a")

    assert listed.exit_code == history.exit_code == 0
    assert ["20260101-000002-quick", "passed", "20,000", "10.0", "20.0"] in [
        line.split()[:5] for line in listed.output.splitlines()
    ]
    assert json.loads(invoke("list", folder / "a", "--json").output)[0]["run_id"] == "20260101-000002-quick"
    compared = invoke("compare", folder / "a", folder / "b", "--force")
    assert compared.exit_code == 3
    assert "against" in compared.output
    assert invoke("history", folder / "a", "--anchor", "quick").exit_code in (0, 2)
    assert invoke("show", "20260101-000002-quick", "--runs-folder", folder / "a").exit_code == 0
    for words in (("show",), ("show", "--json")):
        assert invoke(*words, "20260101-000000-quick", "--runs-folder", folder / "a").exit_code in (0, 2)


@pytest.mark.parametrize("name", ["result.json", "manifest.json", "pair.json", "state.json"])
@pytest.mark.parametrize("content", [*WHOLE.values(), None], ids=[*WHOLE, "folder"])
def test_a_document_that_is_none_hides_no_other_run_and_is_marked(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    folder = runs_with(tmp_path, name, content)

    require_that_the_others_are_shown(folder)
    if name != "state.json":
        assert "left out" in invoke("history", folder / "a").output
    if name in ("result.json", "state.json"):
        assert f"{name} cannot be read" in invoke("list", folder / "a").output


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), text=st.sampled_from(VALUES))
def test_a_wrong_value_anywhere_hides_no_other_run(tmp_path: Path, data: st.DataObject, text: str) -> None:
    run = runs_with(tmp_path / "runs", "state.json", b"{}") / "a" / "20260101-000000-quick"
    name = data.draw(st.sampled_from(["result.json", "result.json", "result.json", "manifest.json", "pair.json"]))
    document = json.loads((run / name).read_text())
    path = data.draw(st.sampled_from(paths(document)[1:]))

    require_that_the_others_are_shown(runs_with(tmp_path / "runs", name, replaced(document, path, text)))


def is_of_a_terminal(each: str) -> bool:
    return each not in "\n\t" and unicodedata.category(each).startswith("C")


@pytest.mark.parametrize("name", ["result.json", "manifest.json", "pair.json", "state.json"])
def test_no_text_of_a_document_is_obeyed_by_a_terminal_or_a_page(tmp_path: Path, name: str) -> None:
    file = runs_with(tmp_path / "runs", "run.md", b"\x1b[2J<img src=x>") / "a" / "20260101-000000-quick" / name
    document = json.loads(file.read_text()) if file.exists() else {"step": "measuring"}
    texts = [path for path in paths(document)[1:] if path != ("run_id",)]
    assert texts
    shown = ""

    for path in texts:
        file.write_bytes(replaced(document, path, json.dumps(ORDERS)))
        for command, *options in (["list"], ["history"], ["history", *MARKDOWN], ["history", "--anchor", ORDERS]):
            shown += invoke(command, tmp_path / "runs" / "a", *options).output
        for options in ([], MARKDOWN):
            shown += invoke("compare", tmp_path / "runs" / "a", tmp_path / "runs" / "b", "--force", *options).output
        for options in ([], ["--json"]):
            shown += invoke("show", file.parent.name, "--runs-folder", tmp_path / "runs" / "a", *options).output

    assert "\ufffd[2J" in shown
    assert not [each for each in shown if is_of_a_terminal(each)]


def test_markdown_has_texts_of_others_as_text() -> None:
    shown = markdown_view(Page("", ORDERS, (Sentences((ORDERS,)), Table(ORDERS, (ORDERS, ""), ((ORDERS, ORDERS),)))))

    assert (
        shown.count(r"\<img src=x> \\\<b> ![a]\(https://x) \<https://x> \<!-- a\|b \\\|c 1 <= 2")
        == shown.count("[2J")
        == 6
    )
    assert not [each for each in shown if is_of_a_terminal(each)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, "more than 100 levels deep"), ('{"a": ' + "[" * 101 + "]" * 101 + "}", "more than 100 levels deep"),
        (f'{{"a": {HUGE}}}', "no number of 64 bits"), ('{"a": 1e999}', "no finite number"),
        ('{"a": NaN}', "no finite number"), ("[]", "no JSON object"), (b"\xff", "can't decode"),
        ('{"a": ["\\udfff"]}', "surrogates not allowed"), ('{"\\ud800": 1}', "surrogates not allowed"),
    ],
    ids=range(9),
)  # fmt: skip
def test_what_is_no_document_is_one_error_with_its_reason(text: str | bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        json_object(text)


def test_a_document_is_read_as_it_is() -> None:
    assert json_object(b'{"a": [1, -2.5, 18446744073709551615, null, true], "b": "\\u00e9"}') == {
        "a": [1, -2.5, 2**64 - 1, None, True], "b": "é",
    }  # fmt: skip
