"""The rule of the peers in Python, on frames as a sender makes them: its alerts are those of the oracle."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "peers" / "systems"))

from judging import Judge, stamped

from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from market_spread.controller.plan.plan import RunPlan, orders_of, plan_of_workload, quotes_of
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import Oracle

SMALL = Path(__file__).parents[2] / "integration" / "workloads" / "small.yaml"
SENT = b"1700000000000001"


def quote(bid: int, offer: int, sequence: int = 7) -> bytes:
    return b"QAAPL  %010d%010d%016d%012d" % (bid, offer, 1_700_000_000_000_000, sequence)


def order(order_id: int) -> bytes:
    return b"OAAPL  B000042%010d+00000100%010d%016d" % (order_id, 1_000_000, 1_700_000_000_000_000)


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    return plan_of_workload(read_workload(SMALL, Overrides(duration_s=2)))


def test_alerts_of_a_market_are_those_that_the_oracle_expects(plan: RunPlan) -> None:
    judge = Judge()
    rows: list[bytes] = []

    for load in (plan.initial, plan.measured):
        for block in load.open(0).blocks():
            judge.take_quotes(block.quotes.rows.tobytes())
            found = judge.alerts_of(block.orders.rows.tobytes(), SENT, 1_700_000_000_000_002)
            rows += [stamped(alert, 1_700_000_000_000_003) for _, alert in found]

    assert {len(row) for row in rows} == {ALERT.width}
    received_us = np.full(len(rows), 1_700_000_000_000_004, np.int64)
    cells = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, ALERT.width)
    oracle = Oracle(Alerts.from_rows(cells, received_us), delay_us=300_000)  # a block is shorter
    for load in (plan.initial, plan.measured):
        for quotes in quotes_of(load.open(0)):
            oracle.add_quotes(quotes)
    for orders in orders_of(plan.measured.open(0)):
        oracle.add_orders(orders)
    judgement = oracle.judgement()
    assert (judgement.missing, judgement.unexpected, judgement.wrong) == (0, 0, 0), judgement.sentences
    assert 150 < judgement.expected <= judgement.received <= judgement.expected + judgement.undecided
    assert judgement.undecided < 100


@pytest.mark.parametrize(
    ("bid", "offer", "rejects"),
    [
        (0, 0, True),
        (1, 0, False),
        (100_000, 100_499, False),
        (100_000, 100_500, True),
        (3_900, 4_100, True),
        (3_901, 4_100, False),
        (1_000_500, 1_000_000, False),
    ],
)
def test_order_is_rejected_from_five_cents_or_five_percent_on(bid: int, offer: int, rejects: bool) -> None:
    judge = Judge()
    assert (len(quote(bid, offer)), len(order(1))) == (NBBO.width, ORDER.width)

    judge.take_quotes(quote(1_000_000, 1_000_001) + quote(bid, offer, 8))

    assert bool(judge.alerts_of(order(1), SENT, 0)) is rejects


@pytest.mark.parametrize("late", [6, 7], ids=["older", "repeated"])
def test_quote_of_no_higher_sequence_changes_nothing(late: int) -> None:
    judge = Judge()

    judge.take_quotes(quote(1_000_000, 1_000_001, 7))
    judge.take_quotes(quote(1_000_000, 1_000_500, late))

    assert judge.alerts_of(order(1), SENT, 0) == []
    judge.take_quotes(quote(1_000_000, 1_000_500, 10) + quote(1_000_000, 1_000_001, 9))
    assert len(judge.alerts_of(order(2), SENT, 0)) == 1


def test_symbol_without_a_quote_rejects_and_the_alert_names_none() -> None:
    ((order_id, alert),) = Judge().alerts_of(order(12), SENT, 5)

    whole = stamped(alert, 6)

    assert order_id == b"0000000012"
    for name in ("bid", "offer", "quote_sequence"):
        offset = ALERT.offset(name)
        assert int(whole[offset : offset + ALERT.field(name).width]) == 0
    assert whole.endswith(SENT + b"%016d%016d" % (5, 6))


def test_state_that_was_saved_is_gone_on_from() -> None:
    first = Judge()
    first.take_quotes(quote(1_000_000, 1_000_001))

    again = Judge(dict(first.newest))

    assert again.alerts_of(order(1), SENT, 0) == []
