import dataclasses
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Int64s, encode
from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from market_spread.loadgen.columns import Alerts, Orders, Quotes, Texts
from market_spread.loadgen.oracle.oracle import WHOLE_RUN, Judgement, Oracle
from market_spread.loadgen.oracle.quote_book import QuoteBook, naming
from tests.support.judging import is_right, judge

# (symbol, bid, offer, sequence, intended_us)
QuoteTuple = tuple[str, int, int, int, int]
# (order_id, symbol, intended_us)
OrderTuple = tuple[int, str, int]
# (order_id, bid, offer, quote_sequence, read_us)
AlertTuple = tuple[int, int, int, int, int]

WIDE = (1_000_000, 1_010_000)
TIGHT = (1_000_000, 1_000_100)


def ints(values: list[int]) -> Int64s:
    return np.array(values, np.int64)


def symbols_of(names: list[str]) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    return np.array([name.ljust(6).encode() for name in names], "S6")


def quotes_of(*quotes: QuoteTuple) -> Quotes:
    return Quotes(
        symbols_of([quote[0] for quote in quotes]),
        ints([quote[1] for quote in quotes]),
        ints([quote[2] for quote in quotes]),
        ints([quote[3] for quote in quotes]),
        ints([quote[4] for quote in quotes]),
    )


def orders_of(*orders: OrderTuple) -> Orders:
    count = len(orders)
    return Orders(
        order_id=ints([order[0] for order in orders]),
        symbol=symbols_of([order[1] for order in orders]),
        side=np.full(count, ord("B"), np.uint8),
        account=np.full(count, 57),
        quantity=np.full(count, 640),
        price=np.full(count, 1_000_000),
        intended_us=ints([order[2] for order in orders]),
    )


def alerts_of(orders: Orders, *alerts: AlertTuple) -> Alerts:
    """Alerts that repeat their order truly."""
    places = [int(np.flatnonzero(orders.order_id == alert[0])[0]) for alert in alerts]
    their = orders[np.array(places, np.int64)]
    read_us = ints([alert[4] for alert in alerts])
    return Alerts(
        **{field.name: getattr(their, field.name) for field in dataclasses.fields(Orders)},
        bid=ints([alert[1] for alert in alerts]),
        offer=ints([alert[2] for alert in alerts]),
        quote_sequence=ints([alert[3] for alert in alerts]),
        sent_us=their.intended_us + 1,
        read_us=read_us,
        emitted_us=read_us + 1,
        received_us=read_us + 2,
    )


QUOTES = quotes_of(
    ("WIDE", *WIDE, 1, 0), ("TIGHT", *TIGHT, 2, 0), ("WIDE", 1_000_000, 1_020_000, 3, 500), ("TIGHT", *TIGHT, 4, 500)
)
ORDERS = orders_of(
    (1, "WIDE", 1_000), (2, "TIGHT", 1_000), (3, "UNSEEN", 1_001), (4, "WIDE", 1_002), (5, "TIGHT", 1_002)
)
ALERTS = alerts_of(
    ORDERS, (1, 1_000_000, 1_020_000, 3, 1_050), (3, 0, 0, 0, 1_051), (4, 1_000_000, 1_020_000, 3, 1_052)
)


def altered(alerts: Alerts, place: int, **values: int | bytes) -> Alerts:
    changed = {name: getattr(alerts, name).copy() for name in values}
    for name, value in values.items():
        changed[name][place] = value
    return dataclasses.replace(alerts, **changed)


def verdict_on(bid: int, offer: int) -> Judgement:
    return judge(quotes_of(("A", bid, offer, 1, 0)), orders_of((1, "A", 10)), alerts_of(ORDERS)[:0])


def test_true_alerts_are_ok() -> None:
    judgement = judge(QUOTES, ORDERS, ALERTS)

    assert is_right(judgement)
    assert judgement.void_reason is None
    assert (judgement.orders, judgement.expected, judgement.received, judgement.undecided) == (5, 3, 3, 0)
    assert judgement.delay_us == 52
    assert judgement.sentences == {"missing": (), "unexpected": (), "duplicated": (), "wrong": ()}


