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
        "  source numbers: counter, sequence, value",
        "    key by counter",
        "  running total total",
        "  sink totals",
        "  does not run in real-time: 'total' cannot drop repeated rows of 'numbers' in real-time; "
        "declare no sequence, or use micro-batch",
        "  runs in micro-batch",
    ]


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
        (["pipeline", "word_count", "--input", "lines=/no/such.txt"], "No such file or directory: /no/such.txt"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.splitlines()) == 1
