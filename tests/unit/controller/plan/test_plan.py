"""The plan of a run: its loads in their order, the same for controller and sender."""

import json
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import encode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.deploy.topics import topic_partitions
from market_spread.controller.plan.plan import (
    PlannedLoad,
    RunPlan,
    orders_of,
    plan_of_files,
    plan_of_workload,
    quotes_of,
)
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.columns import Quotes
from tests.support.buckets import bucket_of
from tests.support.paths import QUICK

START_NS = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    workload = read_workload(QUICK, Overrides(rate_per_s=2_000, duration_s=2))
    return plan_of_workload(workload.changed(market={"partitions": 2}))


def test_plan_offers_the_load_of_the_workload(plan: RunPlan) -> None:
    assert plan.duration_s == 2
    assert plan.offered_rate_per_s == 2_000
    assert plan.measured.open(START_NS).messages == 4_000


def test_every_symbol_has_one_initial_quote_and_no_order(plan: RunPlan) -> None:
    load = plan.initial.open(START_NS)

    symbols = [symbol for quotes in quotes_of(load) for symbol in quotes.symbol.tolist()]

    assert len(symbols) == len(set(symbols)) == 350 + 100
    assert list(orders_of(load)) == []


def test_probes_cover_every_partition(plan: RunPlan) -> None:
    assert {bucket_of(symbol, 2) for symbol in plan.probe_symbols} == {0, 1}


def test_load_with_other_parameters_is_the_same_otherwise(plan: RunPlan) -> None:
    steady = plan.measured.with_parameters(tight_share=0)

    assert {**steady.parameters, "tight_share": 0.2} == plan.measured.parameters
    assert steady.open(START_NS).messages == plan.measured.open(START_NS).messages


def test_warm_up_probes_every_bucket_and_has_order_ids_of_its_own(plan: RunPlan) -> None:
    assert plan.warm_up is not None
    load = plan.warm_up.open(START_NS)

    orders = [
        (order_id, symbol) for o in orders_of(load) for order_id, symbol in zip(o.order_id, o.symbol, strict=True)
    ]

    assert {symbol.decode().rstrip() for _, symbol in orders} > set(plan.probe_symbols)
    assert min(order_id for order_id, _ in orders) >= 9_000_000_000


def test_warm_up_comes_at_the_highest_rate_of_the_load(plan: RunPlan) -> None:
    assert plan.warm_up is not None
    assert plan.warm_up.parameters["profile"] == {"profile": "constant", "messages_per_s": 2_000, "duration_s": 8}


def test_load_that_traveled_as_json_has_the_same_bytes(plan: RunPlan) -> None:
    traveled = PlannedLoad(plan.measured.source, json.loads(plan.measured.parameters_json))

    first, second = plan.measured.open(START_NS), traveled.open(START_NS)

    for ours, theirs in zip(first.blocks(), second.blocks(), strict=True):
        assert ours.quotes.rows.tobytes() == theirs.quotes.rows.tobytes()
        assert ours.orders.rows.tobytes() == theirs.orders.rows.tobytes()


def test_quotes_and_orders_are_all_messages_of_the_load(plan: RunPlan) -> None:
    load = plan.measured.open(START_NS)

    quotes = sum(len(part) for part in quotes_of(load))
    orders = sum(len(part) for part in orders_of(load))

    assert quotes + orders == 4_000
    assert 1_800 < orders < 2_200


def test_unknown_source_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no load source 'weather' is installed; there are: market, messages, rec"):
        PlannedLoad("weather", {}).open(START_NS)


def test_recording_is_replayed_quotes_first_without_warm_up(tmp_path: Path) -> None:
    nbbo, orders = tmp_path / "nbbo", tmp_path / "orders"
    nbbo.write_bytes(
        encode(
            NBBO,
            {
                "symbol": np.array([b"AAPL  ", b"MSFT  "]),
                "bid": np.array([1, 2]),
                "offer": np.array([3, 4]),
                "intended_us": np.array([5, 6]),
                "sequence": np.array([7, 8]),
            },
        ).tobytes()
    )
    orders.write_bytes(
        encode(
            ORDER,
            {
                "symbol": np.array([b"AAPL  "]),
                "side": np.array([ord("B")], np.uint8),
                "account": np.array([1]),
                "order_id": np.array([2]),
                "quantity": np.array([-3]),
                "price": np.array([4]),
                "intended_us": np.array([5]),
            },
        ).tobytes()
    )

    plan = plan_of_files(nbbo, orders, rate_per_s=1_000)

    assert plan.warm_up is None
    assert plan.probe_symbols == frozenset()
    quotes = list(quotes_of(plan.initial.open(START_NS)))
    assert [part.sequence.tolist() for part in quotes] == [[7, 8]]
    assert [part.intended_us.tolist() for part in quotes] == [[1_700_000_000_000_000, 1_700_000_000_001_000]]
    assert [part.order_id.tolist() for part in orders_of(plan.measured.open(START_NS))] == [[2]]
    assert plan.origin["source"] == "recorded"


def test_plan_behind_a_run_numbers_all_its_quotes_on() -> None:
    plan = plan_of_workload(read_workload(QUICK)).behind(20_000_123_456)

    firsts, lasts = [], []
    for load in (plan.initial, plan.warm_up, plan.measured):
        assert load is not None
        blocks = load.open(0).blocks()
        sequences = next(Quotes.from_rows(block.quotes.rows).sequence for block in blocks if len(block.quotes))
        firsts.append(int(sequences.min()))
        lasts.append(load.open(0).messages)

    assert firsts[0] == 20_002_000_001
    assert firsts[0] + lasts[0] <= firsts[1] < firsts[1] + lasts[1] <= firsts[2]


def test_plan_for_empty_topics_stays_as_it_is() -> None:
    plan = plan_of_workload(read_workload(QUICK))

    assert plan.behind(0) is plan


def test_numbers_that_run_out_are_an_error() -> None:
    with pytest.raises(UsageError, match="quotes are numbered up to 999999000000 already; make the topics anew"):
        plan_of_workload(read_workload(QUICK)).behind(999_999_000_000)


def test_slices_of_a_load_are_the_whole_together() -> None:
    load = plan_of_workload(read_workload(QUICK, Overrides(rate_per_s=10_000, duration_s=4))).measured

    parts = [part.open(10**9) for part in load.slices(3)]

    assert sum(part.messages for part in parts) == load.open(10**9).messages
    assert load.slices(1) == [load]


def test_recording_is_sent_by_one_sender() -> None:
    with pytest.raises(UsageError, match="there are 2 senders, and a recording is sent by one; scale them to one"):
        PlannedLoad("recorded", {}).slices(2)


def test_only_who_asks_for_all_decisions_gets_their_topic() -> None:
    """It has one partition, which keeps a symbol's decisions in order; the judge counts on that."""
    rejected, every = (topic_partitions(4, decisions) for decisions in ("rejected", "all"))

    assert rejected == {"nbbo": 4, "orders": 4, "alerts": 1, "invalid": 1}
    assert every == {**rejected, "decisions": 1}
