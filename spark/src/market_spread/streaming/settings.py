"""Files of Spark's settings: a line is `name=value`, empty or a comment."""

from collections.abc import Mapping
from pathlib import Path


def read_settings(path: Path, values: Mapping[str, object] | None = None) -> dict[str, str]:
    """The settings of a file, by their names. values: what stands in it as `{name}`."""
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    pairs = (line.partition("=") for line in lines)
    return {name: value.format_map(values or {}) for name, _, value in pairs}
