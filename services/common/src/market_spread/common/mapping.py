"""Reading a JSON object field by field, so that every error in it is named at once."""

from collections.abc import Mapping, Sequence

from market_spread.common.errors import UsageError


class MappingReader:
    """Takes the values of a mapping, notes what is wrong, and goes on; `finish` raises all of it.

    Of a value that is wrong a legal stand-in is returned, which no one sees once `finish` has raised.
    """

    def __init__(self, mapping: Mapping[str, object], path: str = "") -> None:
        self._mapping = mapping
        self._path = path
        self._read: set[str] = set()
        self._errors: list[str] = []
        self._parts: list[MappingReader] = []

    def integer(self, name: str, *, low: int, high: int, default: int | None = None) -> int:
        """The whole number of that name, from low to high. Without a default it must be there."""
        value = self._take(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self._wrong(name, f"use a whole number from {low} to {high}")
        return low

    def number(self, name: str, *, low: float, high: float, default: float | None = None) -> float:
        """The number of that name, from low to high. Without a default it must be there."""
        value = self._take(name, default)
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            return value
        self._wrong(name, f"use a number from {low:g} to {high:g}")
        return low

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """The text of that name, one of the choices. Without a default it must be there."""
        value = self._take(name, default)
        if isinstance(value, str) and value in choices:
            return value
        self._wrong(name, f"use one of {', '.join(choices)}")
        return choices[0]

    def text(self, name: str) -> str:
        """The text of that name; it must be there, and not be empty."""
        value = self._take(name, None)
        if isinstance(value, str) and value:
            return value
        self._wrong(name, "use a text")
        return ""

    def texts(self, name: str) -> list[str]:
        """The list of texts of that name, none of them empty; it must be there."""
        value = self._take(name, None)
        if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
            return value
        self._wrong(name, "use a list of texts")
        return []

    def optional_boolean(self, name: str) -> bool | None:
        """The truth value of that name, None if it is not there."""
        value = self._take(name, None)
        if isinstance(value, bool):
            return value
        if name in self._mapping:
            self._wrong(name, "use true or false")
        return None

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return name in self._mapping

    def is_part(self, name: str) -> bool:
        """Whether there is an object of that name."""
        return isinstance(self._mapping.get(name), Mapping)

    def names(self) -> list[str]:
        """Every name that is a text, in order; none of them is read by that."""
        return [name for name in self._mapping if isinstance(name, str)]

    def some_of(self, name: str, choices: Sequence[str]) -> tuple[str, ...]:
        """The list of that name, each one of the choices; empty if it is not there."""
        value = self._take(name, [])
        if isinstance(value, list) and all(isinstance(item, str) and item in choices for item in value):
            return tuple(value)
        self._wrong(name, f"use a list of {', '.join(choices)}")
        return ()

    def part(self, name: str) -> "MappingReader":
        """The object of that name, which must be there. Its errors are raised with these."""
        value = self._take(name, None)
        if isinstance(value, Mapping):
            return self._part(value, name)
        self._wrong(name, "use an object")
        return MappingReader({})

    def optional_part(self, name: str) -> "MappingReader":
        """The object of that name, empty if it is not there. Its errors are raised with these."""
        return self.part(name) if name in self._mapping else MappingReader({})

    def parts(self, name: str) -> "list[MappingReader]":
        """The objects in the list of that name, which must be there. Their errors are raised with these."""
        value = self._take(name, None)
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            return [self._part(item, f"{name}[{i}]") for i, item in enumerate(value)]
        self._wrong(name, "use a list of objects")
        return []

    def refuse(self, error: str) -> None:
        """Note an error that lies between fields."""
        self._errors.append(f"{self._path}{error}")

    @property
    def clean(self) -> bool:
        """Whether nothing was wrong so far, here and in the parts."""
        return not self._errors and all(part.clean for part in self._parts)

    def skip(self, *names: str) -> None:
        """Let fields of these names stand unread."""
        self._read.update(names)

    def finish(self) -> None:
        """Raise UsageError naming all that was wrong, and every field that no one has read."""
        errors = self.errors()
        if errors:
            raise UsageError("; ".join(errors))

    def errors(self) -> list[str]:
        """A sentence for all that was wrong so far, and for every field that no one has read, parts included."""
        unknown = sorted(str(name) for name in set(self._mapping) - self._read)  # YAML has keys that are no text
        errors = [*self._errors, *(f"{self._path}{name} is unknown; leave it out" for name in unknown)]
        return errors + [error for part in self._parts for error in part.errors()]

    def _take(self, name: str, default: object) -> object:
        self._read.add(name)
        return self._mapping.get(name, default)

    def _wrong(self, name: str, remedy: str) -> None:
        if name in self._mapping:
            self.refuse(f"{name}={self._mapping[name]!r}; {remedy}")
        else:
            self.refuse(f"{name} is missing; {remedy}")

    def _part(self, mapping: Mapping[str, object], name: str) -> "MappingReader":
        self._parts.append(MappingReader(mapping, f"{self._path}{name}."))
        return self._parts[-1]
