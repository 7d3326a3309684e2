import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from market_spread.common.documents import write_whole


def test_a_file_is_replaced_by_the_whole_new_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")

    with path.open() as reading:
        write_whole(path, "after")

        assert reading.read() == "before"
    assert path.read_text() == "after"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_gets_the_text(tmp_path: Path, there: bool) -> None:
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "page.html", tmp_path / "latest.html"
    if there:
        target.write_text("something longer than what comes")
    link.symlink_to(target)

    write_whole(link, "after")

    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_pipe_stays_and_its_reader_gets_the_text(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as reading:
        write_whole(path, "after")

        assert reading.read() == "after"
    assert path.is_fifo()


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    path = Path(os.devnull)
    if os.geteuid() == 0:  # who may replace that of the machine takes one of its own
        path = tmp_path / "null"
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))

    with suppress(PermissionError):  # of a file system that opens no devices
        write_whole(path, "after")

    assert path.is_char_device()
    assert not path.with_name("null.unfinished").exists()


def test_a_folder_is_refused_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()

    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "pages", "after")

    assert [each.name for each in tmp_path.iterdir()] == ["pages"]
