"""The peers' Java: their jars, pinned, and their sources, compiled once by the JDK of this machine."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import market_spread.systems
from market_spread.common.config import home_folder
from market_spread.common.errors import UsageError
from market_spread.common.jvm.jars import JarCache, Java, read_lock

LOCK = Path(market_spread.systems.__file__).with_name("jars.lock")


def jars(group: str, java: Java) -> list[Path]:
    """The peers' jars of a group, fetched if they are not in the cache. UsageError if they cannot be had."""
    cache = JarCache(jars=tuple(jar for jar in read_lock(LOCK.read_text()) if jar.group == group))
    cache.fetch(java)
    return cache.paths(group)


def compiled(sources: Sequence[Path], class_path: Sequence[Path], java: Java) -> Path:
    """A jar of the classes of these sources, made anew when one of them or what they are compiled against changes.

    It is named after the first.
    """
    content = b"\0".join(source.read_bytes() for source in sources)
    digest = hashlib.sha256(content + os.pathsep.join(path.name for path in class_path).encode())
    jar = home_folder("peers") / f"{sources[0].stem}-{digest.hexdigest()[:12]}.jar"
    if not jar.exists():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            _compile(sources, class_path, Path(folder), java)
            _pack(Path(folder), jar)
    return jar


def _compile(sources: Sequence[Path], class_path: Sequence[Path], folder: Path, java: Java) -> None:
    compiler = java.executable.resolve().with_name("javac")
    if not compiler.exists():
        raise UsageError(
            f"no javac beside {java.executable}; install a JDK, on Debian: apt-get install openjdk-17-jdk-headless"
        )
    words = [compiler, "-d", folder, "-cp", os.pathsep.join(map(str, class_path)), *sources]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode:
        raise UsageError(f"{sources[0].name} does not compile: {ended.stderr.strip()[-500:]}")


def _pack(folder: Path, jar: Path) -> None:
    unfinished = folder / "classes.zip"
    with zipfile.ZipFile(unfinished, "w") as packed:
        for path in sorted(folder.rglob("*.class")):
            packed.write(path, path.relative_to(folder))
    shutil.move(unfinished, jar)
