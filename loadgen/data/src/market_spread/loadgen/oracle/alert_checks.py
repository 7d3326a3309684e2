"""What an alert must say: the order it repeats, and the quote it names."""

from collections.abc import Callable
from typing import Any

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.columns import Alerts, Bools, Check, JudgedOrders, Orders, symbol_codes
from market_spread.loadgen.oracle.quote_book import SEQUENCES, ClosedBook, Window


def repetition_checks(messages: JudgedOrders, orders: Orders, who: str) -> list[Check]:
    """Checks that each alert or decision repeats the order of the same position. who: what the sentences call it."""

    def check(name: str, text: Callable[[Any], str]) -> Check:
        said, true = getattr(messages, name), getattr(orders, name)
        failed = symbol_codes(said) != symbol_codes(true) if name == "symbol" else said != true
        return Check(failed, lambda i: f"{who} says {name} {text(said[i])}, the order {text(true[i])}")

    numbers = ("account", "quantity", "price", "intended_us")
    return [check("symbol", symbol_text), check("side", chr), *(check(name, str) for name in numbers)]


def quote_checks(alerts: Alerts, book: ClosedBook, symbol_ids: Int64s, window: Window) -> list[Check]:
    """Checks of the quote that each alert names; symbol_ids and window are those of the alerts' orders."""
    number = alerts.quote_sequence
    place = book.find(symbol_ids, number)
    exists = place >= 0
    says_none = ~exists & (number == 0) & (alerts.bid == 0) & (alerts.offer == 0)
    return [
        Check(~exists & ~says_none, lambda i: f"the input has no quote {number[i]} of this symbol that rejects"),
        Check(says_none & ~window.unquoted, lambda _: "the alert names no quote, but there was one before the order"),
        Check(exists & ~book.rejects[place], lambda i: f"quote {number[i]} does not reject"),
        *named_quote_checks(alerts, book, place, window, "the alert"),
        Check(
            exists & (place < window.first),
            lambda i: f"quote {number[i]} was replaced too early for the order to meet it",
        ),
    ]


def named_quote_checks(
    messages: JudgedOrders, book: ClosedBook, place: Int64s, window: Window, who: str
) -> list[Check]:
    """Checks that the quote at the place (-1: none) has the prices that are said, and did not come too late."""
    number, exists, bid, offer = messages.quote_sequence, place >= 0, book.bid[place], book.offer[place]
    return [
        Check(
            exists & ((bid != messages.bid) | (offer != messages.offer)),
            lambda i: (
                f"{who} says quote {number[i]} is {messages.bid[i]}/{messages.offer[i]}, the input {bid[i]}/{offer[i]}"
            ),
        ),
        Check(exists & (place > window.last), lambda i: f"quote {number[i]} came too late for the order to meet it"),
    ]


def no_older_check(alerts: Alerts, symbol_ids: Int64s, intended_us: Int64s, received_us: Int64s, right: Bools) -> Check:
    """Check that no alert names an older quote than one of its symbol received before its order was to be sent.

    That holds where a symbol has one state, which only goes on. symbol_ids: of the alerts' orders, another for another
    state; right: whose alerts count as told.
    """
    times_us = np.unique(np.concatenate([intended_us, received_us]))
    told = np.flatnonzero(right)
    received = symbol_ids[told] * len(times_us) + np.searchsorted(times_us, received_us[told])
    order = np.argsort(received, kind="stable")
    newest = np.maximum.accumulate(symbol_ids[told][order] * SEQUENCES + alerts.quote_sequence[told][order])
    before = np.searchsorted(received[order], symbol_ids * len(times_us) + np.searchsorted(times_us, intended_us)) - 1
    known = np.append(newest, -1)[before]
    least = np.where(known // SEQUENCES == symbol_ids, known % SEQUENCES, -1)
    return Check(
        alerts.quote_sequence < least,
        lambda i: (
            f"it names quote {alerts.quote_sequence[i]}, after an alert on quote {least[i]} "
            "that was received before the order was sent"
        ),
    )


def symbol_text(symbol: np.bytes_) -> str:
    """A symbol as a person reads it."""
    return symbol.decode("ascii", "replace").rstrip()
