"""Schemas: frozen dataclasses whose fields are the keys of a file or message, and say what is right for each.

A field is `Annotated[int, number(1, 9, "What it means.")]`, with `number`, `choice`, `text` or `flag`; another such
dataclass is a part. Rules between fields are pydantic's validators, which raise ValueError, with a line for each
sentence; one that begins with a dot speaks of a key of the outermost dataclass (`.limits.p99_ms`). The outermost
dataclass has `__pydantic_config__ = ONLY_KNOWN_KEYS`. Objects that code makes are not checked.
"""

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from market_spread.common.errors import UsageError, usage_errors

Value = TypeVar("Value")
Node = Mapping[str, Any]

ONLY_KNOWN_KEYS = ConfigDict(extra="forbid")


def number(low: float, high: float, meaning: str, *, name: str | None = None) -> Any:
    """A number from low to high, whole if the field is an int. name: the key, if it cannot be a field's name."""
    return Field(strict=True, ge=low, le=high, description=meaning, alias=name)


def choice(choices: Sequence[str], meaning: str) -> Any:
    """One of some words."""
    pattern = f"^({'|'.join(map(re.escape, choices))})$"
    return Field(strict=True, pattern=pattern, description=meaning, json_schema_extra={"enum": list(choices)})


def text(meaning: str, *, pattern: str = "", remedy: str = "use a text") -> Any:
    """A text. pattern: what it must match as a whole, which the remedy says in words."""
    pattern = f"^(?:{pattern})$" if pattern else ""
    return Field(strict=True, pattern=pattern, description=meaning, json_schema_extra={"remedy": remedy})


def flag(meaning: str) -> Any:
    """True or false."""
    return Field(strict=True, description=meaning)


def exactly_one_of(*names: str) -> Any:
    """A validator, for a dataclass that has just one of these keys."""

    def is_one(given: Value) -> Value:
        if sum(getattr(given, name) is not None for name in names) != 1:
            raise ValueError(f"{', '.join(names)}; give exactly one of them")
        return given

    return model_validator(mode="after")(is_one)


def value_of(kind: type[Value], mapping: object) -> Value:
    """The dataclass that a program wrote, of its `asdict`; other keys are left out. ValueError naming what is wrong."""
    try:
        return TypeAdapter(kind).validate_python(mapping)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


