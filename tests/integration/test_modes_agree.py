"""Random pipelines on random messages: both modes give what a plain interpreter gives, malformed messages included.

Of a pipeline all is drawn: format, steps before and after the state, key, state, sinks. Each step is there twice: as
columns for Spark, and as a function of a dictionary for the interpreter, which does what the documentation says.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import functions as F

from market_spread.streaming import Csv, Filter, FlatMap, Json, Map, Pipeline, Row, RunningTotal, Sink, Source, Text
from market_spread.streaming.testing import run

SEEDS = range(12)
MODES = ("micro-batch", "real-time")
Plain = dict[str, Any]


@dataclass
class Item:
    name: str
    a: int | None
    b: int


@dataclass(frozen=True)
class Step:
    """A step of columns, and what it makes of a plain row: rows, or None if the row cannot be used."""

    columns: Filter | Map | FlatMap
    plain: Callable[[Plain], list[Plain] | None]


def drawn_step(dice: random.Random, number: int) -> Step:
    limit, name = dice.randrange(-5, 20), f"step {number}"
    match dice.randrange(6):
        case 0:
            return Step(
                Filter(name, lambda row: row.a > limit),
                lambda row: None if row["a"] is None else [row] if row["a"] > limit else [],
            )
        case 1:
            return Step(
                Filter(name, lambda row: F.abs(row.b) % 3 != limit % 3),
                lambda row: [row] * (abs(row["b"]) % 3 != limit % 3),
            )
        case 2:
            return Step(
                Map(name, {"a": lambda row: row.a + row.b, "b": lambda row: F.coalesce(row.a, F.lit(limit))}),
                lambda row: [
                    row
                    | {
                        "a": None if row["a"] is None else row["a"] + row["b"],
                        "b": limit if row["a"] is None else row["a"],
                    }
                ],
            )
        case 3:
            return Step(
                Map(name, {"name": lambda row: F.concat(row.name, (F.abs(row.b) % 2).cast("string"))}),
                lambda row: [row | {"name": f"{row['name']}{abs(row['b']) % 2}"}],
            )
        case 4:
            return Step(
                FlatMap(name, lambda row: F.when(row.a.isNotNull(), F.array(row.b, row.a)), into="b"),
                lambda row: None if row["a"] is None else [row | {"b": row["b"]}, row | {"b": row["a"]}],
            )
        case _:
            return Step(
                FlatMap(name, lambda row: F.filter(F.array(row.b, F.lit(limit)), lambda it: it > 3), into="b"),
                lambda row: [row | {"b": it} for it in (row["b"], limit) if it > 3],
            )


class Drawn:
    """A pipeline and its messages."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.messages: type[Json] | type[Csv] = dice.choice([Json, Csv])
        self.before = [drawn_step(dice, number) for number in range(dice.randrange(3))]
        self.after = [drawn_step(dice, number) for number in range(10, 10 + dice.randrange(3))]
        self.keys = dice.choice([(), ("name",), ("b",), ("a",), ("name", "b")])
        self.of = dice.choice([None, "a", "b"])
        self.limits = [dice.randrange(-5, 20) for _ in range(dice.choice([0, 1, 2]))]
        self.lines = [self._line(dice) for _ in range(300)]

    def _line(self, dice: random.Random) -> str:
        item = {"name": dice.choice("pqr"), "a": dice.choice([None, *range(8)]), "b": dice.choice(range(12))}
        fault = dice.randrange(40)
        if fault == 0:
            return "{" if self.messages is Json else "p,x,1"
        if fault == 1:
            item["b"] = None
        if self.messages is Json:
            return json.dumps(item)
        return ",".join("" if value is None else str(value) for value in item.values())

    @property
    def pipeline(self) -> Pipeline:
        stream = Source("in", self.messages(Item)).to(Map("same", {}))
        for step in self.before:
            stream = stream.to(step.columns)
        if self.keys:
            stream = stream.key_by(*self.keys).to(RunningTotal("total", into="total", of=self.of))
        for step in self.after:
            stream = stream.to(step.columns)
        total = " {total}" if self.keys else ""
        sinks = [Sink("out", Text("{name} {b}" + total))]
        sinks += [Sink(f"a{i}", Text("{a} {b}"), keep=self._keep(limit)) for i, limit in enumerate(self.limits)]
        return stream.to_sink(*sinks, name="drawn")

    def _keep(self, limit: int) -> Callable[[Row], Any]:
        return lambda row: row.b > limit

    def read(self, line: str) -> Plain | str:
        """The row of a line, or why it is malformed."""
        try:
            values = json.loads(line) if self.messages is Json else dict(zip("nab", line.split(","), strict=True))
        except ValueError:
            return "unreadable_field"
        if self.messages is Csv:
            if values["a"] == "x":
                return "unreadable_field"
            values = {"name": values["n"], **{name: int(values[name]) if values[name] else None for name in "ab"}}
        return values if values["b"] is not None else "missing_value"

    def interpreted(self) -> Iterator[tuple[str, str]]:
        """The outputs: the topic and the value; of a malformed message its reason and its offset."""
        totals: Counter[tuple[Any, ...]] = Counter()
        for offset, line in enumerate(self.lines):
            row = self.read(line)
            if isinstance(row, str):
                yield "invalid", f"{row} {offset}"
                continue
            for each in self._done(self.before, [row], offset):
                if isinstance(each, str):
                    yield "invalid", each
                    continue
                if self.keys:
                    key = tuple(each[name] for name in self.keys)
                    if None in key or (self.of and each[self.of] is None):
                        yield "invalid", f"missing_value {offset}"
                        continue
                    totals[key] += each[self.of] if self.of else 1
                    each["total"] = totals[key]
                for last in self._done(self.after, [each], offset):
                    yield from self._put_out(last, offset)

    def _done(self, steps: Sequence[Step], rows: Sequence[Plain], offset: int) -> list[Plain | str]:
        done: list[Plain | str] = [dict(row) for row in rows]
        for step in steps:
            after: list[Plain | str] = []
            for row in done:
                made = [row] if isinstance(row, str) else step.plain(row)
                after += [f"missing_value {offset}"] if made is None else made
            done = after
        return done

    def _put_out(self, row: Plain | str, offset: int) -> Iterator[tuple[str, str]]:
        if isinstance(row, str):
            yield "invalid", row
            return
        kept = [i for i, limit in enumerate(self.limits) if row["b"] > limit]
        if kept and row["a"] is None:
            yield "invalid", f"missing_value {offset}"
            return
        yield "out", f"{row['name']} {row['b']}" + (f" {row['total']}" if self.keys else "")
        yield from ((f"a{i}", f"{row['a']} {row['b']}") for i in kept)


