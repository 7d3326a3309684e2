"""What the build of Spark's image does to its jars."""

import platform
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest

JARS: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[3] / "spark" / "image" / "jars.py"))
KEPT = JARS["NATIVE"]["x86_64"]


def jar(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, name)


def names_in(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as file:
        return file.namelist()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    jar(tmp_path / "rocksdbjni-1.jar", "a.class", KEPT["rocksdbjni"], "librocksdbjni-win64.dll")
    jar(tmp_path / "zstd-jni-1.jar", "b.class", "linux/amd64/z.so", "darwin/x86_64/z.dylib")
    for number in range(30):
        jar(tmp_path / f"some-long-name-of-a-jar-{number}.jar", "c.class")
    JARS["main"](tmp_path)
    return tmp_path


def test_native_code_of_other_machines_is_left_out(folder: Path) -> None:
    assert names_in(folder / "all" / "rocksdbjni-1.jar") == ["a.class", KEPT["rocksdbjni"]]
    assert names_in(folder / "all" / "zstd-jni-1.jar") == ["b.class", "linux/amd64/z.so"]


def test_one_jar_names_all_the_others_in_order(folder: Path) -> None:
    with zipfile.ZipFile(folder / "all.jar") as file:
        manifest = file.read("META-INF/MANIFEST.MF").decode()

    (key, _, value) = manifest.replace("\n ", "").splitlines()[1].partition(": ")
    assert max(len(line) for line in manifest.splitlines()) <= 72
    assert key == "Class-Path"
    assert value.split() == sorted(f"all/{path.name}" for path in (folder / "all").iterdir())
    assert [path.name for path in folder.glob("*.jar")] == ["all.jar"]