@pytest.mark.parametrize(
    ("bid", "offer", "expected"),
    [
        (1_000_000, 1_000_499, 0),  # 100.00/100.0499
        (1_000_000, 1_000_500, 1),  # 100.00/100.05: 5 cents, in integers exactly
        (6_000_000, 6_000_500, 1),
        (6_000_000, 6_000_499, 0),
        (100_000, 100_500, 1),
        (7_800, 8_200, 1),  # 40 * 400 == 7,800 + 8,200: just 5% of the mid
        (7_801, 8_200, 0),
        (7_800, 8_201, 1),
        (39, 41, 1),
        (40, 42, 0),
        (0, 0, 1),  # no market
        (0, 1, 1),
        (1_000_500, 1_000_000, 0),  # crossed
        (1_000_000, 1_000_000, 0),
    ],
)
def test_rule_is_exact_at_its_bounds(bid: int, offer: int, expected: int) -> None:
    assert verdict_on(bid, offer).expected == expected


def test_removed_alert_is_missing() -> None:
    judgement = judge(QUOTES, ORDERS, ALERTS[1:])

    assert not is_right(judgement)
    assert judgement.missing == 1
    assert judgement.sentences["missing"] == ("order 1 (WIDE): it is rejected, but has no alert",)


def test_doubled_alert_is_duplicated() -> None:
    judgement = judge(QUOTES, ORDERS, Alerts.concatenate([ALERTS, ALERTS[:1]]))

    assert not is_right(judgement)
    assert (judgement.duplicated, judgement.disagreeing, judgement.received, judgement.wrong) == (1, 0, 3, 0)
    assert judgement.sentences["duplicated"] == ("order 1 (WIDE): it has another alert, on the same quote 3",)


def test_duplicates_are_no_fault_where_all_may_have_been_read_again() -> None:
    quotes, orders = quotes_of(("A", *WIDE, 1, 0), ("A", *WIDE, 2, 990)), orders_of((1, "A", 1_000))
    alerts = alerts_of(orders, (1, *WIDE, 1, 1_050), (1, *WIDE, 2, 9_000))

    judgement = judge(quotes, orders, alerts, replayed=WHOLE_RUN)

    assert is_right(judgement)
    assert (judgement.duplicated, judgement.replayed, judgement.disagreeing) == (0, 1, 1)
    assert judgement.sentences["duplicated"] == ()
    assert judge(quotes, orders, alerts).sentences["duplicated"] == (
        "order 1 (A): it has another alert, on quote 2, the first time on 1",
    )


@pytest.mark.parametrize(
    ("replayed", "duplicated"),
    [
        ((1_051, 1_010), 0),  # alerts are received 2 us after they are read
        ((1_052, 1_000), 0),
        ((1_053, 2_000), 1),  # the first alert was received before anything was read that was read again
        ((0, 999), 1),  # the order was to be sent when nothing was read again any more
    ],
)
def test_only_what_can_have_been_read_again_may_have_a_second_alert(replayed: tuple[int, int], duplicated: int) -> None:
    alerts = Alerts.concatenate([ALERTS, altered(ALERTS[:1], 0, received_us=9_000)])

    judgement = judge(QUOTES, ORDERS, alerts, replayed=[(-9, -1), replayed])

    assert (judgement.duplicated, judgement.replayed) == (duplicated, 1 - duplicated)
    assert is_right(judgement) == (not duplicated)


def one_path(symbols: Texts) -> Int64s:
    return np.zeros(len(symbols), np.int64)


def path_by_symbol(symbols: Texts) -> Int64s:
    return np.arange(len(symbols))


@pytest.mark.parametrize(
    ("first_quote", "paths", "belated"),
    [
        (TIGHT, one_path, (1,)),  # accepted by the one, and by the other judged again on the newer quote
        (WIDE, one_path, ()),  # rejected by both, so the one has lost its alert: it came when it came
        (TIGHT, path_by_symbol, ()),  # who alerted the other order tells nothing of this one
        (TIGHT, None, ()),  # a single job that lost what it had not committed
    ],
)
def test_alert_after_another_job_can_have_accepted_its_order_is_belated(
    first_quote: tuple[int, int], paths: Callable[[Texts], Int64s] | None, belated: tuple[int, ...]
) -> None:
    quotes = quotes_of(("P", *first_quote, 1, 0), ("Q", *WIDE, 1, 0), ("P", *WIDE, 2, 9_000_000))
    orders = orders_of((1, "P", 5_000_000), (2, "Q", 5_001_000), (3, "P", 12_000_000))
    alerts = alerts_of(orders, (2, *WIDE, 1, 5_002_000), (3, *WIDE, 2, 12_001_000), (1, *WIDE, 2, 25_000_000))

    oracle = Oracle(alerts, replayed=WHOLE_RUN, paths=paths)
    oracle.add_quotes(quotes)
    oracle.add_orders(orders)
    judgement = oracle.judgement()

    assert is_right(judgement), judgement
    assert judgement.belated == belated


