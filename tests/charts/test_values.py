"""Wrong values of every kind are refused by name before anything is installed; their right neighbours are taken."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.controller.plan.workload import Workload
from tests.charts.catalog import CHARTS, DEFAULT, ROOT, Profile, rendered, try_rendering
from tests.charts.programs import cfn_lint
from tests.charts.readme import readme

CORPUS: dict[str, dict[str, list[dict[str, Any]]]] = yaml.safe_load(
    (Path(__file__).parent / "values_corpus.yaml").read_text()
)


def entries(kind: str) -> list[Any]:
    """A parameter for each entry: its profile and what it sets."""
    return [
        pytest.param(Profile(*name.split("/")), values, id=f"{name}-{json.dumps(values)[:70]}")
        for name, listed in CORPUS[kind].items()
        for values in listed
    ]


@pytest.mark.parametrize(("profile", "values"), entries("wrong"))
def test_a_wrong_value_is_refused_by_its_name(profile: Profile, values: dict[str, Any]) -> None:
    name = next(iter(values))

    made = try_rendering(profile, "market-spread", values)

    assert made.status != 0, "accepted"
    said = made.error.replace("/", ".")
    assert name in said, said
    # A mistake of the chart's own would name the value by chance.
    assert "nil pointer" not in made.error
    assert "error calling" not in made.error.replace("error calling include", "").replace("error calling fail", "")


@pytest.mark.parametrize(("profile", "values"), entries("right"))
def test_a_right_value_is_taken(profile: Profile, values: dict[str, Any]) -> None:
    made = try_rendering(profile, "market-spread", values)

    assert made.status == 0, made.error


def test_the_corpus_has_as_many_right_values_of_every_chart() -> None:
    for name, listed in CORPUS["wrong"].items():
        texts = [json.dumps(values) for values in [*listed, *CORPUS["right"][name]]]
        assert len(texts) == len(set(texts)), name


def test_numbers_of_the_broker_are_written_as_it_reads_them() -> None:
    made = rendered(DEFAULT, kafka__properties={"a.b": 10485760, "c": 0.5, "d": -1, "e": True, "f": "x y", "g": 2})

    lines = made.one("ConfigMap", "kafka")["data"]["server.properties"].splitlines()
    assert {"a.b=10485760", "c=0.5", "d=-1", "e=true", "f=x y", "g=2"} <= set(lines)


def test_the_rate_of_the_test_is_written_as_a_whole_number() -> None:
    made = rendered(DEFAULT, tests__messagesPerS=1000000, tests__durationS=5)

    (workload,) = [found["data"]["workload.yaml"] for found in made.of("ConfigMap") if "workload.yaml" in found["data"]]
    assert yaml.safe_load(workload)["load"]["messages_per_s"] == 1000000


def test_the_keys_of_a_workload_are_those_of_the_code() -> None:
    (line,) = [
        line
        for line in (ROOT / "charts/market-spread/templates/_values.tpl").read_text().splitlines()
        if "not (has . (list" in line
    ]

    known = line.split("(list ")[1].split(")")[0].replace('"', "").split()
    assert known == [field.name for field in fields(Workload)]


def test_known_properties_are_those_of_the_brokers_version() -> None:
    text = (ROOT / "charts/market-spread/files/kafka-properties.yaml").read_text()
    image = yaml.safe_load((ROOT / "charts/market-spread/values.yaml").read_text())["images"]["kafka"]
    own = rendered(DEFAULT).one("ConfigMap", "kafka")["data"]["server.properties"].split()

    assert f"Kafka {image.split(':')[1]} knows" in text
    assert {line.split("=")[0] for line in own} <= set(yaml.safe_load(text))


def test_known_options_of_a_jvm_are_of_the_java_in_the_image_and_have_a_kind_that_the_chart_checks() -> None:
    text = (ROOT / "charts/market-spread/files/jvm-options.yaml").read_text()
    (version,) = set(re.findall(r"openjdk-(\d+)-jre", (ROOT / "spark/Dockerfile").read_text()))
    known: dict[str, list[str]] = yaml.safe_load(text)

    assert f"that Java {version}." in text
    assert {kind for kind, *_ in known.values()} == {"boolean", "signed", "unsigned", "number", "text"}
    assert {lock for _, *locks in known.values() for lock in locks} == {"Diagnostic", "Experimental"}
    assert known["UseEpsilonGC"] == ["boolean", "Experimental"]


def test_known_instance_types_are_those_of_cloud_formation() -> None:
    folder = ROOT / "charts/node-pools/files"
    families: dict[str, list[str]] = yaml.safe_load((folder / "families.yaml").read_text())
    types = {f"{family}.{size}" for family, sizes in families.items() for size in sizes}
    (listed,) = (
        cfn_lint()
        .parents[1]
        .glob("lib/*/site-packages/cfnlint/data/schemas/extensions/*_instance/instancetype_enum.json")
    )
    regions = [region for region in json.loads(listed.read_text()).values() if isinstance(region, dict)]

    assert len(types) > 700
    assert types <= {each for region in regions for each in region["enum"]}
    assert set(yaml.safe_load((folder / "instances.yaml").read_text())) <= types


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_readmes_are_fresh(chart: Path) -> None:
    assert (chart / "README.md").read_text() == readme(chart), "make generated"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_readmes_say_of_every_value_what_it_takes(chart: Path) -> None:
    rows = [line.split(" | ") for line in (chart / "README.md").read_text().splitlines() if line.startswith("| `")]

    assert len(rows) >= 9
    for row in rows:
        assert all(cell.strip(" |") for cell in row), row


def test_a_readme_has_the_values_that_are_left_out_unless_someone_sets_them() -> None:
    chart = ROOT / "charts" / "host-tuning"
    profile = json.loads((chart / "values.schema.json").read_text())["properties"]["profile"]["properties"]

    text = readme(chart)

    known = [f"profile.{part}.{name}" for part in ("apply", "verify") for name in profile[part]["properties"]]
    assert [path for path in known if f"| `{path}" not in text] == []
