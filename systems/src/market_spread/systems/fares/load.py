"""The messages: trips, in the order in which they are sent."""

import random
from collections.abc import Iterator
from typing import Any

_CITIES = ("Lima", "Oslo", "Rome")


def trips(seed: int) -> Iterator[dict[str, Any]]:
    """Trips for as long as the load goes on. The same seed gives the same ones."""
    draw, trip_id = random.Random(seed), 0
    while True:
        yield {"trip_id": trip_id, "city": draw.choice(_CITIES), "km": draw.randint(1, 40)}
        trip_id += 1
