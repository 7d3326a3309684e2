"""Known vulnerabilities are found in what is locked, and accepted only until a day."""

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.supply.__main__ import main
from tests.supply.advisories import Acceptance, MavenVersion, acceptances, findings, from_folder, refused
from tests.supply.inventory import MAVEN, PYPI, Component, everything, images, of_image, of_wheel
from tests.support.paths import ROOT

KNOWN = from_folder(ROOT / "tests/supply/known")
TODAY = date(2026, 11, 28)
BEANUTILS = Component(MAVEN, "commons-beanutils:commons-beanutils", "1.9.4")


def ids(*components: Component) -> list[str]:
    return [finding.id for finding in findings(components, KNOWN)]


def test_nothing_that_is_locked_has_what_is_known_here() -> None:
    components = everything()

    assert {"requests", "org.apache.kafka:kafka-clients", "at.yawk.lz4:lz4-java"} <= {each.name for each in components}
    accepted = acceptances(ROOT / "requirements/advisories.toml")
    assert refused(findings(components, KNOWN), accepted, date.today()) == []


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("commons-beanutils:commons-beanutils", ["1.9.4", "1.10.1"], ["1.11.0", "1.11.1"]),
        ("org.lz4:lz4-java", ["1.8.0", "1.7.1"], ["1.8.2"]),
        ("at.yawk.lz4:lz4-java", ["1.8.1", "1.10.0"], ["1.10.1", "1.14.0"]),
        ("org.apache.kafka:kafka-clients", ["3.9.1", "4.0.1", "4.1.0", "4.1.1"], ["2.7.2", "3.9.2", "4.0.2", "4.1.2"]),
        ("org.apache.logging.log4j:log4j-core", ["2.0-rc1", "2.14.1", "2.12.1"], ["2.0-beta8", "2.12.2", "2.25.3"]),
        ("pyyaml", ["5.3.1", "5.4rc1"], ["5.4", "6.0.3"]),
        ("org.example:commons-beanutils", [], ["1.9.4"]),
    ],
)
def test_a_vulnerable_version_is_caught_and_its_neighbours_are_not(
    name: str, wrong: list[str], right: list[str]
) -> None:
    ecosystem = MAVEN if ":" in name else PYPI

    caught = [version for version in wrong + right if ids(Component(ecosystem, name, version))]

    assert caught == wrong


def test_a_record_is_of_its_ecosystem_and_counts_until_it_is_withdrawn() -> None:
    assert ids(BEANUTILS) == ["GHSA-wxr5-93ph-8wr9"]
    assert ids(replace(BEANUTILS, ecosystem=PYPI)) == []
    assert findings([BEANUTILS], [{**each, "withdrawn": "2026-01-01T00:00:00Z"} for each in KNOWN]) == []


def test_only_high_and_critical_ones_are_refused_and_unknown_ones_are_taken_for_high() -> None:
    (record,) = [each for each in KNOWN if each["id"] == "GHSA-wxr5-93ph-8wr9"]
    moderate = {**record, "database_specific": {"severity": "MODERATE"}}
    unknown = {**record, "id": "PYSEC-1", "aliases": [], "database_specific": {}}
    named = {**moderate, "id": "GHSA-0", "aliases": ["PYSEC-1"]}

    assert refused(findings([BEANUTILS], [moderate]), [], TODAY) == []
    assert len(refused(findings([BEANUTILS], [unknown]), [], TODAY)) == 1
    assert refused(findings([BEANUTILS], [unknown, named]), [], TODAY) == []


def test_an_exception_holds_to_its_day_and_no_longer() -> None:
    found = findings([BEANUTILS], KNOWN)
    fresh = Acceptance("CVE-2025-48734", TODAY, "no enum of a stranger")

    assert refused(found, [fresh], TODAY) == []
    (none,) = refused(found, [], TODAY)
    assert "commons-beanutils 1.9.4: GHSA-wxr5-93ph-8wr9, CVE-2025-48734, high; fixed in 1.11.0" in none
    (ended,) = refused(found, [fresh], date(2026, 11, 29))
    assert "the exception ended on 2026-11-28" in ended
    other, unused = refused(found, [replace(fresh, id="CVE-2025-1")], TODAY)
    assert "accept it" in other
    assert "CVE-2025-1 meets nothing" in unused


