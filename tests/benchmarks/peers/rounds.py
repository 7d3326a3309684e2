"""What was measured, a line each, round by round: kept, gone on with, and drawn into another order every round."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contenders import Contender
from figures import Figure

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure of a contender in a round. place: in it, from 1; began: ISO 8601, UTC; commit: of this project."""

    round: int
    figure: str
    contender: str
    place: int
    began: str
    commit: str | None
    values: Values


@dataclass(frozen=True, slots=True)
class Turn:
    """What is to be measured next."""

    round: int
    figure: Figure
    contender: Contender
    place: int


def turns(
    figures: Sequence[Figure], contenders: Sequence[Contender], rounds: int, done: Sequence[Measurement]
) -> Iterator[Turn]:
    """What is still to be measured, round by round, in each the systems of a figure in an order of its own.

    So a slow hour of the machine meets all, none always follows the same one, and a race may be gone on with later.
    """
    known = {(it.round, it.figure, it.contender) for it in done}
    for number in range(1, rounds + 1):
        for figure in figures:
            order = [contender for contender in contenders if figure.takes(contender)]
            random.Random(f"{number} {figure.name}").shuffle(order)
            for place, contender in enumerate(order, 1):
                if (number, figure.name, contender.name) not in known:
                    yield Turn(number, figure, contender, place)


def read(path: Path) -> list[Measurement]:
    """Those of a file; none if there is no file."""
    return [Measurement(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, measurement: Measurement) -> None:
    """Add one to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(measurement)) + "\n")
