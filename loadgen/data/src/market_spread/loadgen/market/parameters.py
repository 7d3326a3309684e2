"""The parameters of a synthetic market, checked as a whole."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Self

from pydantic import model_validator

from market_spread.common.load.schedule import RATE_PER_S_MAX, AnyProfile
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, number
from market_spread.common.wire.layout import BUCKETS_MAX, WARM_UP_ORDER_ID_MIN
from market_spread.loadgen.market.symbols import SYMBOLS_MAX, SYMBOLS_MIN, accepting_count

REJECTED_SHARE = 1 / 70_000
ORDER_ID_END, SEQUENCE_MAX = 10_000_000_000, 10**12 - 1
STATE_PARTITIONS_MAX = 1000


class Phase(Enum):
    """Which part of a run the messages are for, in the order in which the parts are sent."""

    INITIAL = "initial"
    WARM_UP = "warm_up"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class MarketParameters:
    """What a market offers, as it travels to the senders."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    seed: Annotated[int, number(0, 2**63 - 1, "The same seed gives the same messages.")]
    buckets: Annotated[int, number(1, BUCKETS_MAX, "Partitions of each topic.")]
    profile: AnyProfile
    phase: Phase = Phase.MEASURED
    symbols: Annotated[int, number(SYMBOLS_MIN, SYMBOLS_MAX, "Symbols of all senders.")] = SYMBOLS_MIN
    rejected_share: Annotated[float, number(0, 1, "Of the orders that are no probes.")] = REJECTED_SHARE
    order_share: Annotated[float, number(0, 1, "Of the messages.")] = 0.5
    probes_per_s: Annotated[int, number(0, RATE_PER_S_MAX, "Orders a second on probes, at most all orders.")] = 200
    tight_share: Annotated[float, number(0, 1, "Of the time that a probe's quotes are tight, if measured.")] = 0.2
    changing_symbols: Annotated[int, number(0, SYMBOLS_MAX, "Accepting symbols, wide or tight by a coin.")] = 0
    state_partitions: Annotated[int, number(1, STATE_PARTITIONS_MAX, "Of a state by symbol; each has probes.")] = 1
    shard: Annotated[int, number(0, 1023, "This sender's slice of the symbols.")] = 0
    shards: Annotated[int, number(1, 1024, "How many slices there are.")] = 1
    sequences_after: Annotated[int, number(0, SEQUENCE_MAX, "Quotes are numbered behind it; 0: by phases.")] = 0

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        accepting = accepting_count(self.symbols)
        # In the numbers of quotes and orders.
        room = ORDER_ID_END - WARM_UP_ORDER_ID_MIN if self.phase is Phase.WARM_UP else WARM_UP_ORDER_ID_MIN - 1
        wrong = []
        if self.changing_symbols > accepting:
            wrong.append(f"changing_symbols={self.changing_symbols}; use at most {accepting}, the accepting symbols")
        if self.shard >= self.shards:
            wrong.append(f"shard={self.shard}; use less than shards={self.shards}")
        if self.phase is not Phase.INITIAL and (total := self.profile.total()) > room:
            wrong.append(f"the profile calls for {total} messages; use at most {room} in the phase {self.phase.value}")
        if wrong:
            raise ValueError("\n".join(wrong))
        return self


MARKET = Schema(MarketParameters)
