"""The driver process: what it leaves behind."""

from pathlib import Path

import pytest

from market_spread.streaming.driver import __main__ as driver


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The folders that a job was given; each job writes a file and fails."""
    given: list[Path] = []

    def run_job(_config: object, folder: Path) -> None:
        given.append(folder)
        (folder / "librocksdbjni").write_text("unpacked")
        raise RuntimeError("the job failed")

    monkeypatch.setattr(driver, "_run_job", run_job)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("MARKET_SPREAD_BOOTSTRAP_SERVERS", "nowhere:1")
    monkeypatch.setenv("MARKET_SPREAD_CHECKPOINT", "/nowhere")
    return given


def test_temporary_files_are_removed_with_the_driver_also_when_it_fails(tmp_path: Path, folders: list[Path]) -> None:
    with pytest.raises(RuntimeError):
        driver._run()

    assert [folder.parent for folder in folders] == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_the_operator_is_left_to_the_operator(
    tmp_path: Path, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKET_SPREAD_LOCAL_FOLDER", str(tmp_path))

    with pytest.raises(RuntimeError):
        driver._run()

    assert folders == [tmp_path]
    assert [path.name for path in tmp_path.iterdir()] == ["librocksdbjni"]
