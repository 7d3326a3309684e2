"""What the images' Dockerfiles say holds together: with the locks, and with what the distributions need."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT

LISTED = subprocess.run([ROOT / ".ci" / "images", "--list"], capture_output=True, text=True, check=True).stdout
IMAGES = {name: ROOT / dockerfile for name, dockerfile in (line.split() for line in LISTED.splitlines())}
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / "requirements" / f"{lock}.txt").read_text()))


def distributions(dockerfile: Path) -> list[str]:
    """The folders that it installs with all they require: what `make lock` takes the requirements of."""
    found = re.findall(r"\./([a-z_/-]+)(?:\[[a-z,]+\])?", dockerfile.read_text())
    return list(found)


def project(folder: str) -> dict[str, object]:
    document = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    assert isinstance(document, dict)
    return document


def test_every_dockerfile_that_ships_is_listed() -> None:
    found = {path for folder in ("services", "spark", "loadgen") for path in (ROOT / folder).rglob("Dockerfile")}

    assert set(IMAGES.values()) == found


@pytest.mark.parametrize("image", sorted(IMAGES))
def test_an_image_has_the_versions_that_are_tested(image: str) -> None:
    dev = pins("dev")
    locked = pins(image)

    assert locked
    assert locked == {name: dev[name] for name in locked}


@pytest.mark.parametrize("image", sorted(IMAGES))
def test_a_dockerfile_installs_all_of_ours_that_it_needs(image: str) -> None:
    installed = {str(project(folder)["name"]): folder for folder in distributions(IMAGES[image])}

    assert installed
    for folder in installed.values():
        assert f"COPY {folder} {folder}\n" in IMAGES[image].read_text()
        needed = project(folder)["dependencies"]
        assert isinstance(needed, list)
        ours = {Requirement(text).name for text in needed if text.startswith("market-spread")}
        assert ours <= set(installed), folder


@pytest.mark.parametrize("image", sorted(IMAGES))
def test_all_dockerfiles_begin_and_end_alike(image: str) -> None:
    text = IMAGES[image].read_text()

    assert "ARG BASE_IMAGE=python:3.11-slim-bookworm\n" in text
    assert text.count("--require-hashes") == 2
    assert "\nUSER 10001:10001\nENTRYPOINT [" in text
    assert f'org.opencontainers.image.title="market-spread-{image}"' in text


def test_an_unknown_image_is_refused_with_the_known_ones() -> None:
    ended = subprocess.run([ROOT / ".ci" / "images", "sendr"], capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr.startswith("market-spread: there is no image sendr; there are: sender receiver")


@pytest.mark.parametrize("builder", ["docker", "podman", "buildah"])
def test_images_are_saved_where_they_are_asked_for(builder: str, tmp_path: Path) -> None:
    stub = tmp_path / builder
    stub.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n')
    stub.chmod(0o755)
    told = {"PATH": os.environ["PATH"], "BUILDER": str(stub), "ARCHIVES": str(tmp_path / "images"), "IMAGE_TAG": "7"}

    subprocess.run([ROOT / ".ci" / "images", "sender", "spark"], env=told, capture_output=True, check=True)

    asked = (tmp_path / "asked").read_text().splitlines()
    saved = [line for line in asked if line.startswith(("save", "push"))]
    assert (len(asked), len(saved)) == (4, 2)
    for name, line in zip(("sender", "spark"), saved, strict=True):
        assert f"market-spread/{name}:7" in line
        assert f"{tmp_path}/images/{name}-7.tar" in line


@pytest.mark.parametrize("builder", ["docker", "podman", "buildah"])
@pytest.mark.parametrize("platform", ["", "linux/amd64", "linux/arm64"])
def test_images_are_built_for_the_platform_that_is_named(builder: str, platform: str, tmp_path: Path) -> None:
    stub = tmp_path / builder
    stub.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n')
    stub.chmod(0o755)
    told = {"PATH": os.environ["PATH"], "BUILDER": str(stub), "PLATFORM": platform}

    subprocess.run([ROOT / ".ci" / "images", "sender"], env=told, capture_output=True, check=True)

    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert re.findall(r"--platform (\S+)", asked) == ([platform] if platform else [])


def test_an_unknown_platform_is_refused_with_the_known_ones() -> None:
    told = {"PATH": os.environ["PATH"], "BUILDER": "docker", "PLATFORM": "arm64"}

    ended = subprocess.run([ROOT / ".ci" / "images"], env=told, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (2, "market-spread: PLATFORM=arm64; use linux/amd64 or linux/arm64\n")


@pytest.mark.parametrize(
    ("base", "openjdk", "said"),
    [
        ("", "17.0.17+10-1~deb12u1", "BASE_IMAGE= has no digest"),
        ("python:3.11-slim-bookworm", "17.0.17+10-1~deb12u1", "BASE_IMAGE=python:3.11-slim-bookworm has no digest"),
        ("python@sha256:12", "17.0.17+10-1~deb12u1", "BASE_IMAGE=python@sha256:12 has no digest"),
        ("python@sha256:" + "0" * 64, "", "OPENJDK= is no version"),
        ("python@sha256:" + "0" * 64, "21.0.9+10-1", "OPENJDK=21.0.9+10-1 is no version"),
    ],
)
def test_a_release_is_built_on_what_stays_the_same(base: str, openjdk: str, said: str) -> None:
    told = {"PATH": os.environ["PATH"], "RELEASE": "1", "BASE_IMAGE": base, "OPENJDK": openjdk}

    ended = subprocess.run([ROOT / ".ci" / "images", "--refuse"], env=told, capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"market-spread: {said}")


def test_a_release_with_pinned_parts_is_refused_only_for_what_is_not_committed() -> None:
    pinned = {"BASE_IMAGE": "python@sha256:" + "0" * 64, "OPENJDK": "17.0.17+10-1~deb12u1", "RELEASE": "1"}
    stub = {"PATH": os.environ["PATH"], "GIT_DIR": "/nowhere"}

    clean = subprocess.run([ROOT / ".ci" / "images", "--refuse"], env=pinned | stub, capture_output=True, check=False)

    assert (clean.returncode, clean.stderr) == (0, b"")


def test_a_release_without_a_key_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    pinned = {"BASE_IMAGE": "python@sha256:" + "0" * 64, "OPENJDK": "17.0.17+10-1~deb12u1", "GIT_DIR": "/nowhere"}
    told = {"PATH": os.environ["PATH"], "KEY": str(tmp_path / "key.pem"), **pinned}

    ended = subprocess.run([ROOT / ".ci" / "release"], env=told, capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"market-spread: KEY={tmp_path}/key.pem is no private key; make one with")


def test_the_run_controllers_image_needs_no_spark_to_carry_out_a_run() -> None:
    of_deploy = "deploy.kubernetes.api, deploy.kubernetes.release, deploy.topics"
    modules = f"cli.main, session.execute, {of_deploy}, clients.probe"
    script = f"""