@pytest.mark.parametrize(
    ("belated_us", "never_accepts", "undecided"),
    [
        (11_000_000, False, 7),  # certainly accepted
        (11_000_000, True, 7),
        (15_000_500, False, 7),  # just after a quote that rejects
        (15_000_500, True, 2),  # the delays of what was answered at once are nearer to the others
    ],
)
def test_a_job_that_comes_back_late_hides_no_order_that_another_one_must_have_accepted(
    belated_us: int, never_accepts: bool, undecided: int
) -> None:
    """Order 1 can be accepted, and is alerted much later on a newer quote; first answers are held to their delays."""
    quotes = quotes_of(("P", *WIDE, 1, 0), ("Q", *WIDE, 1, 0), ("P", *TIGHT, 2, 9_000_000), ("P", *WIDE, 3, 15_000_000))
    at_once = [(10 + i, 12_000_000 + 10_000 * i) for i in range(6)]  # five may be of the one that comes back
    of_p = [(number, "P", intended_us) for number, intended_us in at_once]
    orders = orders_of((1, "P", belated_us), (2, "Q", 11_500_000), *of_p, (20, "Q", 16_000_000))
    wrong = [(number, *WIDE, 1, intended_us + 1_000) for number, intended_us in at_once if never_accepts]
    of_q = (2, *WIDE, 1, 11_501_000), (20, *WIDE, 1, 16_001_000)
    alerts = alerts_of(orders, of_q[0], *wrong, of_q[1], (1, *WIDE, 3, 29_000_000))

    oracle = Oracle(alerts, replayed=WHOLE_RUN, paths=one_path)
    oracle.add_quotes(quotes)
    oracle.add_orders(orders)
    judgement = oracle.judgement()

    assert (judgement.unexpected, judgement.wrong, judgement.missing) == (6 * never_accepts, 0, 0)
    assert (judgement.belated, judgement.accepted, judgement.undecided) == ((1,), 6, undecided)


def test_wrong_duplicate_is_wrong_even_where_duplicates_are_allowed() -> None:
    again = altered(ALERTS[:1], 0, account=58)

    judgement = judge(QUOTES, ORDERS, Alerts.concatenate([ALERTS, again]), replayed=WHOLE_RUN)

    assert not is_right(judgement)
    assert judgement.wrong == 1


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("symbol", b"TIGHT ", "order 1 (TIGHT): the alert says symbol TIGHT, the order WIDE"),
        ("side", ord("S"), "order 1 (WIDE): the alert says side S, the order B"),
        ("account", 58, "order 1 (WIDE): the alert says account 58, the order 57"),
        ("quantity", -640, "order 1 (WIDE): the alert says quantity -640, the order 640"),
        ("price", 1_000_001, "order 1 (WIDE): the alert says price 1000001, the order 1000000"),
        ("intended_us", 999, "order 1 (WIDE): the alert says intended_us 999, the order 1000"),
        ("bid", 999_999, "order 1 (WIDE): the alert says quote 3 is 999999/1020000, the input 1000000/1020000"),
        ("offer", 1_020_001, "order 1 (WIDE): the alert says quote 3 is 1000000/1020001, the input 1000000/1020000"),
        ("quote_sequence", 1, "order 1 (WIDE): the alert says quote 1 is 1000000/1020000, the input 1000000/1010000"),
        ("quote_sequence", 9, "order 1 (WIDE): the input has no quote 9 of this symbol that rejects"),
        ("quote_sequence", 4, "order 1 (WIDE): the input has no quote 4 of this symbol that rejects"),
    ],
)
def test_altered_field_is_wrong(field: str, value: int | bytes, sentence: str) -> None:
    judgement = judge(QUOTES, ORDERS, altered(ALERTS, 0, **{field: value}))

    assert not is_right(judgement)
    assert judgement.wrong == 1
    assert judgement.sentences["wrong"] == (sentence,)


