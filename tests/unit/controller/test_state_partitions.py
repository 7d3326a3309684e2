"""In which state partition symbols are; tests/integration/test_columns.py asks Spark itself."""

import numpy as np
import pytest

from market_spread.controller.plan.state_partitions import path_of, state_partition_of
from market_spread.loadgen.market.symbols import universe


def test_micro_batch_mode_places_a_symbol_by_its_kafka_partition() -> None:
    market = universe(350, 6)

    found = state_partition_of(market.names, mode="micro-batch", buckets=6, partitions=4)

    assert found.tolist() == (market.bucket % 4).tolist()


def test_real_time_mode_places_a_symbol_by_spark_s_hash_of_it() -> None:
    """Expected: `SELECT pmod(hash(s), 1000)` of the padded names in Spark 4.1; buckets play no part."""
    symbols = np.array([b"AAPL", b"/A", b"BRK.A"], "S6")

    found = state_partition_of(symbols, mode="real-time", buckets=6, partitions=1000)

    assert found.tolist() == [874, 916, 179]
    padded = np.char.ljust(symbols, 6)
    assert state_partition_of(padded, mode="real-time", buckets=1, partitions=1000).tolist() == found.tolist()
    assert len(state_partition_of(symbols[:0], mode="real-time", buckets=1, partitions=4)) == 0


def test_symbols_of_one_path_share_the_partitions_of_topic_and_state() -> None:
    market = universe(350, 3)

    found = path_of(market.names, mode="real-time", buckets=3, partitions=4)

    state = state_partition_of(market.names, mode="real-time", buckets=3, partitions=4)
    assert found.tolist() == (market.bucket * 4 + state).tolist()


@pytest.mark.parametrize("partitions", range(1, 17))
@pytest.mark.parametrize("buckets", [1, 2, 8])
def test_every_state_partition_has_probes(buckets: int, partitions: int) -> None:
    market = universe(350, buckets)

    found = state_partition_of(market.names[market.probe_ids], mode="real-time", buckets=buckets, partitions=partitions)

    assert np.bincount(found, minlength=partitions).min() > 0
