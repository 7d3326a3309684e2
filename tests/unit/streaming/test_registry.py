"""Applications by name, and by the file and function of somebody else."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.streaming.applications.registry import BY_NAME, find

OWN = """
from market_spread.streaming import Sink, Source, Text

def mine():
    return Source("in", Text()).to_sink(Sink("out", Text()), name="mine")

def nothing():
    return None
"""


@pytest.mark.parametrize("name", BY_NAME)
def test_every_application_is_found_and_named_alike(name: str) -> None:
    assert find(name).name == name


def test_function_in_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "own_mine.py").write_text(OWN)

    assert find(f"{tmp_path / 'own_mine.py'}:mine").name == "mine"


@pytest.mark.parametrize(
    ("application", "said"),
    [
        ("word_cuont", "no application 'word_cuont'; use market_spread, market_spread_all_decisions, word_count, "
         "or file.py:function"),
        ("{folder}/none.py:mine", "'{folder}/none.py:mine' names no Python file and function that are there; "
         "use folder/file.py:function"),
        ("{folder}/own.py:yours", "{folder}/own.py has no function 'yours'; name one that it has"),
        ("{folder}/own.py:nothing", "{folder}/own.py:nothing returns NoneType; let it return what to_sink returns"),
        ("{folder}/broken.py:mine", "{folder}/broken.py:1: {folder}/broken.py:mine raised NameError: "
         "name 'mien' is not defined; mend it there"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told(tmp_path: Path, application: str, said: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("mien()\n")

    with pytest.raises(UsageError) as raised:
        find(application.format(folder=tmp_path))

    assert str(raised.value) == said.format(folder=tmp_path)