def test_altered_order_id_is_missing_and_unexpected() -> None:
    judgement = judge(QUOTES, ORDERS, altered(ALERTS, 0, order_id=77))

    assert not is_right(judgement)
    assert (judgement.missing, judgement.unexpected) == (1, 1)
    assert judgement.sentences["unexpected"] == ("order 77 (WIDE): it has an alert, but the input has no such order",)


def test_invented_alert_of_an_accepted_order_is_unexpected() -> None:
    invented = alerts_of(ORDERS, (2, *TIGHT, 4, 1_050))

    judgement = judge(QUOTES, ORDERS, Alerts.concatenate([ALERTS, invented]))

    assert not is_right(judgement)
    assert (judgement.unexpected, judgement.wrong) == (1, 0)
    assert judgement.sentences["unexpected"] == ("order 2 (TIGHT): it is accepted, but has an alert",)


def test_quotes_withheld_from_the_system_make_its_alerts_unexpected() -> None:
    as_if_unseen = alerts_of(ORDERS, (2, 0, 0, 0, 1_050), (5, 0, 0, 0, 1_052))

    judgement = judge(QUOTES, ORDERS, Alerts.concatenate([ALERTS, as_if_unseen]))

    assert not is_right(judgement)
    assert judgement.unexpected == 2


def test_rejecting_quotes_withheld_from_the_system_make_its_alerts_wrong() -> None:
    as_if_unseen = altered(ALERTS, 0, bid=0, offer=0, quote_sequence=0)

    judgement = judge(QUOTES, ORDERS, as_if_unseen)

    assert not is_right(judgement)
    assert judgement.sentences["wrong"] == (
        "order 1 (WIDE): the alert names no quote, but there was one before the order",
    )


def test_invented_quote_of_an_unseen_symbol_is_wrong() -> None:
    judgement = judge(QUOTES, ORDERS, altered(ALERTS, 1, bid=1, offer=2, quote_sequence=3))

    assert judgement.sentences["wrong"] == ("order 3 (UNSEEN): the input has no quote 3 of this symbol that rejects",)


def test_quote_from_the_future_is_wrong_though_its_symbol_always_rejects() -> None:
    quotes = quotes_of(("WIDE", *WIDE, 1, 0), ("WIDE", *WIDE, 2, 1_062))
    orders = orders_of((1, "WIDE", 1_000))
    alerts = alerts_of(orders, (1, *WIDE, 2, 1_060))

    received_early = altered(alerts, 0, received_us=1_061)
    assert judge(quotes, orders, received_early).sentences["wrong"] == (
        "order 1 (WIDE): quote 2 came too late for the order to meet it",
    )
    assert judge(quotes, orders, alerts, delay_us=61).wrong == 1
    assert is_right(judge(quotes, orders, alerts, delay_us=62))


@pytest.mark.parametrize("stamp", ["read_us", "emitted_us", "sent_us"])
def test_what_the_job_stamps_changes_no_judgement(stamp: str) -> None:
    quotes = quotes_of(("WIDE", *WIDE, 1, 0), ("WIDE", *WIDE, 2, 1_300))
    orders = orders_of((1, "WIDE", 1_000))
    alerts = alerts_of(orders, (1, *WIDE, 2, 1_060))

    for value in (0, 1_400, 10**10):
        judgement = judge(quotes, orders, altered(alerts, 0, **{stamp: value}))
        assert (judgement.wrong, judgement.delay_us) == (1, 62)
    assert is_right(judge(quotes, orders, altered(alerts, 0, received_us=1_300)))


def test_old_quote_is_wrong_though_the_symbol_always_rejects() -> None:
    again = altered(ALERTS, 0, offer=1_010_000, quote_sequence=1)

    assert is_right(judge(QUOTES, ORDERS, again))  # 500 us are within what messages can take
    assert judge(QUOTES, ORDERS, again, delay_us=100).sentences["wrong"] == (
        "order 1 (WIDE): quote 1 was replaced too early for the order to meet it",
    )


