"""Configuration that refuses values by itself: as much as can be told is told at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from market_spread.common.config import environment_help, from_environment
from market_spread.common.errors import UsageError


@dataclass(frozen=True, slots=True)
class Span:
    """A class that needs two of its fields to judge one."""

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        if self.step < 1:
            raise ValueError(f"step={self.step}; use at least 1")
        if self.low > self.high:
            raise ValueError(f"low={self.low}; use at most high={self.high}")


def errors_of(**variables: str) -> str:
    with pytest.raises(UsageError) as raised:
        from_environment(Span, {f"MARKET_SPREAD_{name.upper()}": text for name, text in variables.items()})
    return str(raised.value)


def test_refusal_stands_beside_what_is_missing() -> None:
    assert errors_of(low="1", step="0") == "MARKET_SPREAD_HIGH is not set; step=0; use at least 1"


def test_refusal_stands_beside_what_is_malformed() -> None:
    assert errors_of(low="5", high="2", step="x") == (
        "MARKET_SPREAD_STEP='x' is not a whole number; low=5; use at most high=2"
    )


def test_what_a_refusal_would_need_is_not_made_up() -> None:
    assert errors_of(low="5") == "MARKET_SPREAD_HIGH is not set"


def test_refusal_alone_is_told() -> None:
    assert errors_of(low="5", high="2") == "low=5; use at most high=2"


@dataclass(frozen=True, slots=True)
class Place:
    """A class of every type, with and without a meaning."""

    folder: Annotated[Path, "Where it is."]
    name: Annotated[str | None, "What it is called."] = None
    kind: str = ""
    open: bool = True
    share: float = 0.5


def test_help_has_type_default_and_meaning_of_each_variable() -> None:
    assert environment_help(Place).splitlines() == [
        "It is configured by its environment:",
        "  MARKET_SPREAD_FOLDER: path, must be set",
        "      Where it is.",
        "  MARKET_SPREAD_NAME: text, by default unset",
        "      What it is called.",
        "  MARKET_SPREAD_KIND: text, by default empty",
        "      ",
        "  MARKET_SPREAD_OPEN: true or false, by default true",
        "      ",
        "  MARKET_SPREAD_SHARE: number, by default 0.5",
        "      ",
    ]


def test_a_meaning_changes_nothing_of_what_is_read() -> None:
    variables = {"MARKET_SPREAD_FOLDER": "/tmp", "MARKET_SPREAD_NAME": "x"}

    assert from_environment(Place, variables) == Place(Path("/tmp"), "x")
