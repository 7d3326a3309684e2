"""docs/workloads.md: every key of a workload, from the schema that reads it."""

import re
from collections.abc import Iterable
from pathlib import Path

from market_spread.common.schema import Key
from market_spread.controller.plan.system import SYSTEM_WORKLOAD
from market_spread.controller.plan.workload import WORKLOAD
from market_spread.loadgen.recorded import OF_THE_FILES, RECORDED

_UNITS = {"per_s": "1/s", "s": "s", "ms": "ms", "share": "share", "mb": "MB", "gb": "GB"}

# What a workload has besides for a system of the user's.
_OF_SYSTEM = {"system", "kafka", "input", "output", "check"}

_PAGE = Path(__file__).with_name("workload_reference.txt").read_text()


def workload_reference() -> str:
    """The text."""
    of_system = filter(_is_of_system, SYSTEM_WORKLOAD.reference())
    return _PAGE.format(rows=_rows(WORKLOAD.reference()), system_rows=_rows(of_system))


def _is_of_system(key: Key) -> bool:
    first, last = re.split(r"[.\[]", key.path)[0], key.path.rpartition(".")[2]
    return first in _OF_SYSTEM or (key.of == RECORDED and last not in OF_THE_FILES)


def _rows(keys: Iterable[Key]) -> str:
    return "\n".join(map(_row, keys))


def _row(key: Key) -> str:
    unit = re.search(r"_(per_s|s|ms|share|mb|gb)$", key.path)
    meaning = f"`{key.of}`: {key.node['description']}" if key.of else key.node["description"]
    cells = f"`{key.path}`", _UNITS[unit[1]] if unit else "", _values(key), _default(key), meaning
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


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
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float):
        one_in = 0 < default < 0.001
        return f"`1 in {round(1 / default)}`" if one_in else f"{default:g}"
    if key.required:
        return ""
    return "none" if default in (None, "", []) else f"`{default}`" if isinstance(default, str) else f"{default:,}"
