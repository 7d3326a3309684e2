"""Judges all decisions of a job, accepted orders too: that every order has one, on a quote that it can have met.

Like the oracle, which judges alerts, it takes from the input alone what is right, and shares no code with the job.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import ACCEPTED, REJECTED
from market_spread.loadgen.columns import Bools, Check, Decisions, Orders, failed_any, sentence_of, symbol_codes
from market_spread.loadgen.oracle.alert_checks import named_quote_checks, repetition_checks
from market_spread.loadgen.oracle.delays import are_few, behind_us, constant_delay, observed_delays
from market_spread.loadgen.oracle.oracle import SENTENCES_MAX, sentences_of
from market_spread.loadgen.oracle.quote_book import InputJudge, QuoteBook, falls_back, rejects

FAULTS = ("missing", "unknown", "duplicated", "wrong", "stale")
# Stale by the delays around the order, but not by the longest of the run.
_LATE = "late"
_VERDICTS = {ord(REJECTED): "rejects", ord(ACCEPTED): "accepts"}


@dataclass(frozen=True, slots=True)
class DecisionJudgement:
    """What was found of a run's decisions. It holds if nothing but `duplicated` is found, and that only if allowed.

    orders: in the input; each is to have one decision. decided: orders with a decision; accepted: those of them whose
    first decision accepts. missing: orders without a decision. unknown: decisions of orders that the input does not
    have. duplicated: decisions after an order's first. wrong: decisions that say something else of their order or their
    quote than the input, whose verdict is not the rule's on that quote, or that disagree with the alerts. stale:
    decisions on a quote, or on none, that was replaced before the order can have met it. sentences: of each kind the
    first ten, readable.
    """

    orders: int
    decided: int
    accepted: int
    missing: int
    unknown: int
    duplicated: int
    wrong: int
    stale: int
    duplicates_allowed: bool
    sentences: Mapping[str, tuple[str, ...]]


class DecisionJudge(InputJudge):
    """Judges decisions by input that comes in chunks: all quotes, then all orders, then the judgement.

    A decision must repeat its order, and name a quote of the input, with its prices, whose verdict it gives. The order
    must be able to have met the quote: the bounds are those of `ClosedBook.window`, with the delays around the order
    (`observed_delays`). As with the oracle, up to 1% of the decisions, or five, may be stale by these and not by the
    longest of the run and a second more. Besides, what is named of a symbol
    must not go back in the order of the topic, as state never does; that finds a stale quote without any bound on
    delays, and is not asked where orders may be judged again. Every decision is held to all of this.

    Memory: 80 bytes for each decision and 17 more to find it, 41 for each quote; some 100 MB for a chunk. It grows with
    the input, so it is for runs of some ten million messages at most.
    """

    def __init__(
        self, decisions: Decisions, *, alerted: Int64s | None = None, delay_us: int | None = None,
        replayed: Sequence[tuple[int, int]] = (),
    ) -> None:  # fmt: skip
        """alerted: ids of the orders with an alert, which must be those that are rejected; None: not looked at.

        delay_us: the run's longest delay from a message's intended send to its meeting the state; None takes the delays
        from the receipts of the decisions. replayed: see `Oracle`. If there are any, orders may be decided again, and
        alerts may be of another attempt than the first decision, and are not compared.
        """
        super().__init__(QuoteBook(accepting=True))
        self._decisions = decisions
        self._duplicates_allowed = bool(replayed)
        self._alerted = None if alerted is None or replayed else np.unique(alerted)
        self._delays = self._at_worst = constant_delay(delay_us or 0)
        if delay_us is None:
            received_us = decisions.received_us + behind_us(decisions.intended_us, decisions.received_us)
            self._delays = observed_delays(decisions.intended_us, received_us, replayed)
            self._at_worst = self._delays.at_worst()
        self._by_id = np.argsort(decisions.order_id, kind="stable")
        self._ids = decisions.order_id[self._by_id]
        self._known = np.zeros(len(decisions), np.bool_)
        self._counts = dict.fromkeys((*FAULTS, _LATE), 0)
        self._sentences: dict[str, list[str]] = {kind: [] for kind in self._counts}
        self._orders = self._decided = 0

    def judgement(self) -> DecisionJudgement:
        decisions, counts, sentences = self._decisions, self._counts, self._sentences
        first = np.zeros(len(decisions), np.bool_)
        first[self._by_id[np.diff(self._ids, prepend=-1) != 0]] = True
        unknown = "it has a decision, but the input has no such order"
        self._note("unknown", first & ~self._known, decisions, lambda _: unknown)
        self._note("duplicated", ~first, decisions, lambda i: f"another decision {_said(decisions, i)}")
        if not self._duplicates_allowed:
            number = decisions.quote_sequence
            back = "it was judged on quote {}, after a newer one was used".format
            goes_back = falls_back(symbol_codes(decisions.symbol), number)
            self._note("stale", goes_back, decisions, lambda i: back(number[i]))
        if not are_few(counts[_LATE], len(decisions)):
            counts["stale"] += counts[_LATE]
            sentences["stale"] = (sentences["stale"] + sentences[_LATE])[:SENTENCES_MAX]
        del counts[_LATE], sentences[_LATE]
        return DecisionJudgement(
            orders=self._orders, decided=self._decided,
            accepted=int((first & self._known & (decisions.verdict == ord(ACCEPTED))).sum()),
            duplicates_allowed=self._duplicates_allowed,
            sentences={kind: tuple(said) for kind, said in sentences.items()}, **counts,
        )  # fmt: skip

    def add_orders(self, orders: Orders) -> None:
        book = self._book
        begin = np.searchsorted(self._ids, orders.order_id, "left")
        count = np.searchsorted(self._ids, orders.order_id, "right") - begin
        self._orders += len(orders)
        self._decided += int((count > 0).sum())
        self._note("missing", count == 0, orders, lambda _: "it has no decision")

        # Positions of all decisions of these orders, and of the order of each.
        order_of = np.repeat(np.arange(len(orders)), count)
        within = np.arange(len(order_of)) - np.repeat(np.cumsum(count) - count, count)
        places = self._by_id[begin[order_of] + within]
        self._known[places] = True
        decisions, theirs = self._decisions[places], orders[order_of]
        symbol_ids = book.symbol_ids(theirs.symbol)
        window = book.window(symbol_ids, theirs.intended_us, self._delays.at(theirs.intended_us))
        widest = book.window(symbol_ids, theirs.intended_us, self._at_worst.at(theirs.intended_us))
        number = decisions.quote_sequence
        place = book.find(symbol_ids, number)
        says_none = (place < 0) & (number == 0) & (decisions.bid == 0) & (decisions.offer == 0)
        wrong = repetition_checks(decisions, theirs, "it") + named_quote_checks(decisions, book, place, window, "it")
        wrong += self._content_checks(decisions, (place < 0) & ~says_none)
        none = "it names no quote, but there was one before the order"
        old = "quote {} was replaced too early for the order to meet it"
        self._note("wrong", failed_any(wrong), decisions, lambda i: sentence_of(wrong, i))
        self._note("stale", says_none & ~window.unquoted, decisions, lambda _: none)
        self._note("stale", (place >= 0) & (place < widest.first), decisions, lambda i: old.format(number[i]))
        self._note(_LATE, (place >= widest.first) & (place < window.first), decisions, lambda i: old.format(number[i]))

    def _content_checks(self, decisions: Decisions, unknown: Bools) -> list[Check]:
        number, verdict = decisions.quote_sequence, decisions.verdict
        right = np.where(rejects(decisions.bid, decisions.offer), ord(REJECTED), ord(ACCEPTED))
        checks = [
            Check(unknown, lambda i: f"the input has no quote {number[i]} of this symbol"),
            Check(verdict != right, lambda i: f"it {_said(decisions, i)}, which {_VERDICTS[int(right[i])]}"),
        ]
        if self._alerted is not None:
            has_alert = np.isin(decisions.order_id, self._alerted)
            checks += [
                Check((verdict == ord(REJECTED)) & ~has_alert, lambda _: "it rejects, but there is no alert"),
                Check((verdict == ord(ACCEPTED)) & has_alert, lambda _: "it accepts, but there is an alert"),
            ]
        return checks

    def _note(self, kind: str, mask: Bools, messages: Orders, what: Callable[[int], str]) -> None:
        """Count the faults of a kind, and keep the first as sentences."""
        self._counts[kind] += int(mask.sum())
        said = self._sentences[kind]
        said += sentences_of(mask, messages, what)[: SENTENCES_MAX - len(said)]


def _said(decisions: Decisions, i: int) -> str:
    return f"{_VERDICTS[int(decisions.verdict[i])]} on quote {decisions.quote_sequence[i]}"
