"""The README of each chart: its values, with what their schema allows and the comments of values.yaml.

`python -m tests.charts.readme` writes them all.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.charts.catalog import CHARTS, Object

# A value that is left out unless someone sets it, with an example.
OPTIONAL = re.compile(r" *# (?P<name>\w+): \S+")
HEAD = """\
# {name}

{description}.

Written by `make generated` from `values.yaml` and `values.schema.json`; a test proves it fresh.
[docs/kubernetes.md](../../docs/kubernetes.md) says how the charts are used. A key that is not here is
refused, and so is a value that cannot work.

It needs Kubernetes {kubernetes}{more}.

| value | what it takes | default | |
|---|---|---|---|
"""


def readme(chart: Path) -> str:
    """The page of a chart."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    karpenter = about.get("annotations", {}).get("market-spread.io/karpenter")
    head = HEAD.format(
        name=about["name"],
        description=about["description"],
        kubernetes=about["kubeVersion"].replace("-0", ""),
        more=f" and Karpenter {karpenter}" if karpenter else "",
    )
    schema = json.loads((chart / "values.schema.json").read_text())
    text = (chart / "values.yaml").read_text()
    rows = [
        f"| `{path}` | {takes(part_of(schema, path), schema)} | {default} | {comment} |"
        for path, default, comment in values(yaml.compose(text), text.splitlines(), schema)
    ]
    return head + "\n".join(rows) + "\n"


def values(node: yaml.Node | None, lines: list[str], schema: Object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, default and comment of every value that has none below it; also of those that are commented out."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        for key, value in node.value:
            yield from values(value, lines, schema, f"{path}.{key.value}".lstrip("."))
        for name in part_of(schema, path).get("properties", {}):
            for at, line in enumerate(lines):
                if (found := OPTIONAL.fullmatch(line)) and found["name"] == name:
                    yield f"{path}.{name}", "none", comment(lines, at)
        return
    assert node is not None
    given = yaml.safe_load(yaml.serialize(node))
    yield path, "none" if given in ("", [], {}) else f"`{json.dumps(given)}`", comment(lines, node.start_mark.line)


def comment(lines: list[str], at: int) -> str:
    """The comment right above a line."""
    found: list[str] = []
    for line in reversed(lines[:at]):
        if not line.lstrip().startswith("#") or OPTIONAL.fullmatch(line):
            break
        found.insert(0, line.lstrip().removeprefix("#").strip())
    return " ".join(found).replace("|", "\\|").replace("<", "&lt;")


def part_of(schema: Object, path: str) -> Object:
    """The part of a schema that is about a value."""
    part = schema
    for name in split(path) if path else ():
        part = resolved(part, schema)
        known = part.get("properties", {})
        if name not in known:
            return next(iter(part["patternProperties"].values()))
        part = known[name]
    return resolved(part, schema)


def split(path: str) -> list[str]:
    """Its names; a kernel parameter is one."""
    head, found, tail = path.partition(".sysctls.")
    return [*head.split("."), "sysctls", tail] if found else path.split(".")


def resolved(part: Object, schema: Object) -> Object:
    """The part with its reference looked up."""
    return schema["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def takes(part: Object, schema: Object) -> str:
    """What a value may be, in words."""
    if "enum" in part:
        return "one of " + ", ".join(f"`{json.dumps(each)}`" for each in part["enum"])
    if "oneOf" in part or "allOf" in part:
        listed: list[Object] = part["oneOf"] if "oneOf" in part else part["allOf"]
        found = [takes(resolved(each, schema), schema) for each in listed]
        return (" or " if "oneOf" in part else ", ").join(filter(None, found))
    kind: Any = part.get("type", "")
    if isinstance(kind, list):
        return " or ".join(each if each == "null" else takes({**part, "type": each}, schema) for each in kind)
    words = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "mapping"}
    said = words.get(kind, kind)
    if kind == "array":
        return f"list of {takes(resolved(part['items'], schema), schema)}"
    if "minimum" in part and "maximum" in part:
        said += f", {part['minimum']:,} to {part['maximum']:,}"
    description = part.get("description", "")
    return re.sub(r"\|", "\\|", f"{said} ({description})" if description else said)


if __name__ == "__main__":
    for each in CHARTS:
        (each / "README.md").write_text(readme(each))
