"""What is known against packages: advisories in OSV's format (https://ossf.github.io/osv-schema); dated exceptions."""

import json
import re
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import total_ordering
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from tests.supply.inventory import PYPI, Component

Advisory = Mapping[str, Any]
# Words of GitHub's reviewers; a record without one is taken for the worst.
UNKNOWN = "UNKNOWN"
REFUSED = ("HIGH", "CRITICAL", UNKNOWN)
_ORDER = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "milestone": 2, "m": 2, "rc": 3, "cr": 3, "snapshot": 4}
_RELEASE = {"": 5, "ga": 5, "final": 5, "release": 5, "sp": 6}


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class MavenVersion:
    """A version in Maven's order ("Version Order Specification" in Maven's POM reference), for releases."""

    text: str

    def _key(self) -> list[tuple[int, int, str]]:
        found = re.findall(r"\d+|[a-z]+", self.text.lower())
        parts: list[str] = []
        # 1.0.0 is 1, and 1.0-rc1 is 1-rc1.
        for part in [*found, ""]:
            while not part.isdigit() and parts and re.fullmatch("0+|ga|final|release", parts[-1]):
                parts.pop()
            parts += [part] if part else []
        # A qualifier before a release is less than its end, one after it and a number are more.
        keys = [
            (8, int(part), "")
            if part.isdigit()
            else (_ORDER.get(part, _RELEASE.get(part, 7)), 0, part if part not in _ORDER | _RELEASE else "")
            for part in parts
        ]
        return [*keys, (5, 0, "")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MavenVersion) and self._key() == other._key()

    def __lt__(self, other: "MavenVersion") -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(tuple(self._key()))


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An advisory that is accepted until a day, and why: an entry `IgnoredVulns` of osv-scanner's configuration."""

    id: str
    until: date
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An advisory against a package that we have."""

    component: Component
    id: str
    aliases: tuple[str, ...]
    severity: str
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        known = ", ".join((self.id, *self.aliases))
        remedy = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no version fixes it"
        return f"{self.component.name} {self.component.version}: {known}, {self.severity.lower()}; {remedy}"


def from_folder(folder: Path) -> list[Advisory]:
    """Records as OSV hands them out: a file each, or an archive `all.zip` for an ecosystem, in any depth."""
    found: list[Advisory] = [json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))]
    for path in sorted(folder.rglob("all.zip")):
        with zipfile.ZipFile(path) as archive:
            found += [json.loads(archive.read(name)) for name in archive.namelist()]
    return found


def acceptances(path: Path) -> list[Acceptance]:
    """The accepted ones of a file. ValueError if one has no reason or no day."""
    found = []
    for entry in tomllib.loads(path.read_text()).get("IgnoredVulns", []):
        if not entry.get("reason") or not isinstance(entry.get("ignoreUntil"), date):
            raise ValueError(f"{path.name}: {entry.get('id')} needs a reason, and a day as ignoreUntil = 2027-01-31")
        found.append(Acceptance(entry["id"], entry["ignoreUntil"], entry["reason"]))
    return found


def findings(components: Iterable[Component], advisories: Iterable[Advisory]) -> list[Finding]:
    """Each advisory that names one of these packages in its version; withdrawn ones are none."""
    advisories, by_name, found = list(advisories), defaultdict(list), set[Finding]()
    for component in components:
        by_name[component.ecosystem, component.name].append(component)
    # The records of one ecosystem's own reviewers have no word; those that they are aliases of have.
    words = {name: _severity(each) for each in advisories for name in each.get("aliases", ())}
    for advisory in advisories:
        if advisory.get("withdrawn"):
            continue
        for affected in advisory.get("affected", []):
            package = affected.get("package", {})
            for component in by_name.get((package.get("ecosystem"), package.get("name")), ()):
                if _is_affected(component, affected):
                    aliases = tuple(each for each in advisory.get("aliases", ()) if each.startswith("CVE-"))
                    word = _severity(advisory)
                    severity = words.get(advisory["id"], word) if word == UNKNOWN else word
                    found.add(Finding(component, advisory["id"], aliases, severity, _fixed(affected)))
    return sorted(found, key=str)


def refused(found: Iterable[Finding], accepted: Iterable[Acceptance], today: date) -> list[str]:
    """What must not be: a high finding without an exception; an exception that has ended or meets nothing."""
    of_known = {each.id: each for each in accepted}
    problems, used = list[str](), set[str]()
    for finding in found:
        exception = next((of_known[name] for name in (finding.id, *finding.aliases) if name in of_known), None)
        if exception is not None:
            used.add(exception.id)
            if exception.until < today:
                problems.append(f"{finding}; the exception ended on {exception.until}: take a fix, or give a new day")
        elif finding.severity in REFUSED:
            problems.append(f"{finding}; take another version, or accept it in requirements/advisories.toml")
    problems += [
        f"the exception {name} meets nothing any more; remove it from requirements/advisories.toml"
        for name in of_known
        if name not in used
    ]
    return problems


def _is_affected(component: Component, affected: Mapping[str, Any]) -> bool:
    if component.version in affected.get("versions", ()):
        return True
    ranges = [each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
    return any(_within(component, each["events"]) for each in ranges)


def _within(component: Component, events: Iterable[Mapping[str, str]]) -> bool:
    """OSV's evaluation: of the events at or before the version the last one decides; `last_affected` is within."""
    order: Callable[[str], Any] = _version if component.ecosystem == PYPI else MavenVersion
    mine, inside = order(component.version), False
    for event in sorted(events, key=lambda event: order(_at(event))):
        at = order(_at(event))
        if "introduced" in event and (event["introduced"] == "0" or at <= mine):
            inside = True
        elif ("fixed" in event and at <= mine) or ("last_affected" in event and at < mine):
            inside = False
    return inside


def _at(event: Mapping[str, str]) -> str:
    return next(event[kind] for kind in ("introduced", "fixed", "last_affected", "limit") if kind in event)


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _severity(advisory: Advisory) -> str:
    word = str(advisory.get("database_specific", {}).get("severity", UNKNOWN)).upper()
    return word if word in ("LOW", "MODERATE", "MEDIUM", *REFUSED) else UNKNOWN


def _fixed(affected: Mapping[str, Any]) -> tuple[str, ...]:
    ends = [event["fixed"] for each in affected.get("ranges", ()) for event in each["events"] if "fixed" in event]
    return tuple(dict.fromkeys(ends))
