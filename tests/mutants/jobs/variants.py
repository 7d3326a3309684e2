"""Wrong rules and wrong states, all of them tried by one real job: each writes its alerts to a topic of its own.

Every order leaves the state, beside what each wrong state has of its symbol; of that each variant makes its own alert,
or none. The topic `alerts` has what a right job says, so a run of it is a right one, unless INSTEAD names a variant.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.streaming.modes import rows
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.real_time.compile import PackedRows
from market_spread.streaming.record_codec import wall_clock_us
from tests.mutants.system import rejected as rejects
from tests.mutants.wrong import MUTANTS

SEQUENCES = "WRONG_SEQUENCES"
TRIED = "WRONG_TRIED"
INSTEAD = "WRONG_INSTEAD"
# Of numbers it is written for arrays; columns of Spark have the same operators.
rejected: Callable[[Any, Any], Any] = rejects
_RIGHT = ("bid", "offer", "quote_sequence")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote that comes to the state. first, later: sequences at which the load begins, and 7 s after that: more than
    a batch boundary in the load lasts, for while the job stands still nobody can say what an order saw.
    """

    symbol: Column
    bid: Column
    offer: Column
    sequence: Column
    first: int
    later: int


@dataclass(frozen=True, slots=True)
class Variant:
    """rule: which prices reject; of, kept: how the state is made of the words of quotes, and of which; named: what is
    seen in the state, of bid, offer and sequence.
    """

    name: str
    sentence: str
    rule: Callable[[Any, Any], Any] = rejected
    of: Callable[[Column], Column] = F.max
    kept: Callable[[Quote], Column] | None = None
    named: Callable[[Column, Column, Column], Sequence[Column]] = lambda bid, offer, sequence: (bid, offer, sequence)

    @property
    def topic(self) -> str:
        """Where its alerts go."""
        return f"alerts-{self.name}"

    @property
    def has_state(self) -> bool:
        """Whether its state is another one than the right job's."""
        return self.of is not F.max or self.kept is not None


_OF_COLUMNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "absolute_spread": lambda b, o: rejected(b, b + F.abs(o - b)),
    "all_rejected": lambda b, o: F.lit(True),
    "none_rejected": lambda b, o: F.lit(False),
}

# Columns do not divide whole numbers by `//`, and no drawn spread is close enough to a bound to tell these two.
_SIMULATED_ALONE = {"mid_rounded_down", "whole_cents"}

RULES = tuple(
    Variant(mutant.name, mutant.sentence, rule=_OF_COLUMNS.get(mutant.name, mutant.system.rule))
    for mutant in MUTANTS
    if mutant.system.rule is not rejected and mutant.name not in _SIMULATED_ALONE
)
STATES = (
    Variant(
        "as_found", "the oldest quote for ever, 4 cents, no 5%: it passed once",
        rule=lambda bid, offer: offer - bid >= 400, of=F.min,
    ),
    Variant("oldest_for_ever", "a symbol's first quote is used for ever", of=F.min),
    Variant("ignored_after_7_s", "quotes are ignored after 7 s", kept=lambda q: q.sequence < q.later),
    Variant(
        "ignored_for_7_s", "quotes of the first 7 s are lost",
        kept=lambda q: (q.sequence < q.first) | (q.sequence >= q.later),
    ),
    Variant(
        "every_other_lost", "every other quote is lost",
        kept=lambda q: (q.sequence % 2 == 0) | (q.sequence < q.first),
    ),
    Variant(
        "nine_in_ten_lost", "nine quotes in ten are lost",
        kept=lambda q: (q.sequence % 10 == 0) | (q.sequence < q.first),
    ),
    Variant(
        "rejecting_lost", "quotes that reject do not change the state",
        kept=lambda q: ~rejected(q.bid, q.offer) | (q.sequence < q.first),
    ),
    Variant(
        "accepting_lost", "quotes that accept do not change the state",
        kept=lambda q: rejected(q.bid, q.offer) | (q.sequence < q.first),
    ),
    Variant(
        "some_keys_only", "quotes of some symbols are lost",
        kept=lambda q: (F.pmod(F.hash(q.symbol), F.lit(7)) != 0) | (q.sequence < q.first),
    ),
    Variant("sequence_off", "alerts name the quote before", named=lambda b, o, s: (b, o, s - 1)),
    Variant("bid_for_offer", "the state has the bid twice", named=lambda b, o, s: (b, b, s)),
    Variant("seen_from_aside", "bid and offer are exchanged in the state", named=lambda b, o, s: (o, b, s)),
)  # fmt: skip
VARIANTS = (*RULES, *STATES)


