"""In which partition of the job's state a symbol is: for latencies by partition, and for what comes in order."""

import numpy as np

from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import SYMBOL_WIDTH
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.columns import Texts, symbol_codes
from market_spread.loadgen.market.symbols import buckets_of, state_partitions_of


def state_partition_of(symbols: Texts, workload: Workload) -> Int64s:
    """The state partition of each symbol, int64 (n,).

    Real-Time Mode groups by the symbol as it stands in the message, blanks included. Micro-batch mode groups by the
    Kafka partition, as a number chosen such that partition p is in the state partition p % partitions
    (streaming/modes/micro_batch/as_of_join.py).
    """
    return path_of(symbols, workload) % workload.state_partitions


def path_of(symbols: Texts, workload: Workload) -> Int64s:
    """A number for each symbol (n,): orders of one come through the same partitions of topic and state, so in order.

    It is that of its bucket times the partitions of the state, and its partition of the state.
    """
    cells = symbol_codes(symbols).view(np.uint8).reshape(-1, 8)[:, :SYMBOL_WIDTH]
    partitions, bucket = workload.state_partitions, buckets_of(cells, workload.market.partitions)
    is_by_bucket = workload.job.mode == MICRO_BATCH
    return bucket * partitions + (bucket % partitions if is_by_bucket else state_partitions_of(cells, partitions))
