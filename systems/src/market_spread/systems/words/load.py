"""The messages, words, and what is right: each word with how often it has come so far."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any


def words(seed: int) -> Iterator[dict[str, Any]]:
    """Words for as long as the load goes on. The same seed gives the same ones."""
    draw = random.Random(seed)
    for number in count():
        yield {"id": number, "word": draw.choice(("bid", "fill", "limit", "offer", "quote"))}


def check(messages: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """A message and its output, for every output that is to come."""
    seen: Counter[str] = Counter()
    for message in messages:
        said = json.loads(message.value)
        seen[said["word"]] += 1
        yield message, {**said, "count": seen[said["word"]]}
