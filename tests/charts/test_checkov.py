"""A policy scanner looks at what the charts render: findings have a reason in checkov.yaml, and reasons a finding."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.charts.catalog import PROFILES, Object, component_of, rendered
from tests.charts.pods import executor_manifests
from tests.charts.programs import checkov

REASONS: dict[str, dict[str, str]] = yaml.safe_load((Path(__file__).parent / "checkov.yaml").read_text())

PLANTED = "planted"


class Finding(NamedTuple):
    """A check that an object does not pass."""

    check: str
    component: str
    where: str


def privileged() -> Object:
    """A pod that no scanner may let pass."""
    container = {"name": "planted", "image": "planted:1", "securityContext": {"privileged": True}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "planted"}, "spec": {"containers": [container]}}


def findings(folder: Path) -> list[Finding]:
    """What the scanner says of all charts in all profiles, in one go: it takes seconds to start."""
    components: dict[str, str] = {}
    for profile in PROFILES:
        path = folder / str(profile).replace("/", "-")
        objects = [*rendered(profile).objects, *executor_manifests(rendered(profile))]
        path.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
        for found in objects:
            metadata = found["metadata"]
            named = f"{path.name}:{found['kind']}.{metadata.get('namespace', 'default')}.{metadata['name']}"
            components[named] = component_of(metadata) or profile.chart
    (folder / "planted.yaml").write_text(yaml.safe_dump(privileged()))
    components["planted.yaml:Pod.default.planted"] = PLANTED
    ended = subprocess.run(
        [
            checkov(), "--directory", folder, "--framework", "kubernetes", "--skip-download", "--quiet",
            "--output", "json",
        ],
        capture_output=True, text=True, check=False, timeout=200, cwd=folder,
    )  # fmt: skip
    report = json.loads(ended.stdout)
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 1000
    return list(_read(report, components))


def _read(report: dict[str, dict[str, list[dict[str, str]]]], components: dict[str, str]) -> Iterator[Finding]:
    for failed in report["results"]["failed_checks"]:
        where = f"{failed['file_path'].lstrip('/')}:{failed['resource']}"
        yield Finding(failed["check_id"], components[where.partition(" (")[0]], f"{where}: {failed['check_name']}")


@pytest.fixture(scope="session")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    return findings(tmp_path_factory.mktemp("checkov"))


@pytest.fixture
def found(seen: list[Finding]) -> list[Finding]:
    return [finding for finding in seen if finding.component != PLANTED]


def is_explained(finding: Finding) -> bool:
    reasons = REASONS.get(finding.check, {})
    return "all" in reasons or finding.component in reasons


def test_every_finding_has_a_reason(found: list[Finding]) -> None:
    unexplained = [f"{finding.check} {finding.where}" for finding in found if not is_explained(finding)]

    assert unexplained == []


def test_every_reason_has_a_finding(found: list[Finding]) -> None:
    there = {(finding.check, finding.component) for finding in found} | {(finding.check, "all") for finding in found}

    needless = [(check, who) for check, reasons in REASONS.items() for who in reasons if (check, who) not in there]

    assert needless == []


def test_the_scanner_sees_what_is_wrong(seen: list[Finding]) -> None:
    planted = {finding.check for finding in seen if finding.component == PLANTED}

    assert "CKV_K8S_16" in planted, "a privileged container"
