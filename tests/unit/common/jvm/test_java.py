"""Finding Java: which one, whether it is new enough, and one sentence if not."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.jvm.jars import REMEDY, find_java

INSTALL = "install Java 17 or newer, on Debian: apt-get install openjdk-17-jre-headless"


def java_in(folder: Path, answer: str) -> Path:
    """A program that answers as `java -version` does: on standard error."""
    executable = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    executable.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\n")
    executable.chmod(0o755)
    return executable


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ('openjdk version "17.0.13" 2024-10-15\nOpenJDK Runtime Environment (build 17.0.13+11-Debian)', 17),
        ('openjdk version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "18.0.2.1" 2022-08-18', 18),
        ('Picked up JAVA_TOOL_OPTIONS: -Dversion=8\nopenjdk version "17.0.13" 2024-10-15', 17),
    ],
)
def test_java_on_the_path_is_found_with_its_version(tmp_path: Path, answer: str, version: int) -> None:
    executable = java_in(tmp_path, answer)

    java = find_java(search_path=str(tmp_path))

    assert (java.executable, java.version) == (executable, version)


def test_a_build_is_the_same_with_options_that_change_how_it_describes_itself(tmp_path: Path) -> None:
    build = (
        "OpenJDK Runtime Environment (build 17.0.15+6-Debian)\nOpenJDK 64-Bit Server VM (build 17.0.15+6-Debian, mixed"
    )
    plain = f'openjdk version "17.0.15" 2025-04-15\n{build} mode, sharing)'
    with_options = (
        f"NOTE: Picked up JDK_JAVA_OPTIONS: -XX:TieredStopAtLevel=1\n{plain.replace('mode', 'mode, emulated-client')}"
    )
    java_in(tmp_path / "plain", plain)
    java_in(tmp_path / "options", with_options)
    java_in(tmp_path / "other", plain.replace("15+6", "16+8"))

    builds = [find_java(search_path=str(tmp_path / name)).build for name in ("plain", "options", "other")]

    assert builds[0] == builds[1] == "17.0.15+6-Debian, 17.0.15+6-Debian"
    assert builds[2] != builds[0]


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    java_in(tmp_path / "path", 'openjdk version "17.0.1"')
    at_home = java_in(tmp_path / "home" / "bin", 'openjdk version "21.0.1"')

    java = find_java(str(tmp_path / "home"), search_path=str(tmp_path / "path"))

    assert (java.executable, java.version) == (at_home, 21)


def test_missing_java_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        find_java(search_path=str(tmp_path))

    assert str(raised.value) == f"no Java is on the path; {INSTALL}"
    assert INSTALL == REMEDY


def test_java_home_without_java_is_not_passed_over(tmp_path: Path) -> None:
    java_in(tmp_path, 'openjdk version "21.0.1"')

    with pytest.raises(UsageError) as raised:
        find_java(str(tmp_path / "home"), search_path=str(tmp_path))

    assert str(raised.value) == f"no Java at {tmp_path / 'home' / 'bin' / 'java'}; {INSTALL}"


@pytest.mark.parametrize(
    ("answer", "version"), [('openjdk version "16.0.2"', 16), ('openjdk version "11.0.22" 2024-01-16', 11)]
)
def test_java_that_is_too_old_is_refused_with_its_version(tmp_path: Path, answer: str, version: int) -> None:
    executable = java_in(tmp_path, answer)

    with pytest.raises(UsageError) as raised:
        find_java(search_path=str(tmp_path))

    assert str(raised.value) == f"{executable} is Java {version}; {INSTALL}"


def test_java_8_is_too_old(tmp_path: Path) -> None:
    java_in(tmp_path, 'java version "1.8.0_392"')

    with pytest.raises(UsageError, match=f"; {INSTALL}$"):
        find_java(search_path=str(tmp_path))


def test_program_that_does_not_say_its_version_is_refused(tmp_path: Path) -> None:
    executable = java_in(tmp_path, "Error: could not find libjava.so")

    with pytest.raises(UsageError) as raised:
        find_java(search_path=str(tmp_path))

    assert str(raised.value) == f"{executable} does not say its version; {INSTALL}"


@pytest.mark.parametrize(
    ("mode", "reason"), [(0o644, "Permission denied"), (0o755, "Exec format error")], ids=["no program", "no format"]
)
def test_java_that_cannot_be_executed_is_one_sentence(tmp_path: Path, mode: int, reason: str) -> None:
    executable = tmp_path / "bin" / "java"
    executable.parent.mkdir()
    executable.write_bytes(b"\x00nothing that runs")
    executable.chmod(mode)

    with pytest.raises(UsageError) as raised:
        find_java(str(tmp_path))

    assert str(raised.value) == f"{executable} cannot be executed: {reason}; {INSTALL}"
