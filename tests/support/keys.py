"""The keys of a schema, one by one: for their reference, and for what is tested of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from market_spread.common.schema import Node, Schema, _remedy


@dataclass(frozen=True, slots=True)
class Key:
    """A key for its reference. path: `market.symbols`; of: the kind that has it, if not all; node: its JSON schema."""

    path: str
    of: str
    required: bool
    node: Node

    @property
    def remedy(self) -> str:
        return _remedy(self.node)


def keys_of(schema: Schema[Any]) -> Iterator[Key]:
    """In the order of the fields, those of parts behind them."""
    yield from _keys(schema, schema._json, "", "")


def _keys(schema: Schema[Any], node: Node, path: str, of: str) -> Iterator[Key]:
    for name, kind in node["properties"].items():
        inner, here = schema._resolved(kind), f"{path}{name}"
        kinds: Mapping[str, str] = inner.get("discriminator", {}).get("mapping", {})
        if kinds:
            tag, described = inner["discriminator"]["propertyName"], inner.get("description", "")
            yield Key(f"{here}.{tag}", "", True, {"enum": list(kinds), "description": described})
        for each, reference in kinds.items():
            yield from _keys(schema, schema._resolved({"$ref": reference}), f"{here}.", each)
        items = schema._resolved(inner.get("items", {}))
        if "properties" in inner:
            yield from _keys(schema, inner, f"{here}.", of)
        elif "properties" in items:
            yield from _keys(schema, items, f"{here}[].", of)
        elif not kinds and "const" not in inner:
            yield Key(here, of, name in node.get("required", []), inner)
