"""Judges alerts from the input alone: which orders are rejected, by which quotes, and what the alerts make of it.

It shares no code with the job that it judges, only the layout of messages.
"""

from collections.abc import Callable

import numpy as np

from market_spread.common.codec import Int64s
from market_spread.common.errors import UsageError
from market_spread.common.layout import ORDER
from market_spread.loadgen.alert_checks import quote_checks, repetition_checks, symbol_text
from market_spread.loadgen.checks import Bools, failed_any, sentence_of
from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.loadgen.quote_book import ClosedBook, QuoteBook, naming
from market_spread.loadgen.verdicts import SENTENCES_MAX, Judgement

_CHUNK = 1_000_000

_UNKNOWN_ORDER = "it has an alert, but the input has no such order"


def judge(
    quotes: Quotes, orders: Orders, alerts: Alerts, *, delay_us: int | None = None, duplicates_allowed: bool = False
) -> Judgement:
    """Judge the alerts of a run by its whole input; see `Oracle`."""
    oracle = Oracle(alerts, delay_us=delay_us, duplicates_allowed=duplicates_allowed)
    oracle.add_quotes(quotes)
    oracle.add_orders(orders)
    return oracle.judgement()


class Oracle:
    """Judges alerts by input that comes in chunks: all quotes, then all orders, then the judgement.

    An order is decided if every quote that it can have met says the same. It can have met its symbol's quotes from the
    newest (by sequence) whose intended time plus delay_us is before the order's, to the newest whose intended time is
    not after the order's plus delay_us; without a quote it is rejected. The first quote of a symbol is taken to be
    there before any later order. Where verdicts never change, that decides every order.

    An undecided order may have an alert or not. Every alert must repeat its order, and name a quote of the input, with
    its prices, that rejects and that the order can have met; on symbols whose quotes all reject, an older one will do.
    A second alert of an order is a duplicate; it is held to the same.

    Memory: 41 bytes for each quote that changes a verdict, and for at most two quotes an alert; 47 for each order that
    can be rejected or has an alert, and 111 for each alert; besides, some 100 MB for a chunk. So where verdicts do not
    change it grows with the alerts, and not with the input.

    delay_us: the run's longest delay from a message's intended send to its meeting the state; None takes it from the
    alerts, which have met it when they are emitted. An order that was read may still be overtaken by quotes, so its
    reading is too early. duplicates_allowed: duplicates are no fault, as after a restart, or with two jobs.
    """

    def __init__(self, alerts: Alerts, *, delay_us: int | None = None, duplicates_allowed: bool = False) -> None:
        self._alerts = alerts
        self._delay_us = delay_us
        self._duplicates_allowed = duplicates_allowed
        self._alerted_ids = np.unique(alerts.order_id)
        self._open_book: QuoteBook | None = QuoteBook(naming(alerts.symbol, alerts.quote_sequence))
        self._book: ClosedBook | None = None
        self._order_count = 0
        self._orders = [Orders.from_rows(np.empty((0, ORDER.width), np.uint8))]

    def add_quotes(self, quotes: Quotes) -> None:
        """Add quotes; those of one symbol come in the order in which they were sent. Not after the first orders."""
        if self._open_book is None:
            raise ValueError("all quotes come before the first orders")
        self._open_book.add(quotes)

    def add_orders(self, orders: Orders) -> None:
        """Add orders, in any order."""
        for begin in range(0, len(orders), _CHUNK):
            self._add_chunk(orders[begin : begin + _CHUNK])

    def _add_chunk(self, orders: Orders) -> None:
        book = self._closed_book()
        matters = book.may_reject(book.symbol_ids(orders.symbol), orders.intended_us)
        matters |= _contains(self._alerted_ids, orders.order_id)
        self._order_count += len(orders)
        self._orders.append(orders[matters])

    def _closed_book(self) -> ClosedBook:
        if self._open_book is not None:
            self._book = self._open_book.closed()
            self._open_book = None
        assert self._book is not None
        return self._book

    def judgement(self) -> Judgement:
        """The judgement of all alerts. UsageError if two orders have the same id."""
        alerts, book = self._alerts, self._closed_book()
        orders = _by_id(self._orders)
        order_of_alert = np.searchsorted(orders.order_id, alerts.order_id)
        known = _contains(orders.order_id, alerts.order_id)
        delay_us = _delay_us(orders, alerts, order_of_alert, known) if self._delay_us is None else self._delay_us

        symbol_ids = book.symbol_ids(orders.symbol)
        window = book.window(symbol_ids, orders.intended_us, delay_us)
        missing = window.rejecting & ~window.accepting & ~_contains(self._alerted_ids, orders.order_id)
        is_first, first_of_order = _firsts(alerts)

        accepted = np.zeros(len(alerts), np.bool_)
        accepted[known] = ~window.rejecting[order_of_alert[known]]
        unexpected = is_first & (accepted | ~known)

        judged = np.flatnonzero(known & ~accepted)
        theirs = order_of_alert[judged]
        checks = repetition_checks(alerts[judged], orders[theirs])
        checks += quote_checks(alerts[judged], book, symbol_ids[theirs], window[theirs])
        wrong = failed_any(checks)

        duplicated = ~is_first
        disagreeing = duplicated & _names_another_quote(alerts, first_of_order)
        return Judgement(
            orders=self._order_count,
            expected=int((window.rejecting & ~window.accepting).sum()),
            received=len(self._alerted_ids),
            missing=int(missing.sum()),
            unexpected=int(unexpected.sum()),
            duplicated=int(duplicated.sum()),
            disagreeing=int(disagreeing.sum()),
            wrong=int(wrong.sum()),
            undecided=int((window.rejecting & window.accepting).sum()),
            delay_us=delay_us,
            duplicates_allowed=self._duplicates_allowed,
            sentences={
                "missing": _sentences(missing, orders, lambda _: "it is rejected, but has no alert"),
                "unexpected": _sentences(
                    unexpected,
                    alerts,
                    lambda i: "it is accepted, but has an alert" if known[i] else _UNKNOWN_ORDER,
                ),
                "duplicated": _sentences(
                    duplicated, alerts, lambda i: _duplicate_sentence(alerts, i, int(first_of_order[i]))
                ),
                "wrong": _sentences(wrong, alerts[judged], lambda i: sentence_of(checks, i)),
            },
        )


