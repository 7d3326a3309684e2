"""Two workloads in turn: in pairs, and within a pair in an order drawn by lot.

So whatever drifts on the machine is as likely for one of a pair as for the other. Each run keeps its place in a file
beside its result, and with it the pairs outlast copies of the runs (`market-spread export`).
"""

import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError

ARMS = ("a", "b")
PAIR_FILE = "pair.json"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run: its pair, by number in a session of `ab`, and its arm. interrupted: by the user."""

    session: str
    number: int
    arm: str
    interrupted: bool = False

    def write(self, folder: Path) -> None:
        """Keep it with the run in the folder."""
        (folder / PAIR_FILE).write_text(json.dumps(asdict(self)) + "\n")


def read_place(folder: Path) -> Place | None:
    """The place of the run in the folder; None if it was made by itself. UsageError if the file is damaged."""
    path = folder / PAIR_FILE
    if not path.exists():
        return None
    try:
        place = Place(**json_object(path.read_bytes()))
        if [type(value) for value in asdict(place).values()] != [str, int, str, bool]:
            raise TypeError(f"{place} is no place")
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is damaged: {error}; delete it, and the run is of no pair") from error
    return place


def order_of(seed: int, number: int) -> tuple[str, ...]:
    """The arms of a pair in the order of their runs. The same seed gives the same order."""
    return tuple(random.Random(f"{seed}/{number}").sample(ARMS, k=len(ARMS)))