def test_alert_on_an_older_quote_than_was_known_before_its_order_was_sent_is_wrong() -> None:
    orders = orders_of((1, "WIDE", 1_000), (2, "WIDE", 1_053), (3, "WIDE", 1_051), (4, "UNSEEN", 1_060))
    alerts = alerts_of(
        orders,
        (1, 1_000_000, 1_020_000, 3, 1_050), (2, *WIDE, 1, 1_060), (3, *WIDE, 1, 1_060), (4, 0, 0, 0, 1_070),
    )  # fmt: skip

    judgement = judge(QUOTES, orders, alerts)

    assert judgement.sentences["wrong"] == (
        "order 2 (WIDE): it names quote 1, after an alert on quote 3 that was received before the order was sent",
    )
    assert is_right(judge(QUOTES, orders, alerts, replayed=WHOLE_RUN))  # another state may have been asked
    assert is_right(judge(QUOTES, orders, alerts, replayed=[(1_053, 1_061)]))  # and so after a restart
    assert judge(QUOTES, orders, alerts, replayed=[(900, 1_051)]).wrong == 1
    assert judge(QUOTES, orders, alerts, replayed=[(1_063, 1_070)]).wrong == 1


def test_receipts_are_held_against_the_clock_of_the_sender() -> None:
    quotes = quotes_of(("WIDE", *WIDE, 1, 0), ("WIDE", *WIDE, 2, 1_030))
    orders = orders_of((1, "WIDE", 1_000), (2, "WIDE", 2_000))
    alerts = alerts_of(orders, (1, *WIDE, 2, 1_043), (2, *WIDE, 2, 2_001))
    behind = dataclasses.replace(alerts, received_us=alerts.received_us - 30)

    assert is_right(judge(quotes, orders, alerts))
    assert judge(quotes, orders, behind[:1]).wrong == 1  # nothing tells that it is behind
    assert is_right(judge(quotes, orders, behind))  # order 2 was received 27 us before it was sent
    far_behind = dataclasses.replace(alerts, received_us=alerts.received_us - 3_600_000_000)
    assert is_right(judge(quotes, orders, far_behind))
    other = dataclasses.replace(behind[1:], intended_us=behind[1:].intended_us - 1)
    mixed_up = judge(quotes, orders, Alerts.concatenate([behind[:1], other]))
    assert mixed_up.wrong == 2  # what is perhaps another order's alert tells of no clock


def test_ten_of_many_faults_are_spelled_out() -> None:
    orders = orders_of(*[(number, "WIDE", 1_000) for number in range(1, 31)])

    judgement = judge(QUOTES, orders, alerts_of(orders))

    assert judgement.missing == 30
    assert len(judgement.sentences["missing"]) == 10
    assert judgement.sentences["missing"][9] == "order 10 (WIDE): it is rejected, but has no alert"


CHANGING = quotes_of(("A", *TIGHT, 1, 0), ("A", *WIDE, 2, 1_000), ("A", *TIGHT, 3, 2_000))


@pytest.mark.parametrize(
    ("intended_us", "expected", "undecided"),
    [
        (900, 0, 1),  # quote 2 can be there 100 us later, and the order be read then
        (899, 0, 0),
        (1_100, 0, 1),  # quote 2 need not be there before 1,100
        (1_101, 1, 0),
        (1_899, 1, 0),
        (1_900, 0, 1),
        (2_100, 0, 1),
        (2_101, 0, 0),
    ],
)
def test_order_is_undecided_only_near_a_change(intended_us: int, expected: int, undecided: int) -> None:
    judgement = judge(CHANGING, orders_of((1, "A", intended_us)), alerts_of(ORDERS)[:0], delay_us=100)

    assert (judgement.expected, judgement.undecided) == (expected, undecided)


@pytest.mark.parametrize(
    ("intended_us", "quote", "wrong"),
    [
        (1_050, (*WIDE, 2), ()),
        (1_050, (*TIGHT, 1), ("order 1 (A): quote 1 does not reject",)),
        (1_050, (0, 0, 0), ("order 1 (A): the alert names no quote, but there was one before the order",)),
        (1_500, (*WIDE, 2), ()),
        (3_050, (*WIDE, 4), ()),
        (3_050, (*WIDE, 2), ("order 1 (A): quote 2 was replaced too early for the order to meet it",)),
        (1_950, (*WIDE, 4), ("order 1 (A): quote 4 came too late for the order to meet it",)),
    ],
)
def test_alert_near_a_change_names_a_quote_that_its_order_can_have_met(
    intended_us: int, quote: tuple[int, int, int], wrong: tuple[str, ...]
) -> None:
    quotes = Quotes.concatenate([CHANGING, quotes_of(("A", *WIDE, 4, 3_000))])
    orders = orders_of((1, "A", intended_us))

    judgement = judge(quotes, orders, alerts_of(orders, (1, *quote, intended_us + 100)), delay_us=100)

    assert judgement.sentences["wrong"] == wrong


