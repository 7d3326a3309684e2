"""Bills of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json): of each image and of each wheel."""

import json
import uuid
from pathlib import Path
from typing import Any

from tests.supply.inventory import Component, distribution, images, of_image, of_wheel
from tests.support.paths import ROOT

Document = dict[str, Any]


def distributions() -> dict[str, Component]:
    """Our distributions, by their folders."""
    found = [path.parent.relative_to(ROOT) for path in ROOT.glob("*/pyproject.toml")]
    found += [path.parent.relative_to(ROOT) for path in ROOT.glob("*/*/pyproject.toml")]
    return {str(folder): distribution(str(folder)) for folder in sorted(found) if not str(folder).startswith(".")}


def of(subject: Document, components: list[Component], base: str = "") -> Document:
    """The bill of a subject; base: the image, by digest, whose packages it has besides. Made anew, it is the same."""
    listed = [_entry(component) for component in components]
    if base:
        name, _, digest = base.partition("@sha256:")
        content = [{"alg": "SHA-256", "content": digest}] if digest else []
        listed.append({"type": "container", "bom-ref": base, "name": name, "hashes": content})
    body = {
        "metadata": {"component": subject},
        "components": listed,
        "dependencies": [{"ref": subject["bom-ref"], "dependsOn": [each["bom-ref"] for each in listed]}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    schema = "http://cyclonedx.org/schema/bom-1.6.schema.json"
    head = {"$schema": schema, "bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}"}
    return {**head, "version": 1, **body}


def write_all(folder: Path, base: str = "") -> list[Path]:
    """A file for each image and each wheel."""
    ours = distributions()
    version = next(iter(ours.values())).version
    made = {}
    for name in images():
        subject = {"type": "container", "bom-ref": f"image:{name}@{version}", "name": f"market-spread/{name}"}
        made[f"{name}.image.cdx.json"] = of(subject | {"version": version}, of_image(name), base)
    for component in ours.values():
        made[f"{component.name}.wheel.cdx.json"] = of(_entry(component), of_wheel(component.name))
    for name, document in made.items():
        (folder / name).write_text(json.dumps(document, indent=1) + "\n")
    return [folder / name for name in made]


def _entry(component: Component) -> Document:
    group, _, name = component.name.rpartition(":")
    entry = {"type": "library", "bom-ref": component.purl, "name": name, "version": component.version}
    entry |= {"purl": component.purl} | ({"group": group} if group else {})
    return entry | ({"hashes": [{"alg": "SHA-256", "content": component.sha256}]} if component.sha256 else {})
