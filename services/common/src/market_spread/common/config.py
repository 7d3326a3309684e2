"""Configuration of a process: environment variables into a frozen dataclass, read once, all errors at once."""

import dataclasses
import os
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from market_spread.common.errors import UsageError

PREFIX = "MARKET_SPREAD_"
# How a text is read as a value of a kind, and what it is if it cannot be.
_KINDS: Mapping[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "a whole number"), float: (float, "a number"),
    bool: ({"true": True, "false": False}.__getitem__, "true or false"), str: (str, "a text"), Path: (Path, "a path"),
}  # fmt: skip

Config = TypeVar("Config")


def from_environment(config_class: type[Config], environment: Mapping[str, str] | None = None) -> Config:
    """An instance of the dataclass, each field from `MARKET_SPREAD_<FIELD>`.

    Fields are str, int, float, bool (`true`/`false`) or Path, or one of these or None, perhaps annotated with their
    meaning; a field without a default must be set. The class may refuse a value in `__post_init__` with a ValueError.
    Raises UsageError naming every variable that is missing, malformed or refused.
    """
    environment = os.environ if environment is None else environment
    hints = typing.get_type_hints(config_class)
    values: dict[str, Any] = {}
    errors: list[str] = []
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        variable = PREFIX + field.name.upper()
        text = environment.get(variable)
        if text is None:
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                errors.append(f"{variable} is not set")
            continue
        read, what = _KINDS[_kind(hints[field.name])]
        try:
            values[field.name] = read(text)
        except (KeyError, ValueError):
            errors.append(f"{variable}={text!r} is not {what}")
    if errors:
        raise UsageError("; ".join([*errors, *_refused(config_class, values)]))
    try:
        return config_class(**values)
    except ValueError as error:
        raise UsageError(str(error)) from error


def environment_help(config_class: type[Any]) -> str:
    """What `from_environment` reads, for a person: each variable, its type and default, and below it its meaning."""
    hints = typing.get_type_hints(config_class)
    annotated = typing.get_type_hints(config_class, include_extras=True)
    lines = ["It is configured by its environment:"]
    for field in dataclasses.fields(config_class):
        kind = _KINDS[_kind(hints[field.name])][1].removeprefix("a ")
        default = "unset" if field.default is None else _text(field.default) or "empty"
        known = "must be set" if field.default is dataclasses.MISSING else f"by default {default}"
        meaning = getattr(annotated[field.name], "__metadata__", [""])[0]
        lines += [f"  {PREFIX}{field.name.upper()}: {kind}, {known}", f"      {meaning}"]
    return "\n".join(lines)


def _kind(hint: Any) -> Any:
    """The type of a value that is there: of `int | None` it is int."""
    return next(kind for kind in (*typing.get_args(hint), hint) if kind is not types.NoneType)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refused(config_class: type[Any], values: dict[str, Any]) -> list[str]:
    """What the class refuses of the values that could be read; nothing if it needs the others to judge them."""
    fields = dataclasses.fields(config_class)
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    incomplete = object.__new__(config_class)
    for name, value in (defaults | values).items():
        object.__setattr__(incomplete, name, value)
    try:
        incomplete.__post_init__()
    except ValueError as error:
        return [str(error)]
    except AttributeError as error:  # of a value that is missing; or the class refuses nothing
        if error.obj is not incomplete:
            raise
    return []


def to_environment(config: object) -> dict[str, str]:
    """The variables from which `from_environment` makes the same dataclass."""
    return {
        PREFIX + name.upper(): _text(value)
        for name, value in dataclasses.asdict(config).items()  # type: ignore[call-overload]
        if value is not None
    }


def inherited_environment() -> dict[str, str]:
    """A copy of this process's environment, for a child, without our own variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def foreign_environment(prefix: str) -> dict[str, str]:
    """What someone else tells this process: a copy of the variables whose names begin so."""
    return {name: value for name, value in os.environ.items() if name.startswith(prefix)}


def home_folder(name: str) -> Path:
    """A folder of ours below the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "market-spread" / name


def java_home() -> str | None:
    """The user's `JAVA_HOME`, None if it is not set."""
    return os.environ.get("JAVA_HOME") or None


def pyspark_without_jvm() -> AbstractContextManager[None]:
    """PySpark's functions make the columns of Spark Connect meanwhile, which need no JVM."""
    return _environment_with({"SPARK_CONNECT_MODE_ENABLED": "1"})


def environment_of_spark(library_folder: str) -> AbstractContextManager[None]:
    """What a Spark of this process takes from the environment, unless it is set: while its JVM starts, and no longer.

    Its Python workers run the Python that this process runs: Spark would take the first `python3` of the path, which
    need not have our packages. RocksDB unpacks its library in the folder, which must last as long as the JVM does:
    elsewhere it leaves 15 MB in /tmp at each start.
    """
    return _environment_with({"PYSPARK_PYTHON": sys.executable, "ROCKSDB_SHAREDLIB_DIR": library_folder})


@contextmanager
def _environment_with(wanted: Mapping[str, str]) -> Iterator[None]:
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ |= added
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