@pytest.mark.parametrize("line", ['ignoreUntil = "soon"\nreason = "x"', "ignoreUntil = 2027-01-31", 'reason = "x"'])
def test_an_exception_without_reason_or_day_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "advisories.toml").write_text(f'[[IgnoredVulns]]\nid = "CVE-1"\n{line}\n')

    with pytest.raises(ValueError, match="CVE-1 needs a reason, and a day"):
        acceptances(tmp_path / "advisories.toml")


def test_versions_of_maven_are_in_mavens_order() -> None:
    ordered = ["1.0-alpha-1", "1.0-beta9", "1.0-rc1", "1.0-SNAPSHOT", "1.0", "1.0-sp1", "1.0-jre", "1.0.1", "1.10"]

    assert sorted(ordered, key=MavenVersion) == ordered
    assert MavenVersion("1.0.0.Final") == MavenVersion("1") != MavenVersion("1.1")


@pytest.mark.parametrize("name", sorted(images()))
def test_an_images_parts_are_those_of_its_lock_and_ours(name: str) -> None:
    found = {component.name for component in of_image(name)}

    assert {"market-spread-common", "market-spread-proto"} <= found
    assert ("org.apache.spark:spark-core_2.13" in found) is (name == "spark")
    # What the image's Dockerfile removes.
    assert not [each for each in found if "spark-connect_" in each or "hive-metastore" in each]


def test_a_wheels_parts_are_what_it_needs_and_that_in_turn() -> None:
    found = {component.name for component in of_wheel("market-spread-sender")}

    assert {"market-spread-common", "market-spread-proto", "grpcio", "numpy"} <= found
    assert not {"pytest", "pyspark"} & found


def test_the_records_here_are_whole() -> None:
    for path in (ROOT / "tests/supply/known").glob("*.json"):
        record = json.loads(path.read_text())
        assert record["id"] == path.stem
        assert record["database_specific"]["severity"] in {"HIGH", "CRITICAL"}


def checked(cache: Path, source: str, *words: str) -> Result:
    """What `make advisories` says with this cache."""
    told = {"XDG_CACHE_HOME": str(cache)}
    return CliRunner(env=told).invoke(main, ["advisories", f"--source={source}", *words])


def archives(folder: Path, record: Mapping[str, object]) -> str:
    """OSV's archives with a record, and where they are."""
    for ecosystem in (PYPI, MAVEN):
        (folder / ecosystem).mkdir(parents=True)
        with zipfile.ZipFile(folder / ecosystem / "all.zip", "w") as archive:
            archive.writestr("record.json", json.dumps(record))
    return folder.as_uri()


def test_the_archives_are_fetched_kept_and_refused_when_they_are_old(tmp_path: Path) -> None:
    cache, nowhere = tmp_path / "cache", (tmp_path / "nowhere").as_uri()
    none = checked(cache, nowhere)
    assert none.exit_code == 1
    assert "no advisories of PyPI" in none.output
    (record,) = [each for each in KNOWN if each["id"] == "GHSA-wxr5-93ph-8wr9"]

    clean = checked(cache, archives(tmp_path / "osv", record))

    assert clean.exit_code == 0, clean.output
    assert "2 advisories, 0 that meet; 0 problems" in clean.output
    assert checked(cache, nowhere, "--max-age-days=7").exit_code == 0, "the cache has them"
    os.utime(cache / "market-spread" / "advisories" / PYPI / "all.zip", (0, 0))
    assert checked(cache, nowhere).exit_code == 0
    old = checked(cache, nowhere, "--max-age-days=7")
    assert old.exit_code == 1
    assert "days old; fetch newer ones" in old.output


def test_a_vulnerable_pin_fails_the_check(tmp_path: Path) -> None:
    ours = {"package": {"ecosystem": PYPI, "name": "numpy"}, "versions": [metadata.version("numpy")]}
    record = {"id": "GHSA-1", "affected": [ours], "database_specific": {"severity": "HIGH"}}

    failed = checked(tmp_path / "cache", archives(tmp_path / "osv", record))

    assert failed.exit_code == 1
    assert "GHSA-1, high; no version fixes it; take another version, or accept it in requirements/" in failed.output
