"""What the command line says of pipelines before anything is started."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from market_spread.common.errors import UsageError
from market_spread.controller.cli.main import main
from market_spread.controller.session.pipeline import describe, inputs_of
from tests.support.pipelines import named


def test_describe_names_the_modes_and_why_one_does_not_do() -> None:
    _, text = describe(named("counting"))

    assert text.splitlines() == [
        "counting",
        "  source numbers: counter string, sequence bigint, value bigint",
        "    key by counter",
        "  running total total; keeps a number for each key, for ever",
        "  sink totals",
        "  does not run in real-time: 'total' cannot drop repeated rows of 'numbers' in real-time; "
        "declare no sequence, or use micro-batch",
        "  runs in micro-batch",
    ]


def test_describe_says_what_else_one_should_know() -> None:
    document, text = describe("market_spread")

    by_arrival = "'newest quote' joins by arrival, not by time, as rows do not wait for each other"
    assert text.splitlines()[-2:] == [f"  runs in real-time; {by_arrival}", "  runs in micro-batch"]
    assert document["remarks"] == {"real-time": [by_arrival], "micro-batch": []}


WRONG = """
from pyspark.sql import functions as F
from market_spread.streaming import Filter, FlatMap, Map, Pipeline, RangeWindow, Row, Sink, Source, Text

def made(step=None, keep=None) -> Pipeline:
    rows = Source("lines", Text())
    return (rows.to(step) if step else rows).to_sink(Sink("out", Text(), keep=keep), name="wrong")

def attribute(): return made(Map("cut", {"x": lambda row: F.lower(row.txt)}))
def item(): return made(Map("cut", {"x": lambda row: F.lower(row["txt"])}))
def column(): return made(Map("cut", {"x": lambda row: F.transform(row.text, lambda it: it + F.col("txt"))}))
def raised(): return made(Map("cut", {"x": lambda row: 1 // 0}))
def of_spark(): return made(FlatMap("cut", lambda row: F.split(row.text), into="word"))
def of_sink(): return made(keep=lambda row: row.txt == "a")
def right(): return made(Map("cut", {"x": lambda row: F.struct(row.text, F.col("read_us")), "y": lambda row: F.lit(1)}))
def in_window():
    cut = Source("lines", Text()).to(Map("cut", {"at": lambda row: F.unix_micros(F.current_timestamp())}))
    window = RangeWindow("w", size_s=1, aggregates={"n": lambda row: F.sum(row.amount)})
    return cut.timed_by("at").key_by("text").to(window).to_sink(Sink("out", Text("{n}")), name="wrong")
def truth(): return made(Filter("some", lambda row: row.text is not None))
def nothing(): return made(Map("cut", {"x": lambda row: print(end="")}))
"""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("attribute", "wrong.py:9: 'cut' reads the field 'txt'; the rows have text; did you mean 'text'?"),
        ("item", "wrong.py:10: 'cut' reads the field 'txt'; the rows have text; did you mean 'text'?"),
        ("column", "'cut' reads the field 'txt'; the rows have text; did you mean 'text'?"),
        ("raised", "wrong.py:12: a function of 'cut' raised ZeroDivisionError: integer"),
        ("of_spark", "wrong.py:13: a function of 'cut' raised TypeError: split() missing 1 required"),
        ("of_sink", "wrong.py:14: 'out' reads the field 'txt'; the rows have text; did you mean 'text'?"),
        ("truth", "a function of 'some' returned True; let it return a column, such as F.lit(True)"),
        ("nothing", "a function of 'cut' returned None; let it return a column, such as F.lit(True)"),
        ("in_window", "wrong.py:18: 'w' reads the field 'amount'; the rows have text, at"),
    ],
)
def test_mistakes_in_functions_of_columns_are_told_before_anything_starts(
    tmp_path: Path, function: str, said: str
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)

    result = CliRunner().invoke(main, ["describe", f"{tmp_path}/wrong.py:{function}"])

    assert result.exit_code == 2
    assert said in result.stderr


def test_right_functions_of_columns_are_not_blamed(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)

    assert CliRunner().invoke(main, ["describe", f"{tmp_path}/wrong.py:right"]).exit_code == 0


def test_inputs_are_files_by_source() -> None:
    assert inputs_of(["a=one.txt", "b=x=y"]) == {"a": Path("one.txt"), "b": Path("x=y")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lines"], "--input 'lines'; use SOURCE=FILE"),
        (["=file"], "--input '=file'; use SOURCE=FILE"),
        (["a=1", "a=2"], "--input names the source 'a' twice; join the files"),
    ],
)
def test_wrong_inputs_are_told(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        inputs_of(arguments)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["describe", "juggling"], "no application 'juggling'"),
        (["pipeline", named("counting"), "--mode", "real-time"], "'total' cannot drop repeated rows of 'numbers'"),
        (["pipeline", "word_count", "--input", "words=x"], "word_count has no source 'words'; it has lines"),
        (["pipeline", "word_count"], "word_count has no input; give its sources files: --input lines=FILE"),
        (["pipeline", "market_spread"], "give its sources files: --input nbbo=FILE --input orders=FILE"),
        (
            ["pipeline", "word_count", "--input", "lines=/no/such.txt"],
            "cannot be read: No such file or directory; name a file",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.splitlines()) == 1
