"""skaffold.yaml: valid, and what it lists exists, and what exists is listed."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.catalog import CHARTS, ROOT, Profile, try_rendering

SKAFFOLD = yaml.safe_load((ROOT / "skaffold.yaml").read_text())
# The schema that Skaffold publishes, where it is beside the checkout.
SCHEMA = ROOT.parent / "shared" / "data" / "skaffold-v4beta13.schema.json"
ARTIFACTS = {artifact["image"]: artifact for artifact in SKAFFOLD["build"]["artifacts"]}
PROFILES = {profile["name"]: profile for profile in SKAFFOLD["profiles"]}
RELEASES = [
    pytest.param(release, id=f"{name}: {release['name']}")
    for name, part in (("default", SKAFFOLD), *PROFILES.items())
    for release in part["deploy"]["helm"]["releases"]
]
DIGEST = "@sha256:" + "0" * 64


# Keys that we use, as Skaffold's schema spells them: what is checked where the schema itself is not there.
KNOWN_KEYS = {
    "apiVersion", "kind", "metadata", "name", "build", "local", "useBuildkit", "tagPolicy", "inputDigest",
    "artifacts", "image", "context", "docker", "dockerfile", "sync", "manual", "src", "strip", "dest", "hooks",
    "after", "container", "command", "deploy", "helm", "releases", "chartPath", "namespace", "createNamespace",
    "setValueTemplates", "setValues", "valuesFiles", "portForward", "resourceType", "resourceName", "port",
    "localPort", "profiles", "activation",
}  # fmt: skip


def keys(part: Any) -> set[str]:
    """All keys, but those of values, which are the charts'."""
    if isinstance(part, list):
        return {key for item in part for key in keys(item)}
    if not isinstance(part, dict):
        return set()
    free = {"setValues", "setValueTemplates"}
    return set(part) | {key for name, value in part.items() if name not in free for key in keys(value)}


def test_the_file_is_valid_for_skaffold() -> None:
    assert SKAFFOLD["apiVersion"] == "skaffold/v4beta13"
    assert keys(SKAFFOLD) <= KNOWN_KEYS
    if SCHEMA.exists():
        schema = json.loads(SCHEMA.read_text())
        jsonschema.validate(SKAFFOLD, schema)
        spelt = set(re.findall(r'"([A-Za-z]+)": \{', SCHEMA.read_text()))
        assert spelt >= KNOWN_KEYS


def test_every_dockerfile_is_an_image_and_the_other_way_round() -> None:
    listed = {ROOT / artifact["context"] / artifact["docker"]["dockerfile"] for artifact in ARTIFACTS.values()}

    there = {path for folder in ("services/*", "spark", "loadgen/*") for path in ROOT.glob(f"{folder}/Dockerfile")}
    assert listed == there


def test_images_are_called_as_the_charts_call_them() -> None:
    assert all(name.startswith("market-spread/") for name in ARTIFACTS)
    folder = {name: Path(artifact["docker"]["dockerfile"]).parent.name for name, artifact in ARTIFACTS.items()}
    services = {name: found for name, found in folder.items() if found not in ("spark", "controller")}
    assert all(name == f"market-spread/{found.replace('_', '-')}" for name, found in services.items())


def test_every_chart_is_installed_by_a_profile_and_is_there() -> None:
    deployed = [part["deploy"]["helm"]["releases"] for part in (SKAFFOLD, *PROFILES.values())]
    paths = {release["chartPath"] for releases in deployed for release in releases}

    assert paths == {f"charts/{chart.name}" for chart in CHARTS}


def test_profiles_are_those_that_the_documents_name() -> None:
    assert set(PROFILES) == {"dev", "c4.8xlarge"}
    assert PROFILES["dev"]["activation"] == [{"command": "dev"}]


@pytest.mark.parametrize("release", RELEASES)
def test_releases_render_with_what_skaffold_would_set(release: dict[str, Any]) -> None:
    chart = Path(release["chartPath"]).name
    for file in release.get("valuesFiles", []):
        assert Path(file).parent == Path(release["chartPath"])
    (values,) = {Path(file).name for file in release.get("valuesFiles", [])} or {"values.yaml"}
    told = {**release.get("setValues", {}), **filled(release.get("setValueTemplates", {}))}

    made = try_rendering(Profile(chart, values), release["name"], told)

    assert made.status == 0, made.error
    text = json.dumps(made.objects)
    assert all(reference in text for reference in filled(release.get("setValueTemplates", {})).values())


def filled(templates: dict[str, str]) -> dict[str, str]:
    """Templates with what Skaffold knows of the images it has built."""
    known = {re.sub(r"[./:-]", "_", name): f"{name}:abc123{DIGEST}" for name in ARTIFACTS}
    pattern = re.compile(r"\{\{\.IMAGE_FULLY_QUALIFIED_(\w+)\}\}")
    return {value: pattern.sub(lambda match: known[match.group(1)], text) for value, text in templates.items()}


def test_synced_files_are_sources_of_the_image() -> None:
    synced = {name: artifact["sync"]["manual"] for name, artifact in ARTIFACTS.items() if "sync" in artifact}

    assert set(synced) == {f"market-spread/{name}" for name in ("sender", "receiver", "metrics-aggregator", "spark")}
    for name, rules in synced.items():
        own = Path(ARTIFACTS[name]["docker"]["dockerfile"]).parent
        assert any(rule["src"].startswith(f"{own}/src/") for rule in rules)
        for rule in rules:
            assert rule["src"] == f"{rule['strip']}**/*.py"
            assert list((ROOT / rule["strip"]).glob("market_spread/*/*.py")), rule
            assert rule["dest"] == "/opt/market-spread/sync"


def test_the_metrics_page_is_forwarded_from_a_service_that_is_there() -> None:
    (forward,) = SKAFFOLD["portForward"]
    made = try_rendering(Profile("market-spread"), "market-spread", {})

    (service,) = [found for found in made.of("Service") if found["metadata"]["name"] == forward["resourceName"]]
    assert forward["port"] in {port["port"] for port in service["spec"]["ports"]}
