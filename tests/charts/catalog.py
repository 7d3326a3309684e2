"""The charts, and what Helm makes of them: by profile and changed values, each rendering made once a session."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.charts.programs import helm

ROOT = Path(__file__).parents[2]
CHARTS = sorted(path.parent for path in (ROOT / "charts").glob("*/Chart.yaml"))
NAMESPACE = "spread"
KUBERNETES = "1.35.0"
OPERATOR = "monitoring.coreos.com/v1"
# Released Karpenters whose definitions are kept in the folder karpenter, the older first.
KARPENTER = ("v1.14.3", "v1.15.2")
# What a person must choose, since no default can be right.
CHOSEN: Mapping[str, Mapping[str, str]] = {
    "node-pools": {"cluster.name": "spread", "cluster.role": "spread-nodes"},
    "market-spread": {"images.registry": "registry.example.com"},
    "host-tuning": {"image": "registry.example.com/market-spread/host-tuner:0.1.0"},
}

Object = dict[str, Any]


@dataclass(frozen=True)
class Profile:
    """A values file of a chart; the chart's own defaults have no file besides."""

    chart: str
    values: str = "values.yaml"

    def __str__(self) -> str:
        return f"{self.chart}/{self.values}"

    @property
    def folder(self) -> Path:
        return ROOT / "charts" / self.chart

    @property
    def files(self) -> list[str]:
        """What Helm is told of values files."""
        return [] if self.values == "values.yaml" else ["--values", str(self.folder / self.values)]

    @property
    def chosen(self) -> Mapping[str, str]:
        """Values that a person must choose, and that the file does not have."""
        chosen = CHOSEN.get(self.chart, {})
        given = yaml.safe_load((self.folder / self.values).read_text()) if self.files else {}
        return {name: value for name, value in chosen.items() if name.split(".")[0] not in given}

    @property
    def arguments(self) -> list[str]:
        """All that Helm is told of values."""
        return self.files + [argument for pair in self.chosen.items() for argument in ("--set", "=".join(pair))]


PROFILES = [Profile(chart.name, path.name) for chart in CHARTS for path in sorted(chart.glob("values*.yaml"))]
MARKET_SPREAD = [profile for profile in PROFILES if profile.chart == "market-spread"]
DEFAULT = Profile("market-spread")
CI = Profile("market-spread", "values-ci.yaml")
C4 = Profile("market-spread", "values-c4.8xlarge.yaml")


@dataclass(frozen=True)
class Rendered:
    """What Helm made, or why not."""

    status: int
    error: str
    objects: tuple[Object, ...] = field(repr=False)

    def of(self, kind: str, component: str | None = None) -> list[Object]:
        """The objects of a kind, of that component if one is named."""
        return [
            found
            for found in self.objects
            if found["kind"] == kind and component in (None, component_of(found["metadata"]))
        ]

    def one(self, kind: str, component: str | None = None) -> Object:
        """The only such object."""
        (found,) = self.of(kind, component)
        return found


def component_of(metadata: Object) -> str | None:
    """The component that an object's labels name."""
    component: str | None = metadata.get("labels", {}).get("app.kubernetes.io/component")
    return component


def rendered(profile: Profile, /, release: str = "market-spread", **values: object) -> Rendered:
    """The chart with a profile and these values besides, `__` in names for dots; it must render."""
    made = try_rendering(profile, release, {name.replace("__", "."): value for name, value in values.items()})
    assert made.status == 0, made.error
    return made


def try_rendering(
    profile: Profile, release: str, values: Mapping[str, object], kubernetes: str = KUBERNETES
) -> Rendered:
    """The same, where it need not render."""
    return _rendered(profile, release, json.dumps(values), kubernetes)


@cache
def _rendered(profile: Profile, release: str, values_json: str, kubernetes: str) -> Rendered:
    changed = [
        argument
        for name, value in {**profile.chosen, **json.loads(values_json)}.items()
        for argument in ("--set-json", f"{name}={json.dumps(value)}")
    ]
    ended = run_helm(
        "template", release, profile.folder, "--namespace", NAMESPACE, "--kube-version", kubernetes,
        "--api-versions", OPERATOR, *profile.files, *changed,
    )  # fmt: skip
    objects = (
        [found for found in yaml.load_all(ended.stdout, yaml.CSafeLoader) if found] if not ended.returncode else []
    )
    return Rendered(ended.returncode, ended.stderr, tuple(objects))


@cache
def karpenter_schema(version: str, kind: str) -> Object:
    """The schema of a kind in the definition that a release of Karpenter installs."""
    definition = yaml.safe_load((Path(__file__).parent / "karpenter" / version / f"{kind}.yaml").read_text())
    (found,) = definition["spec"]["versions"]
    schema: Object = found["schema"]["openAPIV3Schema"]
    return schema


def run_helm(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run Helm."""
    return subprocess.run([helm(), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)
