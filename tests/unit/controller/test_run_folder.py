"""The manifest: its hash, and what damages it."""

import json
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.run_folder import Manifest, flat

ONE = Manifest({"cpu": {"model": "A CPU", "threads": 2}, "spark": {"version": "4.3.0"}})


def test_hash_is_that_of_the_canonical_json() -> None:
    # sha256 of {"a":{"b":1,"c":null}}
    manifest = Manifest({"a": {"c": None, "b": 1}})

    assert manifest.sha256 == "63f041290813046c4470924faf1e190409dfd8712183730f9b70a1f99148c09b"


def test_order_of_names_does_not_matter_and_values_do() -> None:
    twin = Manifest({"spark": {"version": "4.3.0"}, "cpu": {"threads": 2, "model": "A CPU"}})
    other = Manifest({"spark": {"version": "4.3.0"}, "cpu": {"threads": 4, "model": "A CPU"}})

    assert twin.sha256 == ONE.sha256
    assert other.sha256 != ONE.sha256


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = ONE.write(tmp_path / "manifest.json")

    assert Manifest.read(path) == ONE
    assert list(tmp_path.iterdir()) == [path]


def test_a_manifest_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = ONE.write(tmp_path / "manifest.json")
    path.write_text(path.read_text().replace("A CPU", "B CPU"))

    with pytest.raises(UsageError, match="do not fit its hash"):
        Manifest.read(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"version": 2, "sha256": "", "sections": {}})])
def test_what_is_no_manifest_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)

    with pytest.raises(UsageError, match=r"^the manifest .* cannot be used: .*; name the folder of another run$"):
        Manifest.read(path)


def test_nested_values_get_names_with_dots() -> None:
    assert flat({"load": {"steps": [{"rate": 1}, {"rate": 2}]}, "seed": 7, "path": Path("a")}) == {
        "load.steps.0.rate": 1,
        "load.steps.1.rate": 2,
        "seed": 7,
        "path": "a",
    }
