"""The archives of the JVMs of job and broker: made once, again when they do not fit, and kept by use."""

import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import Jar, JarCache, Java
from market_spread.controller.deploy.local.jvms import local_jvms

JAVA = Java(Path("/opt/java/bin/java"), 17, "17.0.15+6")


class Maker:
    def __init__(self) -> None:
        self.made: list[Path] = []

    def __call__(self, jvms: LocalJvms) -> None:
        self.made.append(jvms.job_archive)
        for archive in (jvms.job_archive, jvms.broker_archive):
            archive.write_bytes(b"classes")


def jars_with(folder: Path, content: bytes) -> JarCache:
    sha256 = hashlib.sha256(content).hexdigest()
    jars = tuple(Jar(group, "org.example", group, "1", sha256) for group in ("connector", "broker"))
    folder.mkdir(exist_ok=True)
    for jar in jars:
        (folder / jar.file_name).write_bytes(content)
    return JarCache(folder, jars)


def test_an_archive_is_made_once_and_given_to_the_jvm(tmp_path: Path) -> None:
    make, jars = Maker(), jars_with(tmp_path / "jars", b"one")

    first, second = (local_jvms(JAVA, jars, tmp_path / "archives", make) for _ in range(2))

    assert first == second
    assert make.made == [first.job_archive]
    assert first.job_options("-Xlog:gc", None) == f"-XX:SharedArchiveFile={first.job_archive} -Xlog:gc"
    assert first.broker_option == f"-XX:SharedArchiveFile={first.broker_archive}"
    assert first.class_path == str(tmp_path / "jars" / "org.example+connector-1.jar")


def test_another_jar_or_another_java_gets_an_archive_of_its_own(tmp_path: Path) -> None:
    make, folder = Maker(), tmp_path / "archives"
    local_jvms(JAVA, jars_with(tmp_path / "jars", b"one"), folder, make)
    local_jvms(JAVA, jars_with(tmp_path / "jars", b"another"), folder, make)
    local_jvms(replace(JAVA, build="17.0.16+8"), jars_with(tmp_path / "jars", b"another"), folder, make)

    assert len(set(make.made)) == 3


def test_the_same_jars_at_another_place_get_an_archive_of_their_own(tmp_path: Path) -> None:
    """Environments share jars by links; a JVM refuses an archive of jars in an environment that is gone."""
    make, jars = Maker(), jars_with(tmp_path / "jars", b"one")
    (tmp_path / "linked").mkdir()
    for jar in (tmp_path / "jars").iterdir():
        os.link(jar, tmp_path / "linked" / jar.name)

    local_jvms(JAVA, jars, tmp_path / "archives", make)
    local_jvms(JAVA, JarCache(tmp_path / "linked", jars.jars), tmp_path / "archives", make)

    assert len(set(make.made)) == 2


def test_those_that_were_not_used_for_longest_go(tmp_path: Path) -> None:
    make, jars = Maker(), jars_with(tmp_path / "jars", b"one")
    for age_s in range(5):
        made = local_jvms(replace(JAVA, build=f"{age_s}"), jars, tmp_path / "archives", make)
        for archive in (made.job_archive, made.broker_archive):
            os.utime(archive, (1_000_000 + age_s, 1_000_000 + age_s))

    assert {path for path in make.made if path.exists()} == set(make.made[2:])
    assert len(list((tmp_path / "archives").iterdir())) == 6


def test_archives_that_cannot_be_checked_are_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make, jars = Maker(), jars_with(tmp_path / "jars", b"one")
    gone = replace(JAVA, executable=tmp_path / "java")
    made = local_jvms(gone, jars, tmp_path / "archives", make)

    local_jvms(gone, jars, tmp_path / "archives", make, checked=True)

    assert make.made == [made.job_archive, made.job_archive]
    (record,) = caplog.records
    assert record.message.startswith(f"{made.job_archive} cannot be checked: No such file or directory; ")


def test_a_missing_jar_is_an_error_and_makes_nothing(tmp_path: Path) -> None:
    make, jars = Maker(), jars_with(tmp_path / "jars", b"one")
    (tmp_path / "jars" / "org.example+connector-1.jar").unlink()

    with pytest.raises(UsageError, match="make setup"):
        local_jvms(JAVA, jars, tmp_path / "archives", make)
    assert not make.made


def test_an_archive_that_another_process_removed_leaves_no_empty_one(tmp_path: Path) -> None:
    """An empty file would be given to every JVM, and never be made again."""
    jvms = local_jvms(JAVA, jars_with(tmp_path / "jars", b"one"), tmp_path / "archives", lambda jvms: None)

    assert not jvms.job_archive.exists()


def test_what_cannot_be_made_is_told_and_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    jvms = local_jvms(JAVA, jars_with(tmp_path / "jars", b"one"), tmp_path / "archives")

    assert not jvms.job_archive.exists()
    making, failed = (record.message for record in caplog.records)
    assert making == f"a minute more, once: archives of the JVMs' classes are made in {tmp_path / 'archives'}"
    assert failed.startswith(f"the archives of classes in {tmp_path / 'archives'} could not be made")
