"""Each order counts once, and its latency falls into stages that add up."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.wire.codec import Bytes2D, encode
from market_spread.common.wire.layout import ALERT, DECISION
from market_spread.receiver.tally import DecisionTally, RunPhase, Tally

WARM_UP = 9_000_000_000
RECEIVED_US = 1_700_000_000_010_000


def alert_rows(order_ids: list[int], *, sequence: int = 5, symbol: bytes = b"AAPL  ") -> Bytes2D:
    """Alerts of orders that were sent 1 ms late, read 2 ms later and emitted 3 ms after that."""
    count = len(order_ids)

    def each(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.full(count, value, np.int64)

    return encode(
        ALERT,
        {
            "order_id": np.array(order_ids, np.int64),
            "symbol": np.array([symbol] * count, "S6"),
            "side": np.full(count, ord("B"), np.uint8),
            "account": each(7),
            "quantity": each(10),
            "price": each(1_000_000),
            "bid": each(990_000),
            "offer": each(1_010_000),
            "quote_sequence": each(sequence),
            "intended_us": each(1_700_000_000_000_000),
            "sent_us": each(1_700_000_000_001_000),
            "read_us": each(1_700_000_000_003_000),
            "emitted_us": each(1_700_000_000_006_000),
        },
    )


def add(tally: Tally, rows: Bytes2D) -> dict[RunPhase, object]:
    firsts, _ = tally.add_alerts(rows, np.full(len(rows), RECEIVED_US, np.int64))
    return dict(firsts)


def test_phases_are_told_apart_by_the_order_id() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    add(tally, alert_rows([1, 2, WARM_UP, WARM_UP + 1, WARM_UP - 1]))

    assert tally.alerts == {RunPhase.WARM_UP: 2, RunPhase.MEASURED: 3}


def test_second_alert_of_an_order_is_a_duplicate() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    add(tally, alert_rows([1, 2, 1]))
    add(tally, alert_rows([2]))

    assert tally.alerts[RunPhase.MEASURED] == 2
    assert (tally.duplicated, tally.disagreeing) == (2, 0)
    assert tally.end_to_end[RunPhase.MEASURED].count == 2


def test_duplicate_that_names_another_quote_disagrees() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)
    add(tally, alert_rows([1], sequence=5))

    add(tally, alert_rows([1], sequence=6))

    assert (tally.duplicated, tally.disagreeing) == (1, 1)


def test_batch_of_duplicates_only_has_no_latencies() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)
    add(tally, alert_rows([1]))

    firsts = add(tally, alert_rows([1]))

    assert firsts == {}


def test_stages_add_up_to_the_end_to_end_latency() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    firsts, _ = tally.add_alerts(alert_rows([1]), np.array([RECEIVED_US]))

    latencies = firsts[RunPhase.MEASURED]
    stages = {stage: values.tolist() for stage, values in latencies.stages.items()}
    assert stages == {"send_lag": [1000], "ingest": [2000], "compute": [3000], "delivery": [4000]}
    assert latencies.end_to_end.tolist() == [10_000]
    assert latencies.service.tolist() == [9_000]


def test_only_warm_up_alerts_name_symbols_that_have_answered() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    add(tally, alert_rows([WARM_UP], symbol=b"PROBE1"))
    add(tally, alert_rows([1], symbol=b"AAPL  "))

    assert tally.warm_up_symbols == {"PROBE1"}


def test_malformed_message_counts_once_whatever_it_is_reported() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    first = tally.add_invalid("wrong_length", ("nbbo", 3, 17, 0))
    again = tally.add_invalid("wrong_length", ("nbbo", 3, 17, 0))
    tally.add_invalid("unknown_kind", ("nbbo", 3, 17, 1))

    assert (first, again) == (True, False)
    assert len(tally.invalid) == 2
    assert tally.invalid_by_reason == {"wrong_length": 1, "unknown_kind": 1}


def test_unreadable_alert_counts_once() -> None:
    tally = Tally(warm_up_order_id_min=WARM_UP)

    for place in ((0, 5), (0, 5), (1, 5)):
        tally.unreadable.add(place)

    assert len(tally.unreadable) == 2


def decisions(order_ids: list[int], *, intended_us: int = 1_000) -> Bytes2D:
    count = len(order_ids)
    numbers = ("account", "quantity", "price", "bid", "offer", "quote_sequence", "sent_us", "read_us", "emitted_us")
    columns: dict[str, np.ndarray[Any, Any]] = {name: np.ones(count, np.int64) for name in numbers}
    columns |= {"order_id": np.array(order_ids, np.int64), "intended_us": np.full(count, intended_us)}
    letters = {"side": np.full(count, ord("B"), np.uint8), "verdict": np.full(count, ord("A"), np.uint8)}
    return encode(DECISION, {**columns, **letters, "symbol": np.full(count, b"AAPL  ")})


@given(
    st.lists(
        st.lists(st.sampled_from([0, 1, 1_023, 1_024, 5 * 10**9, WARM_UP, WARM_UP + 5, 9_999_999_999])), max_size=6
    )
)
def test_each_order_has_one_first_decision(batches: list[list[int]]) -> None:
    tally = DecisionTally(warm_up_order_id_min=WARM_UP)
    seen: set[int] = set()

    for batch in batches:
        firsts, duplicated = tally.add(decisions(batch), np.full(len(batch), 3_500))
        new = set(batch) - seen
        seen |= new
        assert duplicated == len(batch) - len(new)
        assert len(firsts[RunPhase.WARM_UP]) == sum(order_id >= WARM_UP for order_id in new)
        assert firsts[RunPhase.MEASURED].tolist() == [2_500] * sum(order_id < WARM_UP for order_id in new)

    measured = sum(order_id < WARM_UP for order_id in seen)
    assert tally.decisions == {RunPhase.MEASURED: measured, RunPhase.WARM_UP: len(seen) - measured}
    assert tally.end_to_end.count == measured
    assert tally.duplicated == sum(map(len, batches)) - len(seen)


def test_later_duplicates_are_held_against_the_first_alert() -> None:
    """Quotes 5, 6 and 5: the second disagrees with the first, the third does not."""
    tally = Tally(warm_up_order_id_min=WARM_UP)

    for sequence in (5, 6, 5):
        add(tally, alert_rows([1], sequence=sequence))

    assert (tally.duplicated, tally.disagreeing) == (2, 1)


def test_delivery_is_parted_at_the_brokers_append() -> None:
    """Emitted at 6 ms, appended within the 8th, received at 10 ms; neither warm-up nor a duplicate is in it."""
    tally = Tally(warm_up_order_id_min=WARM_UP)
    alerts, received_us = alert_rows([1, 2, 1, WARM_UP]), np.full(4, RECEIVED_US, np.int64)

    tally.add_alerts(alerts, received_us, np.array([1_700_000_000_008, -1, 1_700_000_000_009, 1_700_000_000_009]))

    assert (tally.append.count, tally.append.max_us) == (1, 2_500)
    assert (tally.fetch.count, tally.fetch.max_us) == (1, 1_500)