class Schema(Generic[Value]):
    """Reads values of a dataclass from mappings and files, and writes them. It is built when it is first used."""

    def __init__(self, kind: type[Value]) -> None:
        self._kind = kind

    def read(self, mapping: Mapping[str, object]) -> Value:
        """The value of a mapping. UsageError naming all that is wrong with it, and what would be right."""
        try:
            return self._adapter.validate_python(mapping)
        except ValidationError as error:
            raise UsageError("; ".join(self._sentences(error))) from None

    def read_yaml(self, path: Path, what: str, first: str, refused: Mapping[str, str] | None = None) -> Value:
        """The value of a YAML file. UsageError naming the file, and the line of all that is wrong.

        what: what the file is, for people: "workload"; first: the key that it begins with; refused: keys that it cannot
        have here, and why, with the remedy.
        """
        with usage_errors(f"the {what} {path} cannot be read", "name a YAML file"):
            content = path.read_text("utf-8")
        try:
            mapping = yaml.safe_load(content)
            lines, wrong = _lines(content, path)
        except (yaml.YAMLError, ValueError, RecursionError) as error:  # there is no 31st of February, nor such depth
            raise UsageError(f"the {what} {path} is no YAML: {' '.join(str(error).split())}") from error
        if not isinstance(mapping, dict):
            raise UsageError(f"the {what} {path} is no mapping; start with {first}:")
        try:
            value = self._adapter.validate_python(mapping)
        except ValidationError as error:
            wrong += [(_line(sentence, lines), sentence) for sentence in self._sentences(error)]
        wrong += [(lines[key], f"{key}: {why}") for key, why in (refused or {}).items() if key in lines]
        if wrong:
            raise UsageError("\n".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(wrong)))
        return value

    def to_mapping(self, value: Value) -> dict[str, Any]:
        """What JSON and YAML can hold, and `read` makes the same value of; whole numbers are whole."""
        dumped = self._adapter.dump_json(value, by_alias=True, exclude_none=True)
        return {**json.loads(dumped, parse_float=lambda it: int(n) if (n := float(it)).is_integer() else n)}

    def to_json(self, value: Value) -> str:
        return json.dumps(self.to_mapping(value))

    @cached_property
    def _adapter(self) -> TypeAdapter[Value]:
        return TypeAdapter(self._kind)

    @cached_property
    def _json(self) -> Node:
        return self._adapter.json_schema()

    def _sentences(self, error: ValidationError) -> list[str]:
        found = error.errors(include_url=False)
        # A list whose items are wrong is called too short as well.
        places = {each["loc"][:-1] for each in found} | {each["loc"][:-2] for each in found}
        return [
            sentence
            for each in found
            if each["type"] != "too_short" or each["loc"] not in places
            for sentence in self._of_error(each["type"], each["loc"], each["input"], each.get("ctx", {}))
        ]

    def _of_error(self, kind: str, loc: tuple[int | str, ...], given: Any, context: Node) -> list[str]:
        if kind == "invalid_key":  # YAML has keys that are no text
            loc = (*loc[:-1], str(given))
        path, node = self._place(loc)
        # Aliases can make a part that is small in its file and endless when it is written out.
        shown = reprlib.repr(given) if isinstance(given, dict | list) else repr(given)
        sentences = [f"{path}={shown}; {_remedy(node)}"]
        match kind:
            case "missing":
                sentences = [f"{path} is missing; {_remedy(node)}"]
            case "unexpected_keyword_argument" | "invalid_key":
                sentences = [f"{path} is unknown; leave it out"]
            case "union_tag_not_found" | "union_tag_invalid":
                name, kinds = node["discriminator"]["propertyName"], ", ".join(node["discriminator"]["mapping"])
                wrong = f"{name}={reprlib.repr(given[name])}" if name in given else f"{name} is missing"
                sentences = [f"{path}.{wrong}; use one of {kinds}".lstrip(".")]
            case "value_error" if isinstance(given, Mapping) or is_dataclass(given):
                lines = str(context["error"]).splitlines()
                sentences = [(line if line[0] == "." else f"{path}.{line}").lstrip(".") for line in lines]
            case "value_error":
                sentences = [f"{path}={shown}; {context['error']}"]
        return sentences

    def _place(self, loc: tuple[int | str, ...]) -> tuple[str, Node]:
        """The path of a key for people, and what the schema says of it."""
        path, node = "", self._json
        for step in loc:
            if "discriminator" in node:
                node = self._resolved({"$ref": node["discriminator"]["mapping"][step]})
            elif isinstance(step, int):
                path, node = f"{path}[{step}]", self._resolved(node["items"])
            else:
                path, node = f"{path}.{step}", self._resolved(node.get("properties", {}).get(step, {}))
        return path.lstrip("."), node

    def _resolved(self, node: Node) -> Node:
        for kind in node.get("anyOf", []):
            if kind != {"type": "null"}:
                return {**node, **self._resolved(kind)}
        return self._json["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def _remedy(node: Node) -> str:
    """What would be right, for people."""
    choices = node.get("enum", [node["const"]] if "const" in node else [])
    if choices or "remedy" in node:
        remedy: str = node.get("remedy", f"use one of {', '.join(choices)}")
        return remedy
    if "minimum" in node:
        low, high = node["minimum"], node["maximum"]
        is_whole = node["type"] == "integer"
        return f"use a whole number from {low} to {high}" if is_whole else f"use a number from {low:g} to {high:g}"
    if node.get("type") == "array":
        items = node["items"]
        kinds = items.get("enum", ["texts" if items.get("type") == "string" else "objects"])
        return f"use a list of {', '.join(kinds)}"
    return {"boolean": "use true or false", "string": "use a text"}.get(node.get("type", ""), "use an object")


def _lines(content: str, file: Path) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """The line of each key by its path (`market.symbols`), and the lines of keys that stand twice.

    What an alias repeats has the line of the alias's key. UsageError if an alias puts a part of the file within itself.
    """
    lines: dict[str, int] = {}
    twice: list[tuple[int, str]] = []
    is_around: dict[int, bool] = {}  # of the parts that were met: whether they contain the one that is met now

    def note(node: Any, path: str) -> None:
        if is_around.get(id(node)):
            sentence = "this part contains itself; write it out without the alias"
            raise UsageError(f"{file}:{node.start_mark.line + 1}: {sentence}")
        if id(node) in is_around:
            return
        is_around[id(node)] = True
        if isinstance(node, yaml.ScalarNode):
            node.value.encode()  # YAML can name half a character, which no file can hold
        parts: list[tuple[str, Any, Any]] = []
        if isinstance(node, yaml.MappingNode):
            parts = [(f"{path}.{key.value}" if path else str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            parts = [(f"{path}[{index}]", value, value) for index, value in enumerate(node.value)]
        for name, begin, value in parts:
            line = begin.start_mark.line + 1
            if name in lines and begin is not value:  # the items of a list that stands twice go without saying
                twice.append((line, f"{name} stands in line {lines[name]} already; leave one of them out"))
            lines[name] = line
            note(value, name)
        is_around[id(node)] = False

    note(yaml.compose(content, Loader=yaml.SafeLoader), "")
    return lines, twice


def _line(sentence: str, lines: Mapping[str, int]) -> int:
    """The line of what a sentence speaks of, or of the part that lacks it."""
    name = re.split(r"[= ]", sentence, maxsplit=1)[0]
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name, 1)
