"""A release's bills of materials are valid CycloneDX, and who changes a byte of it is found out, by real OpenSSL."""

import base64
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.charts.programs import checkov
from tests.supply import release, sbom
from tests.support.paths import ROOT

BASE = "docker.io/library/python@sha256:" + "a" * 64
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
validator = JsonStrictValidator(SchemaVersion.V1_6)
for path in sys.argv[1:]:
    if error := validator.validate_str(open(path).read()):
        sys.exit(f"{path}: {error}")
"""


def make_key(folder: Path, name: str = "key") -> tuple[Path, Path]:
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def verify(folder: Path, key: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([ROOT / ".ci/verify", folder, key], capture_output=True, text=True, check=False)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A small release, and the public key of who signed it."""
    folder = tmp_path / "dist"
    (folder / "images").mkdir(parents=True)
    (folder / "a.whl").write_bytes(b"wheel")
    (folder / "images" / "sender.tar").write_bytes(b"layers")
    private, public = make_key(tmp_path)
    release.attest(folder, private, base=BASE, revision="c0ffee", at=datetime(2026, 11, 28, tzinfo=UTC))
    return folder, public


def test_a_release_as_it_was_signed_is_taken(made: tuple[Path, Path]) -> None:
    ended = verify(*made)

    assert (ended.returncode, ended.stdout) == (0, "3 files are as signed, made of commit c0ffee\n"), ended.stderr
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made[0], check=False)
    assert sums.returncode == 0


def change_byte(folder: Path) -> None:
    (folder / "images" / "sender.tar").write_bytes(b"layerS")


def add_file(folder: Path) -> None:
    (folder / "b.whl").write_bytes(b"wheel")


def remove_file(folder: Path) -> None:
    (folder / "a.whl").unlink()


def change_statement(folder: Path) -> None:
    """A changed file, and a statement that says so."""
    change_byte(folder)
    path = folder / release.PROVENANCE
    envelope = json.loads(path.read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    for subject in statement["subject"]:
        subject["digest"]["sha256"] = release._sha256(folder / subject["name"])
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    path.write_text(json.dumps(envelope))


def cut_envelope(folder: Path) -> None:
    (folder / release.PROVENANCE).write_text('{"payload": "')


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (change_byte, "images/sender.tar is not the signed file"),
        (add_file, "b.whl was not signed"),
        (remove_file, "a.whl is missing"),
        (change_statement, "was not signed with the key"),
        (cut_envelope, "is no signed statement"),
    ],
)
def test_what_was_changed_afterwards_is_refused(
    made: tuple[Path, Path], tamper: Callable[[Path], None], said: str
) -> None:
    tamper(made[0])

    ended = verify(*made)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert said in ended.stderr


def test_another_key_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, other = make_key(tmp_path, "other")

    ended = verify(made[0], other)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "was not signed with the key" in ended.stderr


@pytest.mark.timeout(300)
def test_bills_of_materials_are_valid_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
    first, again = (sbom.write_all(tmp_path / name, BASE) for name in ("first", "again"))

    python = checkov().with_name("python")
    ended = subprocess.run([python, "-c", VALIDATE, *first], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert len(first) == len(sbom.images()) + len(sbom.distributions()) == 16
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    broken = json.loads(first[0].read_text())
    broken["components"][0]["type"] = "jar"
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    refused = subprocess.run([python, "-c", VALIDATE, tmp_path / "broken.json"], capture_output=True, check=False)
    assert refused.returncode == 1
