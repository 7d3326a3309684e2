"""docs/aws.md and examples/aws: what the tools of AWS and our charts say of them without an account."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.catalog import C4, KUBERNETES, ROOT, Profile, rendered, run_helm
from tests.charts.programs import cfn_lint, checkov

FOLDER = ROOT / "examples" / "aws"
PAGE = (ROOT / "docs" / "aws.md").read_text()
TEMPLATES = ("resources.yaml", "kafka.yaml")
MISTAKES = (
    ("resources.yaml", "Strategy: cluster", "Strategy: close"),
    ("resources.yaml", "PublicAccessBlockConfiguration:", "PublicAccessBlock:"),
    ("kafka.yaml", "ClientSubnets: !Ref Subnets", "ClientSubnets: !Ref Subnet"),
    ("kafka.yaml", "      KafkaVersion: 3.9.x.kraft\n", ""),
)
# As eksctl was released with it: pkg/apis/eksctl.io/v1alpha5/assets/schema.json.
EKSCTL = json.loads((ROOT / "tests" / "charts" / "eksctl" / "v0.215.0.json").read_text())
# What the aws command line adds to its API model.
GLOBAL = {"query", "output"}
OWN = {
    ("cloudformation", "deploy"): {"stack-name", "template-file", "capabilities", "parameter-overrides"},
    ("ecr", "get-login-password"): set(),
}
POOLS = Profile("node-pools", "values-c4.8xlarge.yaml")
# Asks the API model in Checkov's environment: of [service, operation, options], those that it does not know.
ASK = """
import json, sys
import botocore.session
from botocore import xform_name

session = botocore.session.Session()
for service, operation, options in json.load(sys.stdin):
    model = session.get_service_model(service)
    known = {xform_name(name, "-"): model.operation_model(name) for name in model.operation_names}
    if operation not in known:
        print(service, operation)
        continue
    members = {xform_name(name, "-") for name in known[operation].input_shape.members}
    for option in set(options) - members:
        print(service, operation, option)
"""


def cluster(**changes: Any) -> dict[str, Any]:
    """The configuration for eksctl, with an account filled in."""
    read = yaml.safe_load((FOLDER / "cluster.yaml").read_text().replace("${AWS_ACCOUNT_ID}", "123456789012"))
    return {**read, **changes}


def blocks() -> list[str]:
    """The lines of the page's shell blocks."""
    return [
        line
        for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        for line in block.split("\n")
    ]


def calls(text: str) -> list[tuple[str, str, set[str]]]:
    """The `aws` commands in it, also those within others: service, operation, names of options."""
    found = re.findall(
        r"(?:^|[(`] ?|\| )aws ([a-z0-9-]+) ([a-z-]+)((?: (?:\"[^\"]*\"|[^|()`\n\"])+)?)", text, re.MULTILINE
    )
    return [(service, operation, set(re.findall(r" --([a-z-]+)", rest))) for service, operation, rest in found]


def unknown(commands: list[tuple[str, str, set[str]]]) -> list[str]:
    """What the API model does not know of these commands."""
    modelled, strange = [], []
    for service, operation, options in commands:
        if (service, operation) in OWN:
            strange += [f"{service} {operation} {name}" for name in options - OWN[service, operation] - GLOBAL]
        else:
            modelled.append((service, operation, sorted(options - GLOBAL)))
    python = checkov().parent / "python"
    asked = subprocess.run(
        [python, "-c", ASK], input=json.dumps(modelled), capture_output=True, text=True, check=True, timeout=60
    )
    return [*strange, *asked.stdout.splitlines()]


