"""The images as they ship: small, labelled, and at work as another user than root with nothing to write but /tmp."""

import json
import tarfile
from typing import Any

import pytest

from tests.cluster.ground import images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.images import Image
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.pods import pod

PRODUCT = images.product_images()
MB = 1_000_000
SERVICE_SIZE_MAX_MB = 160
# Spark with its JRE, its jars and the archive of its classes, whose size varies by 2 MB; the run controller with
# pyarrow, scipy and the Kubernetes client.
SIZE_MAX_MB = {"spark": 915, "run-controller": 500}

# What a service needs to be told to serve; the broker is asked only when a run starts.
SERVICES = {
    "sender": {},
    "receiver": {"DATA_FOLDER": "/tmp"},
    "metrics-aggregator": {"RUNS_FOLDER": "/tmp"},
}
SPARK_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
# What a program is asked, and what its answer has in it.
PROGRAMS = {"run-controller": ("--help", "Usage: market-spread"), "host-tuner": ("--version", "0.1.0")}


@pytest.fixture(scope="module", params=sorted(PRODUCT))
def image(request: pytest.FixtureRequest) -> Image:
    name: str = request.param
    found = PRODUCT[name]
    images.ensure(found)
    return found


def manifest(image: Image) -> dict[str, Any]:
    """The configuration that the image's archive carries."""
    with tarfile.open(image.archive) as archive:
        entry = archive.extractfile("manifest.json")
        assert entry is not None
        configuration = archive.extractfile(json.load(entry)[0]["Config"])
        assert configuration is not None
        found: dict[str, Any] = json.load(configuration)
    return found


def layers(image: Image) -> dict[str, int]:
    """The bytes of each layer."""
    with tarfile.open(image.archive) as archive:
        entry = archive.extractfile("manifest.json")
        assert entry is not None
        names = json.load(entry)[0]["Layers"]
        return {name: archive.getmember(name).size for name in names}


def test_it_is_small(image: Image) -> None:
    base = images.base_image()
    images.ensure(base)
    size_mb = (sum(layers(image).values()) - sum(layers(base).values())) / MB

    assert size_mb <= SIZE_MAX_MB.get(image.name, SERVICE_SIZE_MAX_MB)


def test_it_says_what_it_is_and_whose_it_is(image: Image) -> None:
    configuration = manifest(image)["config"]

    assert configuration["User"] == "10001:10001"
    assert configuration["Entrypoint"][0] in ("python3", "market-spread")
    labels = configuration["Labels"]
    assert labels["org.opencontainers.image.title"] == f"market-spread-{image.name}"
    assert labels["org.opencontainers.image.version"] == "0.1.0"
    assert labels["org.opencontainers.image.revision"] == image.key
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_its_last_layer_of_files_is_ours_alone(image: Image) -> None:
    """So a change of our sources moves kilobytes, not what we depend on."""
    *_, packages, ours = [size for size in layers(image).values() if size > 20_000]

    assert ours < 5 * MB < packages


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_serves_without_root_and_without_a_shell(ground: Cluster, kubectl: Kubectl, name: str) -> None:
    ground.load([PRODUCT[name]])
    variables = {"BOOTSTRAP_SERVERS": "127.0.0.1:9092", "HOST": "0.0.0.0", "GRPC_PORT": "50051", **SERVICES[name]}
    kubectl.apply(
        without_shell(
            pod(
                name,
                PRODUCT[name].reference,
                env=[{"name": f"MARKET_SPREAD_{key}", "value": value} for key, value in variables.items()],
                readinessProbe={"grpc": {"port": 50051}, "periodSeconds": 1},
            )
        )
    )

    kubectl.wait_ready(name, within_s=90)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_answers_without_root_and_without_a_shell(ground: Cluster, kubectl: Kubectl, name: str) -> None:
    ground.load([PRODUCT[name]])
    question, answer = PROGRAMS[name]
    kubectl.apply(without_shell(pod(name, PRODUCT[name].reference, args=[question])))

    def ended() -> bool:
        return kubectl.get("pod", name)["status"]["phase"] in ("Succeeded", "Failed")

    wait_for(f"{name} answers", ended, within_s=90)
    assert kubectl.get("pod", name)["status"]["phase"] == "Succeeded", kubectl("logs", name)
    assert answer in kubectl("logs", name)


def test_sparks_jvms_read_their_classes_from_the_archive(ground: Cluster, kubectl: Kubectl) -> None:
    spark = PRODUCT["spark"]
    ground.load([spark])
    home = "/opt/market-spread/packages/pyspark"
    # With -Xshare:on a JVM whose class path is not that of the archive does not start.
    command = ["java", "-Xshare:on", "-Xlog:class+load", "-cp", f"{home}/conf:{home}/jars/*", SPARK_SUBMIT, "--version"]
    kubectl.apply(without_shell(pod("spark", spark.reference, command=command)))

    def ended() -> bool:
        return kubectl.get("pod", "spark")["status"]["phase"] in ("Succeeded", "Failed")

    wait_for("the JVM ends", ended, within_s=60)
    lines = kubectl("logs", "spark").splitlines()
    sources = [
        line.rpartition("source: ")[2] for line in lines if " org.apache.spark." in line and "Lambda" not in line
    ]
    assert len(sources) > 20, lines[-5:]
    assert set(sources) == {"shared objects file (top)"}


def without_shell(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod with an empty file in the place of every shell."""
    specification = manifest["spec"]
    specification["volumes"].append({"name": "nothing", "hostPath": {"path": "/dev/null"}})
    (container,) = specification["containers"]
    container["volumeMounts"] += [
        {"name": "nothing", "mountPath": path, "readOnly": True} for path in ("/bin/sh", "/bin/bash", "/bin/dash")
    ]
    return manifest
