"""The JVM of a job on this machine: its class path, and the archive that spares it the loading of classes."""

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from market_spread.common.config import home_folder, inherited_environment
from market_spread.common.errors import UsageError
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import Java

_MAKE_TIMEOUT_S = 300
_ARCHIVES_KEPT = 2


@dataclass(frozen=True, slots=True)
class JobJvm:
    """What a job's JVM is started with. class_path: of Spark's Kafka connector; it comes before Spark's own jars."""

    java: Java
    class_path: str
    archive: Path

    @property
    def environment(self) -> dict[str, str]:
        """What Spark needs to find this Java."""
        return {"JAVA_HOME": str(self.java.executable.resolve().parent.parent)}

    def options(self, *more: str | None) -> str:
        """The JVM's options, with the archive, which it reads unless a jar has changed since."""
        archive = shlex.quote(f"-XX:SharedArchiveFile={self.archive}")
        return " ".join(option for option in (archive, *more) if option)


def job_jvm(
    java: Java, jars: JarCache, folder: Path | None = None, make: Callable[[JobJvm], None] | None = None
) -> JobJvm:
    """The JVM of jobs. Its archive is made if none fits these jars and this Java, which takes some 20 seconds, once.

    Archives are in the folder, by default in the user's cache, where only the last ones used stay; make: how one is
    made, by default with Spark. UsageError if a jar is missing or the archive cannot be made.
    """
    connector, folder = jars.paths("connector"), folder or home_folder("class-archives")
    archive = folder / f"{_key(java, [*connector, *_jars_of_spark()])}.jsa"
    jvm = JobJvm(java, os.pathsep.join(str(path) for path in connector), archive)
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (make or _make)(jvm)
    with suppress(FileNotFoundError):  # another process made room
        os.utime(archive)
    for old in sorted(folder.glob("*.jsa"), key=lambda path: -path.stat().st_mtime)[_ARCHIVES_KEPT:]:
        old.unlink(missing_ok=True)
    return jvm


def _jars_of_spark() -> list[Path]:
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise UsageError("PySpark is not installed; install everything with: make setup")
    return list((Path(pyspark.origin).parent / "jars").glob("*.jar"))  # in the class path's order: the folder's


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Of these very files, in this order: a JVM compares them, by inode, size and time, with those of the archive."""
    stats = [path.stat() for path in jars]
    files = [(path.name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in zip(jars, stats, strict=True)]
    return hashlib.sha256(repr((java.build, files)).encode()).hexdigest()[:16]


def _make(jvm: JobJvm) -> None:
    unfinished = jvm.archive.with_suffix(f".{os.getpid()}")
    command = [sys.executable, "-m", "market_spread.streaming.class_archive", str(unfinished), jvm.class_path]
    own = {"JDK_JAVA_OPTIONS": "", "SPARK_LOCAL_IP": "127.0.0.1", **jvm.environment}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        subprocess.run(command, env={**inherited_environment(), **own}, timeout=_MAKE_TIMEOUT_S, check=True, **pipes)
        unfinished.rename(jvm.archive)
    except (OSError, subprocess.SubprocessError) as error:
        said = (str(getattr(error, "output", None) or "").strip() or str(error)).splitlines()[-1]
        raise UsageError(f"the archive of Spark's classes {jvm.archive} could not be made: {said}") from error
    finally:
        unfinished.unlink(missing_ok=True)
