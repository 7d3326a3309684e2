"""In which state partition symbols are; tests/integration/test_columns.py asks Spark itself."""

import numpy as np
import pytest

from market_spread.controller.plan.plan import path_of, plan_of_workload, quotes_of, state_partition_of, universe_of
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD, Workload
from market_spread.loadgen.market.symbols import universe
from tests.support.paths import QUICK


def a_job(mode: str, *, buckets: int, partitions: int) -> Workload:
    """A workload of so many partitions of the topics and of the state."""
    job = {"mode": mode, "shuffle_partitions": partitions}
    return DEFAULT_WORKLOAD.changed(job=job, market={"partitions": buckets})


def test_micro_batch_mode_places_a_symbol_by_its_kafka_partition() -> None:
    market = universe(350, 6)

    found = state_partition_of(market.names, a_job("micro-batch", buckets=6, partitions=4))

    assert found.tolist() == (market.bucket % 4).tolist()


def test_real_time_mode_places_a_symbol_by_spark_s_hash_of_it() -> None:
    """Expected: `SELECT pmod(hash(s), 1000)` of the padded names in Spark 4.1; buckets play no part."""
    symbols = np.array([b"AAPL", b"/A", b"BRK.A"], "S6")

    found = state_partition_of(symbols, a_job("real-time", buckets=6, partitions=1000))

    assert found.tolist() == [874, 916, 179]
    padded = np.char.ljust(symbols, 6)
    assert state_partition_of(padded, a_job("real-time", buckets=1, partitions=1000)).tolist() == found.tolist()
    assert len(state_partition_of(symbols[:0], a_job("real-time", buckets=1, partitions=4))) == 0


def test_symbols_of_one_path_share_the_partitions_of_topic_and_state() -> None:
    market = universe(350, 3)

    found = path_of(market.names, a_job("real-time", buckets=3, partitions=4))

    state = state_partition_of(market.names, a_job("real-time", buckets=3, partitions=4))
    assert found.tolist() == (market.bucket * 4 + state).tolist()


@pytest.mark.parametrize("partitions", [*range(1, 17), 32, 64, 200, 1000])
@pytest.mark.parametrize(("symbols", "buckets"), [(350, 1), (350, 8), (3_500, 2)])
@pytest.mark.parametrize("mode", ["real-time", "micro-batch"])
def test_every_state_partition_with_symbols_has_probes(symbols: int, buckets: int, partitions: int, mode: str) -> None:
    market = universe(symbols, buckets, partitions)

    found = state_partition_of(market.names, a_job(mode, buckets=buckets, partitions=partitions))

    is_probe = np.isin(np.arange(len(market)), market.probe_ids)
    assert set(found[~is_probe].tolist()) <= set(found[is_probe].tolist())


def test_probes_that_state_partitions_need_are_cold_and_few() -> None:
    few, many = universe(3_500, 2), universe(3_500, 2, 200)

    assert many.names[: len(few)].tolist() == few.names.tolist()
    assert 0 < len(many) - len(few) <= 38
    assert not many.is_hot(many.names[len(few) :]).any()
    assert len(set(many.names.tolist())) == len(many)


def test_load_of_a_workload_has_a_probe_in_each_state_partition() -> None:
    shipped = read_workload(QUICK)
    workload = shipped.changed(job={"shuffle_partitions": 64})

    (sent,) = quotes_of(plan_of_workload(workload).initial.open(0))

    assert sent.symbol.tolist() == universe_of(workload).names.tolist()
    assert len(sent) > len(universe_of(shipped))
