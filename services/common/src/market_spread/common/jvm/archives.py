"""The JVMs of broker and job on this machine, and the archives that spare them the loading of classes."""

import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.config import home_folder
from market_spread.common.jvm.jars import JarCache, Java, spark_home


@dataclass(frozen=True, slots=True)
class LocalJvms:
    """What the JVMs of broker and job are started with. Each reads its archive, unless a jar has changed since."""

    java: Java
    jars: JarCache
    job_archive: Path
    broker_archive: Path

    @property
    def class_path(self) -> str:
        """Of Spark's Kafka connector; in a job's it comes before Spark's own jars."""
        return os.pathsep.join(map(str, self.jars.paths("connector")))

    @property
    def job_environment(self) -> dict[str, str]:
        """What Spark needs to find this Java, and to listen on loopback; of its UI no setting says so."""
        return {"JAVA_HOME": str(self.java.executable.resolve().parent.parent), "SPARK_LOCAL_IP": "127.0.0.1"}

    def job_options(self, *more: str | None) -> str:
        """The options of a job's JVM, with its archive, as one text."""
        archive = shlex.quote(f"-XX:SharedArchiveFile={self.job_archive}")
        return " ".join(option for option in (archive, *more) if option)

    @property
    def broker_option(self) -> str:
        return f"-XX:SharedArchiveFile={self.broker_archive}"


def named_jvms(java: Java, jars: JarCache, folder: Path | None = None) -> LocalJvms:
    """The JVMs with the names of archives that fit them, which need not be there. UsageError if a jar is missing."""
    folder = folder or home_folder("class-archives")
    key = _key(java, [*jars.paths("connector"), *jars.paths("broker"), *jars_of_spark()])
    return LocalJvms(java, jars, folder / f"{key}.job.jsa", folder / f"{key}.broker.jsa")


def jars_of_spark() -> list[Path]:
    """Spark's own, in the order of a job's class path, which is the folder's."""
    return list((spark_home() / "jars").glob("*.jar"))


def _key(java: Java, jars: Sequence[Path]) -> str:
    """A hash of Java's build and of these very files, in this order.

    A JVM looks for the jars of its archive by their paths, and compares size and time. So an archive serves one
    environment alone, even where several have links to the same jars: it is refused once that environment is gone.
    """
    stats = [(str(path), path.stat()) for path in jars]
    files = [(path, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    return hashlib.sha256(repr((java.build, files)).encode()).hexdigest()[:16]
