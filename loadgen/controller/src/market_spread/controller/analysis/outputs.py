"""Judges the outputs of a system of the user's: each message has its output, once, and it is what the check says."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import OUTPUTS_OF_TOPIC
from market_spread.loadgen.message_files import Value
from market_spread.loadgen.oracle.oracle import SENTENCES_MAX, Judgement

_SHOWN_CHARACTERS_MAX = 120
FAULTS = ("missing", "unexpected", "duplicated", "wrong")

# Outputs by their numbers, each as `comparable`.
Outputs = Mapping[int, "Counter[str]"]
# How often a message may have been read, by its number: a system does again what it had not committed when it ended.
ReadsMax = Callable[[int], int]


def comparable(value: Value) -> str:
    """What an output is compared by: JSON whatever the order of its keys and its blanks, all else to the byte.

    TypeError or ValueError for a value that is neither bytes nor text and cannot be JSON.
    """
    data = value.encode() if isinstance(value, str) else value
    if isinstance(data, bytes):
        try:
            value = json.loads(data, object_pairs_hook=_of_distinct_keys)
        except ValueError:
            return data.decode("latin-1")
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _of_distinct_keys(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """ValueError where a key is there twice: which of both values counts depends on who reads it."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def counted(outputs: Iterable[tuple[int, str]]) -> dict[int, "Counter[str]"]:
    """Outputs, each as `comparable`, by message."""
    found: dict[int, Counter[str]] = {}
    for number, value in outputs:
        found.setdefault(number, Counter())[value] += 1
    return found


def judge_counts(
    sent: int, answered: Int64s, are_one: Sequence[bool], names: Sequence[str], reads_max: ReadsMax = lambda _: 1,
    due_us: Int64s | None = None,
) -> Judgement:  # fmt: skip
    """Without a check: each message has exactly one output in a topic, or (`are_one` has False) any number.

    answered: the `output_number` of each output, in order of receipt; due_us: when the message of each was due, if
    known; names: of the topics.
    """
    faults: dict[str, list[str]] = {kind: [] for kind in FAULTS}
    received = duplicated = replayed = 0
    missing_us: list[float] = []
    for topic, is_one in enumerate(are_one):
        where, here = _where(topic, names), answered // OUTPUTS_OF_TOPIC == topic
        firsts, at, counts = np.unique(answered[here] % OUTPUTS_OF_TOPIC, return_index=True, return_counts=True)
        received += len(firsts)
        unknown = firsts[firsts >= sent].tolist()
        faults["unexpected"] += [f"an output{where} names message {number}, which was not sent" for number in unknown]
        if is_one:
            missing, twice = np.setdiff1d(np.arange(sent), firsts).tolist(), counts > 1
            if due_us is not None and len(firsts):  # one without an output was due between its neighbours
                missing_us += np.interp(missing, firsts, due_us[here][at]).tolist()
            faults["missing"] += [f"message {number} has no output{where}" for number in missing]
            for number, count in zip(firsts[twice].tolist(), counts[twice].tolist(), strict=True):
                if count <= reads_max(number):
                    replayed += count - 1
                else:
                    duplicated += count - 1
                    faults["duplicated"].append(f"message {number} has {count} outputs{where} instead of one")
    found = _judgement(sent, faults, received=received, expected=sent * len(names))
    return replace(found, duplicated=duplicated, replayed=replayed, missing_us=tuple(map(round, missing_us)))


def judge_checked(
    sent: int, expected: Outputs, got: Outputs, names: Sequence[str], due_us: Mapping[int, int] | None = None,
    reads_max: ReadsMax = lambda _: 1,
) -> Judgement:  # fmt: skip
    """By a check: each message has the outputs it expects, by `output_number`; due_us: when each was due, if known."""
    missing_us, replayed = [], 0
    faults: dict[str, list[str]] = {kind: [] for kind in FAULTS}
    for number in sorted(expected.keys() | got.keys()):
        who, where = f"message {number % OUTPUTS_OF_TOPIC}", _where(number // OUTPUTS_OF_TOPIC, names)
        right, came = expected.get(number, Counter()), got.get(number, Counter())
        lacking, beyond = list((right - came).elements()), list((came - right).elements())
        for value in [each for each in beyond if each in right]:
            beyond.remove(value)
            if came[value] <= right[value] * reads_max(number % OUTPUTS_OF_TOPIC):
                replayed += 1
            else:
                faults["duplicated"].append(f"{who} has the output {_shown(value)}{where} once more than is right")
        for right_value, value in zip(lacking, beyond, strict=False):
            faults["wrong"].append(f"{who} has the output {_shown(value)}{where} instead of {_shown(right_value)}")
        faults["missing"] += [f"{who} lacks the output {_shown(value)}{where}" for value in lacking[len(beyond) :]]
        missing_us += [due_us[number % OUTPUTS_OF_TOPIC] for _ in lacking[len(beyond) :] if due_us]
        faults["unexpected"] += [
            f"{who} has the output {_shown(value)}{where}, and is to have none" for value in beyond[len(lacking) :]
        ]
    found = _judgement(sent, faults, received=len(got), expected=sum(each.total() for each in expected.values()))
    return replace(found, replayed=replayed, missing_us=tuple(missing_us))


def _where(topic: int, names: Sequence[str]) -> str:
    """In which topic, if there are several."""
    return f" in {names[topic]}" if len(names) > 1 else ""


def _judgement(sent: int, faults: Mapping[str, list[str]], *, received: int, expected: int) -> Judgement:
    return Judgement(
        orders=sent, expected=expected, accepted=0, received=received, missing=len(faults["missing"]),
        unexpected=len(faults["unexpected"]), duplicated=len(faults["duplicated"]), replayed=0, disagreeing=0,
        wrong=len(faults["wrong"]), stale=0, undecided=0, unchecked=0, delay_us=0,
        sentences={kind: tuple(found[:SENTENCES_MAX]) for kind, found in faults.items() if found},
    )  # fmt: skip


def _shown(value: str) -> str:
    return value if len(value) <= _SHOWN_CHARACTERS_MAX else f"{value[:_SHOWN_CHARACTERS_MAX]}…"