def test_run_is_void_when_nothing_can_be_said_of_more_than_two_in_three_orders() -> None:
    quotes = Quotes.concatenate([CHANGING, quotes_of(("B", *TIGHT, 5, 0))])
    accepted = [(number, "B", 1_000) for number in range(10, 100)]
    orders = orders_of((1, "A", 1_000), (2, "A", 1_001), (3, "A", 1_500), (4, "A", 1_001), *accepted)
    alert = alerts_of(orders, (3, *WIDE, 2, 1_550))
    more = alerts_of(orders, (1, *WIDE, 2, 1_001))

    without = judge(quotes, orders, alert, delay_us=100)
    alerted = judge(quotes, orders, Alerts.concatenate([alert, more]), delay_us=100)

    assert (alerted.expected, alerted.undecided, alerted.unchecked, is_right(alerted)) == (1, 3, 2, True)
    assert (without.expected, without.undecided, without.unchecked, is_right(without)) == (1, 3, 3, False)
    assert without.void_reason == (
        "nothing can be said of 3 of the 4 orders that can be rejected: their verdict changed within the delays, "
        "of up to 100 us, and they have no alert; at most 67% may be so; let verdicts change less often"
    )


def test_input_without_orders_is_void() -> None:
    judgement = judge(QUOTES, ORDERS[:0], ALERTS[:0])

    assert judgement.void_reason == "the input has no orders"
    assert not is_right(judgement)


def test_order_before_the_first_quote_of_its_symbol_is_rejected() -> None:
    quotes = quotes_of(("A", *TIGHT, 1, 1_000))
    orders = orders_of((1, "A", 500), (2, "A", 990), (3, "A", 1_001))

    judgement = judge(quotes, orders, alerts_of(orders, (1, 0, 0, 0, 510)), delay_us=100)

    assert (judgement.expected, judgement.undecided, judgement.wrong, judgement.unexpected) == (1, 1, 0, 0)


def test_quote_that_is_not_newer_does_not_count() -> None:
    quotes = quotes_of(("A", *TIGHT, 7, 0), ("A", *WIDE, 6, 100), ("A", *WIDE, 7, 200))
    orders = orders_of((1, "A", 1_000))

    judgement = judge(quotes, orders, alerts_of(orders))

    assert (judgement.expected, judgement.undecided) == (0, 0)


def test_order_that_comes_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="the input has order 1 twice"):
        judge(QUOTES, orders_of((1, "WIDE", 1_000), (1, "WIDE", 1_001)), ALERTS)


def test_quotes_after_orders_are_refused() -> None:
    oracle = Oracle(ALERTS)
    oracle.add_orders(ORDERS)

    with pytest.raises(ValueError, match="all quotes come before"):
        oracle.add_quotes(QUOTES)


def test_columns_come_from_encoded_messages() -> None:
    orders = ORDERS
    rows = encode(ALERT, {field.name: getattr(ALERTS, field.name) for field in dataclasses.fields(Alerts)[:-1]})
    quote_rows = encode(NBBO, {field.name: getattr(QUOTES, field.name) for field in dataclasses.fields(Quotes)})
    order_rows = encode(ORDER, {field.name: getattr(orders, field.name) for field in dataclasses.fields(Orders)})

    judgement = judge(
        Quotes.from_rows(quote_rows), Orders.from_rows(order_rows), Alerts.from_rows(rows, ALERTS.received_us)
    )

    assert judgement == judge(QUOTES, ORDERS, ALERTS)


def test_row_that_is_no_message_is_refused() -> None:
    rows = encode(NBBO, {field.name: getattr(QUOTES, field.name) for field in dataclasses.fields(Quotes)})
    rows[2, 10] = ord("x")

    with pytest.raises(UsageError, match="message 2 of 4 is no nbbo message"):
        Quotes.from_rows(rows)


@dataclass(frozen=True)
class Simulation:
    quotes: list[QuoteTuple]
    orders: list[OrderTuple]
    alerts: list[AlertTuple]
    decided: dict[int, bool]