import importlib, sys
for absent in ("pyspark", "py4j", "pandas"):  # not in requirements/run-controller.txt
    sys.modules[absent] = None
for absent in ("streaming", "sender", "receiver"):  # of the extra `local`, which the image leaves out
    sys.modules["market_spread." + absent] = None
for name in "{modules}".split(", "):
    importlib.import_module("market_spread.controller." + name)
"""
    locked = (ROOT / "requirements" / "run-controller.txt").read_text()
    assert not re.search(r"^(pyspark|py4j|pandas)==", locked, re.MULTILINE)

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr


def test_the_layer_of_jars_copies_exactly_the_modules_that_fetch_them() -> None:
    """Fewer, and the build fails; more, and it rebuilds Spark's layers for a change that cannot matter."""
    source = "services/common/src/"
    needed, found = ["market_spread/common/jvm/jars.py"], {"market_spread/common/jvm/jars.lock"}
    while needed:
        module = needed.pop()
        found.add(module)
        imported = re.findall(
            r"^\s*from (market_spread\.\S+) import", (ROOT / source / module).read_text(), re.MULTILINE
        )
        needed += [name for each in imported if (name := f"{each.replace('.', '/')}.py") not in found]

    copied = re.findall(rf"{source}(\S+\.\S+)", IMAGES["spark"].read_text())

    assert sorted(copied) == sorted(found)


def test_the_stage_of_the_class_archive_copies_what_its_script_reads() -> None:
    folder = "spark/src/market_spread/streaming/"
    script = (ROOT / folder / "class_archive.py").read_text()
    read = {f"class_archive{suffix}" for suffix in re.findall(r'with_suffix\("(\.\w+)"\)', script)}

    copied = re.findall(rf"{folder}(\S+)", IMAGES["spark"].read_text())

    assert sorted(copied) == sorted({"class_archive.py"} | read)
    assert all((ROOT / folder / name).exists() for name in copied)