# The modes are the outer parameter, so that each has one session.
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES)
def test_a_drawn_pipeline_gives_what_its_steps_say(mode: str, seed: int) -> None:
    drawn = Drawn(seed)
    half = len(drawn.lines) // 2

    found = run(drawn.pipeline, {"in": drawn.lines[:half]}, {"in": drawn.lines[half:]}, mode=mode)

    reports = [json.loads(report) for report in found.pop("invalid")]
    outputs = [(sink, value.decode()) for sink, values in found.items() for value in values]
    outputs += [("invalid", f"{report['reason']} {report['offset']}") for report in reports]
    assert Counter(outputs) == Counter(drawn.interpreted())


def test_draws_have_every_step_and_state() -> None:
    draws = [Drawn(seed) for seed in SEEDS]

    steps = {type(step.columns) for drawn in draws for step in (*drawn.before, *drawn.after)}
    assert steps == {Filter, Map, FlatMap}
    assert {len(drawn.keys) for drawn in draws} == {0, 1, 2}
    assert {len(drawn.limits) for drawn in draws} == {0, 1, 2}
    assert {drawn.messages for drawn in draws} == {Json, Csv}
    topics = [Counter(topic for topic, _ in drawn.interpreted()) for drawn in draws]
    assert sum(found["out"] > 20 and found["invalid"] > 20 for found in topics) >= len(draws) / 3
