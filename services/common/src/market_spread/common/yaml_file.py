"""Reading a YAML file as a whole: every error is told at once, with file and line."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from market_spread.common.errors import UsageError
from market_spread.common.mapping import MappingReader

Value = TypeVar("Value")


def read_yaml(path: Path, what: str, first: str, read: Callable[[MappingReader, Mapping[str, object]], Value]) -> Value:
    """What `read` makes of the file's mapping, which it is given in a reader and as it stands.

    what: what the file is, for people: "workload"; first: the key that it begins with. Raises UsageError naming the
    file and, of every error that the reader noted, the line.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the {what} {path} cannot be read: {reason}; name a YAML file") from error
    try:
        mapping = yaml.safe_load(text)
        lines = _lines(text)
    except yaml.YAMLError as error:
        raise UsageError(f"the {what} {path} is no YAML: {' '.join(str(error).split())}") from error
    except _ContainsItselfError as error:
        raise UsageError(f"{path}:{error.line}: this part contains itself; write it out without the alias") from error
    if not isinstance(mapping, dict):
        raise UsageError(f"the {what} {path} is no mapping; start with {first}:")
    reader = MappingReader(mapping)
    value = read(reader, mapping)
    errors = reader.errors()
    if errors:
        raise UsageError("\n".join(_with_line(path, sentence, lines) for sentence in errors))
    return value


class _ContainsItselfError(Exception):
    """A part of the file that an alias puts within itself. `line` is where it begins."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _lines(text: str) -> dict[str, int]:
    """The line of each key by its path (`market.symbols`); what an alias repeats has the line of the alias's key."""
    lines: dict[str, int] = {}
    seen: set[int] = set()
    around: set[int] = set()

    def note(node: Any, path: str) -> None:
        if id(node) in around:
            raise _ContainsItselfError(node.start_mark.line + 1)
        if id(node) in seen:
            return
        seen.add(id(node))
        around.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = f"{path}{key.value}"
                lines[name] = key.start_mark.line + 1
                note(value, f"{name}.")
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                lines[f"{path[:-1]}[{index}]"] = value.start_mark.line + 1
                note(value, f"{path[:-1]}[{index}].")
        around.remove(id(node))

    note(yaml.compose(text, Loader=yaml.SafeLoader), "")
    return lines


def _with_line(path: Path, sentence: str, lines: Mapping[str, int]) -> str:
    """The sentence with the file and the line of what it speaks of, or of the part that lacks it."""
    name = re.split(r"[= ]", sentence, maxsplit=1)[0]
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return f"{path}:{lines.get(name, 1)}: {sentence}"
