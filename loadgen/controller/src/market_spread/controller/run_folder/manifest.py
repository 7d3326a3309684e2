"""The manifest: what a run was made of, as flat names and values under a hash that is the run's identity."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import usage_errors

VERSION = 1

Scalar = str | int | float | bool | None
Section = Mapping[str, Scalar]


@dataclass(frozen=True)
class Manifest:
    """Sections of names and values. Two runs of the same thing have the same ones: no times, ports or paths."""

    sections: Mapping[str, Section]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of the sections, in hexadecimal."""
        canonical = json.dumps(self.sections, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def write(self, path: Path) -> Path:
        """Write it whole, as `read` takes it. OSError if that fails."""
        sections = {name: dict(sorted(values.items())) for name, values in self.sections.items()}
        document = {"version": VERSION, "sha256": self.sha256, "sections": sections}
        return write_whole(path, json.dumps(document, indent=2) + "\n")

    @staticmethod
    def read(path: Path) -> "Manifest":
        """What was written. UsageError if it cannot be read, is of another version, or does not fit its hash."""
        what, kinds = f"the manifest {path} cannot be used", (OSError, ValueError, TypeError, KeyError)
        with usage_errors(what, "name the folder of another run", kinds):
            values = json_object(path.read_bytes(), version=VERSION)
            manifest = Manifest(values["sections"])
            if manifest.sha256 != values["sha256"]:
                raise ValueError("its values do not fit its hash: it was changed after the run")
            return manifest


def flat(values: Mapping[str, object], path: str = "") -> dict[str, Scalar]:
    """Nested mappings and lists as flat names with dots; `a.b` is b of a, `a.0` the first of a list a."""
    result: dict[str, Scalar] = {}
    for name, value in values.items():
        inner = {str(at): each for at, each in enumerate(value)} if isinstance(value, list | tuple) else value
        if isinstance(inner, Mapping):
            result |= flat(inner, f"{path}{name}.")
        else:
            result[f"{path}{name}"] = value if value is None or isinstance(value, str | int | float) else str(value)
    return result