def simulate(seed: int, *, delay_us_max: int, changing: bool = True) -> Simulation:
    """A right system: messages of each stream arrive in order, each late by up to delay_us_max."""
    random_ = random.Random(seed)
    names = [f"S{number}" for number in range(random_.randint(1, 6))]
    fixed = {name: random_.choice([WIDE, TIGHT]) for name in names}
    quotes: list[QuoteTuple] = []
    for sequence in range(1, random_.randint(len(names), 60) + 1):
        name = names[sequence - 1] if sequence <= len(names) else random_.choice(names)
        prices = random_.choice([WIDE, TIGHT]) if changing else fixed[name]
        intended_us = 0 if sequence <= len(names) else random_.randint(10_000, 30_000)
        quotes.append((name, *prices, sequence, intended_us))
    times = sorted(quote[4] for quote in quotes)
    quotes = [(*quote[:4], time_us) for quote, time_us in zip(quotes, times, strict=True)]
    orders = [
        (number, random_.choice([*names, "UNSEEN"]), random_.randint(10_000, 30_000))
        for number in range(1, random_.randint(2, 60))
    ]
    arrivals_us: dict[str, list[int]] = {}
    met: dict[str, list[QuoteTuple]] = {}
    for quote in quotes:
        late = random_.randint(0, delay_us_max) if quote[4] else 0
        line = arrivals_us.setdefault(quote[0], [])
        line.append(max([quote[4] + late, *line[-1:]]))
        met.setdefault(quote[0], []).append(quote)
    alerts: list[AlertTuple] = []
    for order_id, name, intended_us in orders:
        read_us = intended_us + random_.randint(0, delay_us_max)
        newest = bisect_right(arrivals_us.get(name, []), read_us) - 1
        _, bid, offer, sequence, _ = met[name][newest] if newest >= 0 else ("", 0, 0, 0, 0)
        if reference_rejects(bid, offer):
            alerts.append((order_id, bid, offer, sequence, read_us))
    return Simulation(quotes, orders, alerts, reference_verdicts(quotes, orders, delay_us_max))


def reference_rejects(bid: int, offer: int) -> bool:
    return offer - bid >= 500 or 40 * (offer - bid) >= bid + offer


def reference_verdicts(quotes: list[QuoteTuple], orders: list[OrderTuple], delay_us: int) -> dict[int, bool]:
    """Of orders that are decided, whether they are rejected; one order after the other, as the rule reads."""
    decided = {}
    for order_id, name, intended_us in orders:
        theirs = [quote for quote in quotes if quote[0] == name]
        surely = max((quote[3] for quote in theirs if quote[4] + delay_us < intended_us), default=0)
        possibly = max((quote[3] for quote in theirs if quote[4] <= intended_us + delay_us), default=0)
        verdicts = {reference_rejects(quote[1], quote[2]) for quote in theirs if surely <= quote[3] <= possibly}
        if all(intended_us <= quote[4] for quote in theirs):
            verdicts.add(True)
        if len(verdicts) == 1:
            decided[order_id] = verdicts.pop()
    return decided


@settings(max_examples=200)
@given(seed=st.integers(0, 10**9), delay_us_max=st.sampled_from([0, 1, 50, 1_000, 30_000]), changing=st.booleans())
def test_right_system_with_any_delays_has_no_fault(seed: int, delay_us_max: int, changing: bool) -> None:
    run = simulate(seed, delay_us_max=delay_us_max, changing=changing)
    orders = orders_of(*run.orders)

    judgement = judge(quotes_of(*run.quotes), orders, alerts_of(orders, *run.alerts), delay_us=delay_us_max)

    assert [sentence for sentences in judgement.sentences.values() for sentence in sentences] == []
    assert judgement.undecided == len(run.orders) - len(run.decided)
    assert judgement.expected == sum(run.decided.values())
    assert changing or judgement.undecided == 0


@settings(max_examples=200)
@given(seed=st.integers(0, 10**9), delay_us_max=st.sampled_from([0, 50, 1_000]))
def test_any_one_planted_fault_turns_the_verdict(seed: int, delay_us_max: int) -> None:
    run = simulate(seed, delay_us_max=delay_us_max)
    random_ = random.Random(seed)
    orders = orders_of(*run.orders)
    alerts = alerts_of(orders, *run.alerts)
    quotes = quotes_of(*run.quotes)
    rejected = [order_id for order_id, verdict in run.decided.items() if verdict]
    accepted = [order_id for order_id, verdict in run.decided.items() if not verdict]

    for order_id in random_.sample(rejected, min(3, len(rejected))):
        judgement = judge(quotes, orders, alerts[alerts.order_id != order_id], delay_us=delay_us_max)
        assert (judgement.missing, is_right(judgement)) == (1, False)
        doubled = Alerts.concatenate([alerts, alerts[alerts.order_id == order_id]])
        judgement = judge(quotes, orders, doubled, delay_us=delay_us_max)
        assert (judgement.duplicated, is_right(judgement)) == (1, False)
    for order_id in random_.sample(accepted, min(3, len(accepted))):
        invented = alerts_of(orders, (order_id, *WIDE, 1, 10_000))
        judgement = judge(quotes, orders, Alerts.concatenate([alerts, invented]), delay_us=delay_us_max)
        assert (judgement.unexpected, is_right(judgement)) == (1, False)


