"""docs/workloads.md: every key of a workload, from the schema that reads it."""

import re
from collections.abc import Iterator
from pathlib import Path

from market_spread.common.schema import Key
from market_spread.controller.plan.workload import WORKLOAD

_UNITS = {"per_s": "1/s", "s": "s", "ms": "ms", "share": "share", "mb": "MB", "gb": "GB"}

_PAGE = Path(__file__).with_name("workload_reference.txt").read_text()


def workload_reference() -> str:
    """The text."""
    return _PAGE.format(rows="\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in _rows()))


def _rows() -> Iterator[tuple[str, ...]]:
    for key in WORKLOAD.reference():
        meaning = f"`{key.of}`: {key.node['description']}" if key.of else key.node["description"]
        yield f"`{key.path}`", _unit(key.path), _values(key), _default(key), meaning


def _unit(path: str) -> str:
    end = re.search(r"_(per_s|s|ms|share|mb|gb)$", path)
    return _UNITS[end[1]] if end else ""


def _values(key: Key) -> str:
    """What would be right, as it is said of a wrong value."""
    words = key.remedy.removeprefix("use ")
    for start in ("one of ", "a list of "):
        if words.startswith(start):
            return start + ", ".join(f"`{word}`" for word in words.removeprefix(start).split(", "))
    if "minimum" in key.node:
        whole = "whole, " if key.node["type"] == "integer" else ""
        return f"{whole}{key.node['minimum']:,} to {key.node['maximum']:,}"
    return words.removeprefix("a ")


def _default(key: Key) -> str:
    default = key.node.get("default")
    if isinstance(default, float):
        one_in = 0 < default < 0.001
        return f"`1 in {round(1 / default)}`" if one_in else f"{default:g}"
    if key.required:
        return ""
    return "none" if default in (None, "", []) else f"`{default}`" if isinstance(default, str) else f"{default:,}"
