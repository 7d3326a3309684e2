"""Java, and the jars of broker and connector: fetched once by the Ivy of PySpark, checked against pinned SHA-256."""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from market_spread.common.config import home_folder
from market_spread.common.errors import UsageError, usage_errors

VERSION_MIN = 17
REMEDY = f"install Java {VERSION_MIN} or newer, on Debian: apt-get install openjdk-17-jre-headless"
LOCK = Path(__file__).with_name("jars.lock")
FETCH_TIMEOUT_S = 900
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that is new enough; version: the major one; build: of which build it is, whatever options it is given."""

    executable: Path
    version: int
    build: str = ""


def find_java(java_home: str | None = None, search_path: str | None = None) -> Java:
    """The Java of `java_home`, else the one on the path. UsageError if there is none, or none that serves."""
    found = Path(java_home) / "bin" / "java" if java_home else shutil.which("java", path=search_path)
    if not found or not Path(found).exists():
        raise UsageError(f"no Java at {found}; {REMEDY}" if java_home else f"no Java is on the path; {REMEDY}")
    with usage_errors(f"{found} cannot be executed", REMEDY):
        answer = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=30, check=False)
    match = re.search(r'version "(\d+)', answer.stderr)
    if match is None:
        raise UsageError(f"{found} does not say its version; {REMEDY}")
    version = int(match.group(1))
    if version < VERSION_MIN:
        raise UsageError(f"{found} is Java {version}; {REMEDY}")
    return Java(Path(found), version, ", ".join(re.findall(r"\(build ([^,)]+)", answer.stderr)))


def spark_home() -> Path:
    """Where PySpark has its Spark. UsageError without PySpark."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise UsageError("PySpark is not installed; install everything with: make setup")
    return Path(pyspark.origin).parent


@dataclass(frozen=True, slots=True)
class Jar:
    """A pinned jar. `group` says what it is for: `broker`, `metrics` (of the broker) or `connector`."""

    group: str
    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.organisation}+{self.name}-{self.version}.jar"


def read_lock(text: str) -> tuple[Jar, ...]:
    """The jars of a lock file: a line each, `group organisation:name:version sha256`."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Jar(*re.split(r"[\s:]+", line)) for line in lines)


class JarCache:
    """A folder of jars that were checked when they came, and are checked again when they are used."""

    def __init__(self, folder: Path | None = None, jars: tuple[Jar, ...] | None = None) -> None:
        self.folder = folder or home_folder("jars")
        self.jars = jars if jars is not None else read_lock(LOCK.read_text("utf-8"))

    def paths(self, group: str) -> list[Path]:
        """The jars of a group. UsageError if one is missing or altered."""
        return [self._checked(jar) for jar in self.jars if jar.group == group]

    def missing(self) -> list[Jar]:
        """The jars that are not in the folder as pinned."""
        return [jar for jar in self.jars if self._digest(jar) != jar.sha256]

    def fetch(self, java: Java) -> int:
        """Fetch what is missing; returns how many. UsageError if one cannot be had or is not what was pinned."""
        missing = self.missing()
        if not missing:
            return 0
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            # By group: within one module Ivy keeps only the newest version of a name. It fetches one after another.
            groups = [[jar for jar in missing if jar.group == group] for group in sorted({it.group for it in missing})]
            parts = [part for jars in groups for at in range(_AT_ONCE) if (part := jars[at::_AT_ONCE])]
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                done = [pool.submit(_retrieve, part, java, Path(scratch), f"{at}") for at, part in enumerate(parts)]
            for each in done:
                each.result()
            for jar in missing:
                fetched = Path(scratch) / jar.file_name
                if not fetched.exists():
                    raise UsageError(f"{jar.file_name} could not be fetched; check the network, then run it again")
                shutil.move(fetched, self.folder / jar.file_name)
                self._checked(jar)
        return len(missing)

    def _checked(self, jar: Jar) -> Path:
        path, digest = self.folder / jar.file_name, self._digest(jar)
        if digest is None:
            raise UsageError(f"the jar {path} is missing; fetch it with: make setup")
        if digest != jar.sha256:
            raise UsageError(
                f"the jar {path} has SHA-256 {digest}, pinned is {jar.sha256}; "
                "delete it and fetch it again with: make setup"
            )
        return path

    def _digest(self, jar: Jar) -> str | None:
        try:
            with (self.folder / jar.file_name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return None


def _retrieve(jars: list[Jar], java: Java, folder: Path, name: str) -> None:
    """Into the folder, by an Ivy whose own files there have this name."""
    if not (ivy := sorted((spark_home() / "jars").glob("ivy-*.jar"))):
        raise UsageError(f"there is no Ivy in {spark_home() / 'jars'}; install again with: make setup")
    module, log, ivy_cache = folder / f"{name}.xml", folder / f"{name}.log", folder / name
    module.write_text(_ivy_module(jars), "utf-8")
    pattern = folder / "[organisation]+[artifact]-[revision].[ext]"
    with log.open("w", encoding="utf-8") as output:
        ended = subprocess.run(
            [java.executable, "-jar", ivy[-1], "-cache", ivy_cache, "-ivy", module, "-retrieve", pattern],
            stdout=output, stderr=subprocess.STDOUT, timeout=FETCH_TIMEOUT_S, check=False,
        )  # fmt: skip
    if ended.returncode:
        reasons = [
            line.strip() for line in log.read_text("utf-8").splitlines() if "not found" in line or "ERROR" in line
        ]
        raise UsageError(
            f"Ivy could not fetch the jars ({'; '.join(reasons[:3])}); check the network, then run it again"
        )


def _ivy_module(jars: list[Jar]) -> str:
    """An Ivy file that asks for each jar alone: parent POMs may list repositories that cannot be reached."""
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)} "
        'transitive="false" conf="default->master"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="market-spread" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def main(group: str, folder: str) -> None:
    """Fetch the jars of a group into a folder: `python -m market_spread.common.jvm.jars GROUP FOLDER`, for images."""
    jars = tuple(jar for jar in read_lock(LOCK.read_text("utf-8")) if jar.group == group)
    JarCache(Path(folder), jars).fetch(find_java())


if __name__ == "__main__":
    main(*sys.argv[1:])