@settings(max_examples=200)
@given(
    quotes=st.lists(
        st.tuples(
            st.sampled_from(["A", "B", "C"]),
            st.sampled_from([1_000_000, 1_000_400]),
            st.sampled_from([1_000_400, 1_001_000]),
            st.integers(1, 20),
            st.integers(0, 30),
        ),
        max_size=25,
    ),
    orders=st.lists(st.tuples(st.sampled_from(["A", "B", "C", "D"]), st.integers(0, 40)), min_size=1, max_size=10),
    delay_us=st.integers(0, 12),
    chunk=st.integers(1, 10),
)
def test_oracle_agrees_with_the_rule_read_word_by_word_whatever_the_input(
    quotes: list[QuoteTuple], orders: list[tuple[str, int]], delay_us: int, chunk: int
) -> None:
    numbered = [(number, *order) for number, order in enumerate(orders, 1)]
    newer: list[QuoteTuple] = []
    for quote in quotes:
        if all(quote[3] > earlier[3] for earlier in newer if earlier[0] == quote[0]):
            newer.append(quote)
    decided = reference_verdicts(newer, numbered, delay_us)

    oracle = Oracle(alerts_of(ORDERS)[:0], delay_us=delay_us)
    for begin in range(0, len(quotes), chunk):
        oracle.add_quotes(quotes_of(*quotes[begin : begin + chunk]))
    for begin in range(0, len(numbered), chunk):
        oracle.add_orders(orders_of(*numbered[begin : begin + chunk]))
    judgement = oracle.judgement()

    assert judgement.undecided == len(numbered) - len(decided)
    assert judgement.expected == judgement.missing == sum(decided.values())


@settings(max_examples=200)
@given(
    quotes=st.lists(
        st.tuples(
            st.sampled_from(["A", "B", "C"]),
            st.just(1_000_000),
            st.sampled_from([1_000_400, 1_001_000, 1_002_000]),
            st.integers(1, 20),
            st.integers(0, 30),
        ),
        max_size=25,
    ),
    alerts=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 21), st.integers(0, 40)), max_size=6),
    orders=st.lists(st.tuples(st.sampled_from(["A", "B", "C", "D"]), st.integers(0, 40)), min_size=1, max_size=6),
    delay_us=st.integers(0, 12),
)
def test_what_is_not_kept_of_the_quotes_changes_no_judgement(
    quotes: list[QuoteTuple], alerts: list[tuple[int, int, int]], orders: list[tuple[str, int]], delay_us: int
) -> None:
    numbered = orders_of(*[(number, *order) for number, order in enumerate(orders, 1)])
    said = [(min(number, len(orders)), 1_000_000, 1_001_000, seq, read) for number, seq, read in alerts]
    theirs = alerts_of(numbered, *said)

    judged = []
    for keeps_all in (True, False):
        oracle = Oracle(theirs, delay_us=delay_us)
        if keeps_all:
            oracle._open_book = QuoteBook()
        oracle.add_quotes(quotes_of(*quotes))
        oracle.add_orders(numbered)
        judged.append(oracle.judgement())

    assert judged[0] == judged[1]


def test_what_the_oracle_keeps_grows_with_the_alerts_and_not_with_the_input() -> None:
    kept = []
    for length in (1_000, 100_000):
        sequence = np.arange(1, length + 1)
        symbols = np.array([b"A     ", b"B     "], "S6")[sequence % 2]
        bid = np.full(length, 1_000_000)
        book = QuoteBook(naming(symbols[100:110], sequence[100:110]))

        book.add(Quotes(symbols, bid, bid + 10_000, sequence, sequence * 10))
        kept.append(len(book.closed().bid) - 1)

    assert kept == [14, 14]  # both symbols' first, ten that are named, and both symbols' next after these