def install() -> None:
    """Have the job's plan of Real-Time Mode do all of it."""
    plan: Any = real_time
    plan._as_of_join, plan.row_ops.output_records = _as_of_join, _output


def _tried() -> tuple[Variant, ...]:
    names = os.environ[TRIED].split(",")
    return tuple(variant for variant in VARIANTS if variant.name in names)


def _as_of_join(pipeline: Any, state: Any, records: Mapping[str, DataFrame]) -> DataFrame:
    packed = PackedRows(pipeline, state)
    packing = packed.state_packing
    words = [F.col(name) for name in packed.state_words]
    first, later = (int(number) for number in os.environ[SEQUENCES].split(","))
    prices = [packing.unpack(words, name) for name in ("bid", "offer", "sequence")]
    quote = Quote(F.col(packed.key), prices[0], prices[1], prices[2], first, later)
    aggregates = [F.max(name).alias(name) for name in packed.state_words]
    aggregates += [F.last(name).alias(name) for name in packed.row_words]
    for variant in _tried():
        if variant.has_state:
            kept = [word if variant.kept is None else F.when(variant.kept(quote), word) for word in words]
            aggregates += [variant.of(word).alias(f"{variant.name}_{i}") for i, word in enumerate(kept)]
    grouped = packed.rows(records).groupBy(packed.key).agg(*aggregates)
    columns = {**packed.unpacked(state.added), **packed.origin()}
    for variant in _tried():
        if variant.has_state:
            held = [F.col(f"{variant.name}_{i}") for i in range(len(words))]
            for to, of in state.added.items():
                columns[f"{variant.name}_{to}"] = F.coalesce(packing.unpack(held, of), F.lit(0).cast("bigint"))
    leaves = grouped.where(packed.is_output(F.lit(True)))
    return leaves.select(*(column.alias(name) for name, column in columns.items()))


def _output(output: DataFrame, pipeline: Any, topics: Mapping[str, str]) -> DataFrame:
    """An alert for each variant that rejects the order. The rig sends nothing malformed, so there are no reports."""
    said = [_said(topics["alerts"], rejected, [F.col(name) for name in _RIGHT])]
    for variant in _tried():
        prefix = f"{variant.name}_" if variant.has_state else ""
        quote = variant.named(*(F.col(prefix + name) for name in _RIGHT))
        if os.environ.get(INSTEAD) == variant.name:
            said = [_said(topics["alerts"], variant.rule, quote)]
        else:
            said.append(_said(variant.topic, variant.rule, quote))
    own = [name for name in output.columns if name not in _RIGHT]
    stamped = output.where(rows.is_good()).withColumn("emitted_us", wall_clock_us())
    opened = stamped.select(*own, "emitted_us", F.explode(F.array(*said)).alias("said")).where("said is not null")
    made = opened.select(*own, "emitted_us", "said.*")
    record = rows._record(pipeline.sinks[0], topics, pipeline.stream.fields)
    return made.select(F.col("to").alias("topic"), record["key"].alias("key"), record["value"].alias("value"))


def _said(topic: str, rule: Callable[[Any, Any], Any], quote: Sequence[Column]) -> Column:
    """What a variant says of an order, null if it accepts it. It decides on what its state has, right or wrong."""
    named = [column.alias(name) for name, column in zip(_RIGHT, quote, strict=True)]
    return F.when(rule(quote[0], quote[1]), F.struct(F.lit(topic).alias("to"), *named))