def _by_id(parts: list[Orders]) -> Orders:
    orders = Orders.concatenate(parts)
    orders = orders[np.argsort(orders.order_id, kind="stable")]
    twice = np.flatnonzero(orders.order_id[1:] == orders.order_id[:-1])
    if len(twice):
        raise UsageError(f"the input has order {orders.order_id[twice[0]]} twice; give each order an id of its own")
    return orders


def _delay_us(orders: Orders, alerts: Alerts, order_of_alert: Int64s, known: Bools) -> int:
    """The longest delay of an order to its alert's emission, of alerts that tell their order's intended time right."""
    intended_us = orders.intended_us[order_of_alert[known]]
    right = alerts.intended_us[known] == intended_us
    delays_us = (alerts.emitted_us[known] - intended_us)[right]
    return max(0, int(delays_us.max())) if len(delays_us) else 0


def _firsts(alerts: Alerts) -> tuple[Bools, Int64s]:
    """Whether each alert is its order's first, and where that one is."""
    _, first, inverse = np.unique(alerts.order_id, return_index=True, return_inverse=True)
    first_of_order: Int64s = first[inverse]
    return first_of_order == np.arange(len(alerts)), first_of_order


def _names_another_quote(alerts: Alerts, than: Int64s) -> Bools:
    result: Bools = (
        (alerts.quote_sequence != alerts.quote_sequence[than])
        | (alerts.bid != alerts.bid[than])
        | (alerts.offer != alerts.offer[than])
    )
    return result


def _contains(ascending: Int64s, wanted: Int64s) -> Bools:
    places = np.searchsorted(ascending, wanted)
    found: Bools = places < len(ascending)
    found[found] = ascending[places[found]] == wanted[found]
    return found


def _sentences(mask: Bools, messages: Orders | Alerts, what: Callable[[int], str]) -> tuple[str, ...]:
    return tuple(
        f"order {messages.order_id[i]} ({symbol_text(messages.symbol[i])}): {what(int(i))}"
        for i in np.flatnonzero(mask)[:SENTENCES_MAX]
    )


def _duplicate_sentence(alerts: Alerts, position: int, first: int) -> str:
    again, before = int(alerts.quote_sequence[position]), int(alerts.quote_sequence[first])
    on = f"on the same quote {again}" if again == before else f"on quote {again}, the first time on {before}"
    return f"it has another alert, {on}"
