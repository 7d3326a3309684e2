"""A mistake in a file of the user's is one sentence with its file and line."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.user_functions import load_function, user_errors


def file_with(folder: Path, text: str, name: str = "own_file.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_function_is_found_and_its_file_may_import_its_neighbours(tmp_path: Path) -> None:
    file_with(tmp_path, "RATE = 7\n", "own_neighbour.py")
    path = file_with(tmp_path, "from own_neighbour import RATE\n\ndef rate():\n    return RATE\n")
    assert load_function(f"{path}:rate")() == 7


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    path = file_with(tmp_path, "value = 1\n")
    with pytest.raises(UsageError, match=r"no function 'rate'; name one"):
        load_function(f"{path}:rate")
    with pytest.raises(UsageError, match=r"use folder/file.py:function"):
        load_function(f"{tmp_path}/none.py:rate")
    with pytest.raises(UsageError, match=r"use folder/file.py:function"):
        load_function(path)


def test_what_a_file_raises_has_its_line(tmp_path: Path) -> None:
    path = file_with(tmp_path, "a = 1\nb = a / 0\n")
    with pytest.raises(UsageError, match=r"own_file.py:2: .* raised ZeroDivisionError: division by zero; mend it"):
        load_function(f"{path}:rate")


def test_a_file_that_is_no_python_has_its_line(tmp_path: Path) -> None:
    path = file_with(tmp_path, "a = 1\ndef f(:\n")
    with pytest.raises(UsageError, match=r"own_file.py:2: .* raised SyntaxError"):
        load_function(f"{path}:f")


def test_what_a_function_raises_has_the_line_in_its_own_file(tmp_path: Path) -> None:
    path = file_with(tmp_path, "import json\n\ndef read(text):\n    return json.loads(text)\n")
    read = load_function(f"{path}:read")
    with pytest.raises(UsageError, match=r"own_file.py:4: .*:read raised JSONDecodeError"), user_errors(f"{path}:read"):
        read("{")


def test_what_a_file_prints_is_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_with(tmp_path, "print('loaded')\n\ndef read():\n    print('read')\n")
    read = load_function(f"{path}:read")
    with user_errors(f"{path}:read"):
        read()
    assert capsys.readouterr() == ("", "loaded\nread\n")
