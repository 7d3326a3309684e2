"""The record of the originals on disk."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.host_tuner.tree import Originals, RecordFile

BOOT = "fd3edfe3"


@pytest.fixture
def record(tmp_path: Path) -> RecordFile:
    return RecordFile(tmp_path / "originals.json")


def test_what_is_noted_is_there_for_the_next_process_byte_for_byte(record: RecordFile) -> None:
    texts = {"a": "always [madvise] never\n", "b": "no newline", "c": "\udcff\x00\n"}

    Originals(record, BOOT).note(texts)

    assert Originals(record, BOOT).paths == texts.keys()
    assert Originals(record, BOOT)._texts == texts


def test_the_first_text_of_a_file_is_kept(record: RecordFile) -> None:
    Originals(record, BOOT).note({"a": "60\n"})

    Originals(record, BOOT).note({"a": "10\n", "b": "1\n"})

    assert Originals(record, BOOT)._texts == {"a": "60\n", "b": "1\n"}


def test_what_an_unfinished_write_left_behind_changes_nothing(record: RecordFile, tmp_path: Path) -> None:
    Originals(record, BOOT).note({"a": "60\n"})
    (tmp_path / ".originals.json.new").write_text('{"boot_id": "fd3')

    Originals(record, BOOT).note({"b": "1\n"})

    assert Originals(record, BOOT).paths == {"a", "b"}


def test_nothing_is_left_when_all_is_forgotten(record: RecordFile, tmp_path: Path) -> None:
    originals = Originals(record, BOOT)
    originals.note({"a": "60\n"})

    originals.forget(["a"])

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot_id": "fd3edfe3"}', '{"boot_id": "fd3edfe3", "files": 3}'])
def test_a_damaged_record_is_refused_so_that_nothing_is_written(record: RecordFile, tmp_path: Path, text: str) -> None:
    (tmp_path / "originals.json").write_text(text)

    with pytest.raises(UsageError, match="original settings are damaged; reboot the host"):
        Originals(record, BOOT)