def lint(*paths: Path) -> dict[str, list[str]]:
    """The rules that templates break, by the name of the file; all in one go, as the tool takes seconds to start."""
    ended = subprocess.run(
        [cfn_lint(), "--format", "json", "--regions", "us-east-1", "--", *paths],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    found = json.loads(ended.stdout or "[]")
    return {path.name: [each["Message"] for each in found if each["Filename"] == str(path)] for path in paths}


def test_eksctl_takes_the_cluster() -> None:
    jsonschema.validate(cluster(), EKSCTL)


@pytest.mark.parametrize(
    "changes",
    [
        {"availabilityZone": ["us-east-1a"]},
        {"addons": [{"name": "vpc-cni", "enableNetworkPolicy": True}]},
        {"accessConfig": {"authenticationMode": "API", "accessEntries": [{"principalArn": "arn:aws:iam::1:role/x"}]}},
        {"managedNodeGroups": [{"name": "system", "desiredCapacity": "two"}]},
    ],
    ids=["misspelt", "not of an addon", "wrong case", "no number"],
)
def test_eksctl_refuses_what_it_does_not_know(changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(cluster(**changes), EKSCTL)


def test_cluster_pools_and_nodes_agree() -> None:
    read = cluster()
    classes = rendered(POOLS).of("EC2NodeClass")
    zones = {
        rule["values"][0]
        for pool in rendered(POOLS).of("NodePool")
        for rule in pool["spec"]["template"]["spec"]["requirements"]
        if rule["key"] == "topology.kubernetes.io/zone"
    }

    name = read["metadata"]["name"]
    assert read["metadata"]["tags"] == {"karpenter.sh/discovery": name}
    for made in classes:
        assert made["spec"]["subnetSelectorTerms"] == [{"tags": read["metadata"]["tags"]}]
    (entry,) = read["accessConfig"]["accessEntries"]
    assert {made["spec"]["role"] for made in classes} == {entry["principalARN"].split("/")[-1]}
    (group,) = read["managedNodeGroups"]
    assert set(group["availabilityZones"]) == zones == {read["availabilityZones"][0]}


def test_cloudformation_takes_the_templates_and_no_wrong_ones(tmp_path: Path) -> None:
    wrong = []
    for number, (name, right, planted) in enumerate(MISTAKES):
        text = (FOLDER / name).read_text()
        assert text.count(right) == 1
        wrong.append(tmp_path / f"{number}.yaml")
        wrong[-1].write_text(text.replace(right, planted))

    found = lint(*[FOLDER / name for name in TEMPLATES], *wrong)

    assert {name: found[name] for name in TEMPLATES} == {name: [] for name in TEMPLATES}
    assert [path.name for path in wrong if not found[path.name]] == []


def test_every_image_has_a_repository() -> None:
    listed = subprocess.run([ROOT / ".ci" / "images", "--list"], capture_output=True, text=True, check=True).stdout

    (found,) = re.findall(r"- \[([\w, -]+)\]\n +- Repository", (FOLDER / "resources.yaml").read_text())
    assert sorted(found.split(", ")) == sorted(line.split()[0] for line in listed.splitlines())


def test_aws_knows_the_commands_of_the_page() -> None:
    commands = calls(PAGE)

    assert len(commands) == len(re.findall(r"\baws [a-z]", PAGE))
    assert unknown(commands) == []


def test_commands_that_aws_does_not_know_are_found() -> None:
    text = (
        "aws eks describe-clusters --name x\naws ec2 describe-subnets --filter Name=x\naws ecr get-login-password --me"
    )

    assert unknown(calls(text)) == [
        "ecr get-login-password me",
        "eks describe-clusters",
        "ec2 describe-subnets filter",
    ]


def test_the_charts_render_as_the_page_installs_them() -> None:
    installs = [shlex.split(line) for line in blocks() if line.startswith("helm install") and " charts/" in line]

    assert [words[3] for words in installs] == ["charts/host-tuning", "charts/node-pools", "charts/market-spread"]
    for words in installs:
        given = [word.replace("$REGISTRY", "registry.example.com").replace("$GROUP", "close") for word in words[2:]]
        made = run_helm(
            "template",
            "--kube-version",
            KUBERNETES,
            *[ROOT / word if word.startswith("charts/") else word for word in given],
        )
        assert made.returncode == 0, made.stderr
        assert "market-spread" in made.stdout


def test_the_release_takes_the_kafka_of_the_page(tmp_path: Path) -> None:
    (text,) = re.findall(r"<!-- file: msk.yaml -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "msk.yaml").write_text(text)

    made = run_helm(
        "template",
        "market-spread",
        C4.folder,
        "--kube-version",
        KUBERNETES,
        *C4.files,
        "--set",
        "images.registry=registry.example.com",
        "--values",
        tmp_path / "msk.yaml",
    )
    assert made.returncode == 0, made.stderr
    assert "b-1.market-spread.example.com:9096" in made.stdout
    assert "kafka-0" not in made.stdout


def test_what_it_costs_is_the_sum_of_its_lines() -> None:
    rows = re.findall(r"^\| (.+?) \| (\d*) \| ([\d.]*) \| ([\d.]+) \|$", PAGE, re.MULTILINE)

    assert len(rows) == 5
    for what, count, each, in_all in rows:
        assert float(in_all) == pytest.approx(int(count) * float(each), abs=5e-4), what
    (total,) = re.findall(r"\| \*\*the reference set-up\*\* \| \| \| \*\*([\d.]+)\*\* \|", PAGE)
    assert float(total) == pytest.approx(sum(float(row[3]) for row in rows), abs=5e-3)
    volumes = sum(
        int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))
        for claim in [
            *rendered(C4).of("PersistentVolumeClaim"),
            *[each for made in rendered(C4).of("StatefulSet") for each in made["spec"].get("volumeClaimTemplates", [])],
        ]
    )
    nodes = 3 * 100 + 2 * cluster()["managedNodeGroups"][0]["volumeSize"]
    assert f"disks, GiB: nodes {nodes}, volumes {volumes} | {nodes + volumes} |" in PAGE
