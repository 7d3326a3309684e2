"""The parameters of a synthetic market, checked as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from market_spread.common.load.schedule import RATE_PER_S_MAX, Profile, read_profile
from market_spread.common.mapping import MappingReader
from market_spread.common.wire.layout import BUCKETS_MAX, WARM_UP_ORDER_ID_MIN
from market_spread.loadgen.market.symbols import SYMBOLS_MAX, SYMBOLS_MIN, accepting_count

REJECTED_SHARE = 1 / 70_000
TIGHT_SHARE = 0.2
ORDER_ID_END = 10_000_000_000
SEQUENCE_MAX = 10**12 - 1


class Phase(Enum):
    """Which part of a run the messages are for, in the order in which the parts are sent."""

    INITIAL = "initial"
    WARM_UP = "warm_up"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class MarketParameters:
    """What a market offers.

    rejected_share: of the orders that are no probes; order_share: of the messages; probes_per_s: orders a second on
    probes, at most all orders; tight_share: of the time that each probe's quotes are tight in the measured phase;
    changing_symbols: how many accepting symbols have quotes that are wide or tight by a coin;
    shard, shards: this sender's slice of the symbols, and how many slices there are; sequences_after: quotes are
    numbered from the number after it, or if it is 0, each phase in a range of its own.
    """

    seed: int
    buckets: int
    profile: Profile
    phase: Phase = Phase.MEASURED
    symbols: int = SYMBOLS_MIN
    rejected_share: float = REJECTED_SHARE
    order_share: float = 0.5
    probes_per_s: int = 200
    tight_share: float = TIGHT_SHARE
    changing_symbols: int = 0
    shard: int = 0
    shards: int = 1
    sequences_after: int = 0

    @staticmethod
    def from_mapping(mapping: Mapping[str, object]) -> "MarketParameters":
        """The parameters of a JSON object. UsageError naming all that is wrong with it."""
        reader = MappingReader(mapping)
        parameters = MarketParameters(
            seed=reader.integer("seed", low=0, high=2**63 - 1),
            buckets=reader.integer("buckets", low=1, high=BUCKETS_MAX),
            profile=read_profile(reader.part("profile")),
            phase=Phase(reader.choice("phase", [phase.value for phase in Phase], Phase.MEASURED.value)),
            symbols=reader.integer("symbols", low=SYMBOLS_MIN, high=SYMBOLS_MAX, default=SYMBOLS_MIN),
            rejected_share=reader.number("rejected_share", low=0, high=1, default=REJECTED_SHARE),
            order_share=reader.number("order_share", low=0, high=1, default=0.5),
            probes_per_s=reader.integer("probes_per_s", low=0, high=RATE_PER_S_MAX, default=200),
            tight_share=reader.number("tight_share", low=0, high=1, default=TIGHT_SHARE),
            changing_symbols=reader.integer("changing_symbols", low=0, high=SYMBOLS_MAX, default=0),
            shard=reader.integer("shard", low=0, high=1023, default=0),
            shards=reader.integer("shards", low=1, high=1024, default=1),
            sequences_after=reader.integer("sequences_after", low=0, high=SEQUENCE_MAX, default=0),
        )
        if reader.clean:
            _check_together(parameters, reader)
        reader.finish()
        return parameters

    def to_mapping(self) -> dict[str, object]:
        """The JSON object of which `from_mapping` makes the same parameters."""
        return {
            "seed": self.seed,
            "buckets": self.buckets,
            "profile": self.profile.to_mapping(),
            "phase": self.phase.value,
            "symbols": self.symbols,
            "rejected_share": self.rejected_share,
            "order_share": self.order_share,
            "probes_per_s": self.probes_per_s,
            "tight_share": self.tight_share,
            "changing_symbols": self.changing_symbols,
            "shard": self.shard,
            "shards": self.shards,
            "sequences_after": self.sequences_after,
        }


def messages_max(phase: Phase) -> int:
    """How many messages a phase has room for in the numbers of quotes and orders."""
    return ORDER_ID_END - WARM_UP_ORDER_ID_MIN if phase is Phase.WARM_UP else WARM_UP_ORDER_ID_MIN - 1


def _check_together(parameters: MarketParameters, reader: MappingReader) -> None:
    accepting = accepting_count(parameters.symbols)
    if parameters.changing_symbols > accepting:
        reader.refuse(f"changing_symbols={parameters.changing_symbols}; use at most {accepting}, the accepting symbols")
    if parameters.shard >= parameters.shards:
        reader.refuse(f"shard={parameters.shard}; use less than shards={parameters.shards}")
    if parameters.phase is not Phase.INITIAL and parameters.profile.total() > messages_max(parameters.phase):
        reader.refuse(
            f"the profile calls for {parameters.profile.total()} messages; "
            f"use at most {messages_max(parameters.phase)} in the phase {parameters.phase.value}"
        )
