"""What we ship and build with, by package URL: read from the locks, and from the Spark that PySpark brings."""

import re
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from market_spread.common.jvm.jars import LOCK, read_lock, spark_home
from tests.support.paths import ROOT

# As OSV names them, and as package URLs do.
PYPI, MAVEN, GENERIC = "PyPI", "Maven", ""
_TYPES = {PYPI: "pypi", MAVEN: "maven", GENERIC: "generic"}
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
_REMOVED = re.compile(r"rm -f ([^&]*?) &&")


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """A package of an ecosystem of OSV; `name` of Maven is `group:artifact`. sha256: of its file, if it has one."""

    ecosystem: str
    name: str
    version: str
    sha256: str = ""

    @property
    def purl(self) -> str:
        """Its package URL (https://github.com/package-url/purl-spec)."""
        return f"pkg:{_TYPES[self.ecosystem]}/{self.name.replace(':', '/')}@{self.version}"


def locked(lock: Path) -> list[Component]:
    """The packages of a lock file of Python."""
    return [Component(PYPI, canonicalize_name(name), version) for name, version in _PIN.findall(lock.read_text())]


def jars(*groups: str, lock: Path = LOCK) -> list[Component]:
    """The jars of a lock, of these groups or of all."""
    found = (jar for jar in read_lock(lock.read_text()) if not groups or jar.group in groups)
    return [Component(MAVEN, f"{jar.organisation}:{jar.name}", jar.version, jar.sha256) for jar in found]


@cache
def spark_jars() -> tuple[Component, ...]:
    """The jars that PySpark brings, and what they say is packed into them; without those that our image removes."""
    removed = [glob for line in _REMOVED.findall((ROOT / "spark/Dockerfile").read_text()) for glob in line.split()]
    found = set()
    for path in sorted((spark_home() / "jars").glob("*.jar")):
        if not any(path.match(glob) for glob in removed):
            found |= set(_packed(path))
    return tuple(sorted(found))


def _packed(path: Path) -> Iterable[Component]:
    name, version = re.fullmatch(r"(.+?)-(\d.*)", path.stem).groups()  # type: ignore[union-attr]
    with zipfile.ZipFile(path) as jar:
        entries = jar.namelist()
        if not any(entry.endswith("/pom.properties") for entry in entries):
            yield Component(GENERIC, name, version)
        for entry in entries:
            if re.fullmatch(r"META-INF/maven/.*/pom\.properties", entry):
                said = dict(
                    line.split("=", 1) for line in jar.read(entry).decode().splitlines() if re.match(r"\w+=", line)
                )
                yield Component(MAVEN, f"{said['groupId']}:{said['artifactId']}", said["version"])


def images() -> dict[str, Path]:
    """The Dockerfile of each image."""
    text = (ROOT / ".ci/images").read_text().split('images="')[1].split('"')[0]
    return {name: ROOT / dockerfile for name, dockerfile in (line.split() for line in text.strip().splitlines())}


def of_image(name: str) -> list[Component]:
    """What an image has of packages besides its base: Python's, our own, and Spark's jars."""
    ours = re.findall(r"\./([a-z_/-]+)(?:\[[a-z,]+\])?", images()[name].read_text())
    found = locked(ROOT / "requirements" / f"{name}.txt") + [distribution(folder) for folder in ours]
    return sorted({*found, *jars("connector"), *spark_jars()} if name == "spark" else {*found})


def distribution(folder: str) -> Component:
    """A distribution of ours."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    return Component(PYPI, project["name"], project["version"])


def of_wheel(name: str) -> list[Component]:
    """What a distribution of ours needs, and that in turn, in the versions that are locked; ours among them."""
    versions = {each.name: each.version for each in locked(ROOT / "requirements/dev.txt")}
    found, needed = dict[str, Component](), [name]
    while needed:
        for text in metadata.requires(needed.pop()) or []:
            requirement = Requirement(text)
            key = canonicalize_name(requirement.name)
            if key not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found[key] = Component(PYPI, key, versions.get(key) or metadata.version(key))
                needed.append(key)
    return sorted(found.values())


def everything() -> list[Component]:
    """All that is locked: for products, images, tests and development."""
    pins = [each for lock in sorted((ROOT / "requirements").glob("*.txt")) for each in locked(lock)]
    return sorted({*pins, *jars(), *spark_jars()})
