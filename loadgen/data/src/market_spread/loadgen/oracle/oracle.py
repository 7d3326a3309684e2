"""Judges alerts from the input alone: which orders are rejected, by which quotes, and what the alerts make of it.

It shares no code with the job that it judges, only the layout of messages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.loadgen.columns import Alerts, Bools, Check, Orders, Quotes, Texts, failed_any, find_in, sentence_of
from market_spread.loadgen.oracle.alert_checks import no_older_check, quote_checks, repetition_checks, symbol_text
from market_spread.loadgen.oracle.delays import Delays, are_few, behind_us, constant_delay, observed_delays
from market_spread.loadgen.oracle.quote_book import ClosedBook, InputJudge, QuoteBook, falls_back, naming

UNCHECKED_SHARE_MAX = 2 / 3
# Where more than so many and so large a share are undecided, some other order must be accepted for certain: else a job
# that never accepts would pass.
_UNDECIDED_SHARE, _UNDECIDED_FEW = 1 / 2, 100
SENTENCES_MAX = 10
WHOLE_RUN = ((-(2**62), 2**62),)
_NEAR_US = 1_000_000
_ACCEPTED = "it is accepted, but has an alert"
_UNKNOWN_ORDER = "it has an alert, but the input has no such order"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The oracle's judgement of a run's alerts.

    orders: in the input. expected: orders that are rejected for certain; accepted: those that are accepted for certain,
    of symbols that reject at other times or have an alert. received: orders with an alert. missing: expected, but
    without alert. unexpected: orders with an alert that are accepted for certain, or not in the input. wrong: alerts
    that say something else than the input. duplicated: alerts after an order's first, without a replay that explains
    them; replayed: those with one. disagreeing: those of either that name another quote. stale: faults by the delays
    around their time only; they are among the other faults if they are many.
    belated: ids of the orders, ascending, that one of several jobs alerted after another one can have accepted them.
    undecided: orders on which either verdict is right, as quotes and orders race; unchecked: those of them without an
    alert, of which nothing can be said. delay_us: the longest that an order took from its intended send to the receipt
    of its alert, or what was given as the longest delay.
    sentences: for `missing`, `unexpected`, `duplicated` and `wrong` the first ten, readable.
    missing_us: when the missing ones were to be sent, Unix microseconds.
    """

    orders: int
    expected: int
    accepted: int
    received: int
    missing: int
    unexpected: int
    duplicated: int
    replayed: int
    disagreeing: int
    wrong: int
    stale: int
    undecided: int
    unchecked: int
    delay_us: int
    sentences: Mapping[str, tuple[str, ...]]
    belated: tuple[int, ...] = ()
    missing_us: tuple[int, ...] = ()

    @property
    def void_reason(self) -> str | None:
        """Why the input allows no judgement, as a sentence; None if it does."""
        if not self.orders:
            return "the input has no orders"
        rejectable = self.expected + self.undecided
        if self.unchecked > UNCHECKED_SHARE_MAX * rejectable:
            return (
                f"nothing can be said of {self.unchecked} of the {rejectable} orders that can be rejected: their "
                f"verdict changed within the delays, of up to {self.delay_us} us, and they have no alert; "
                f"at most {UNCHECKED_SHARE_MAX:.0%} may be so; let verdicts change less often"
            )
        if not self.accepted and self.undecided > max(_UNDECIDED_SHARE * rejectable, _UNDECIDED_FEW):
            return (
                f"a job that never accepts could pass: {self.undecided} of the {rejectable} orders that can be rejected"
                f" can be accepted as well, as their verdict changed within the delays, of up to {self.delay_us} us,"
                " and no other order of their symbols is certain to be accepted; let verdicts change less often"
            )
        return None

    @property
    def faulty(self) -> bool:
        """Whether there is a fault, which is one for certain, whatever else cannot be judged."""
        return bool(self.missing or self.unexpected or self.wrong or self.duplicated)


class Oracle(InputJudge):
    """Judges alerts by input that comes in chunks: all quotes, then all orders, then the judgement.

    An order is decided if every quote that it can have met says the same. With D the bound of the delays around its
    intended time (`observed_delays`), it can have met its symbol's quotes from the newest (by sequence) whose intended
    time plus D is before the order's, to the newest whose intended time is not after the order's plus D, or after the
    receipt of its alert; without a quote it is rejected. The first quote of a symbol is taken to be there before any
    later order. Where verdicts never change, that decides every order.

    An undecided order may have an alert or not. Every alert must repeat its order, and name a quote of the input, with
    its prices, that rejects and that the order can have met. What was received before an order was to be sent tells how
    new a quote that order meets at least: its alert may name no older one. A second alert of an order is a duplicate;
    it is held to the same.

    One partition of the quotes may stand still for once while no order does. So up to 1% of the alerts, or five, may be
    `stale`: a fault by the D of their time, but not by one that is a second longer than the longest of the run; with
    them alerts that are missing within a second of one. If there are more, each counts as what it is.

    Memory: 41 bytes for each quote that changes a verdict, and for at most two quotes an alert; 47 for each order that
    can be rejected or has an alert, and 111 for each alert; besides, some 100 MB for a chunk. So where verdicts do not
    change it grows with the alerts, and not with the input.

    delay_us: what no message took longer from its intended send to the state, which is then D throughout; None takes D
    from the receipts of the alerts. replayed: spans of Unix microseconds in which all was read that was read more than
    once, after a restart or by another job: what was to be sent by the end of one, with its first alert not received
    before its begin, may have more alerts, reads_max in all (None: not known). In and across such a span states are
    several, and what was named before it does not bind what comes after. paths: numbers for symbols, by default their
    own. A job decides the orders of one number as they were sent, so an alert that one on a later order has overtaken
    tells of no delay (docs/adr/0045). Given for several jobs, first answers have delays of their own (docs/adr/0021).
    """

    def __init__(
        self, alerts: Alerts, *, delay_us: int | None = None, replayed: Sequence[tuple[int, int]] = (),
        paths: Callable[[Texts], Int64s] | None = None, reads_max: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(QuoteBook(naming(alerts.symbol, alerts.quote_sequence)))
        self._alerts, self._delay_us = alerts, delay_us
        self._replayed, self._paths = replayed, paths
        self._reads_max = reads_max or len(alerts)
        self._alerted_ids = np.unique(alerts.order_id)
        self._order_count = 0
        self._orders = [Orders.from_rows(np.empty((0, ORDER.width), np.uint8))]

    def add_orders(self, orders: Orders) -> None:
        book = self._book
        matters = book.may_reject(book.symbol_ids(orders.symbol), orders.intended_us)
        matters |= find_in(self._alerted_ids, orders.order_id) >= 0
        self._order_count += len(orders)
        self._orders.append(orders[matters])

    def judgement(self) -> Judgement:
        """The judgement of all alerts. UsageError if two orders have the same id."""
        alerts, book = self._alerts, self._book
        orders = _by_id(self._orders)
        known = find_in(orders.order_id, alerts.order_id) >= 0
        theirs = _KnownAlerts.of(alerts[known], orders, book)
        _, first, inverse = np.unique(alerts.order_id, return_index=True, return_inverse=True)
        first_of_order = first[inverse]
        is_first = first_of_order == np.arange(len(alerts))
        reread = read_again(alerts.intended_us, alerts.received_us[first_of_order], self._replayed)
        replayed = ~is_first & reread & (np.bincount(inverse)[inverse] <= self._reads_max)
        duplicated = ~is_first & ~replayed

        intended_us, received_us = theirs.orders.intended_us, theirs.received_us
        paths = theirs.symbol_ids if self._paths is None else self._paths(theirs.orders.symbol)
        overtaken = falls_back(paths, intended_us)
        delays = at_worst = constant_delay(self._delay_us or 0)
        if self._delay_us is None:
            counted = ~duplicated[known]
            at_worst = observed_delays(intended_us[counted], received_us[counted], self._replayed).at_worst()
            counted &= reread[known] | ~overtaken
            delays = observed_delays(intended_us[counted], received_us[counted], self._replayed)
        found, stale = self._excused(orders, theirs, delays, at_worst)

        accepted, certainly_accepted, belated = found.accepted, found.certainly_accepted, np.empty(0, np.int64)
        if self._paths is not None and self._replayed == WHOLE_RUN:
            # An alert on a later order of a path says that its job had decided the overtaken ones by then. If it can
            # have accepted an order, the alert on that one is belated; if not, it was lost there, and has come as late
            # as it has. The other first alerts bound their own delays, which those of a job that has come back do not
            # widen.
            overtaken &= is_first[known]
            others = is_first[known] & ~overtaken
            bound = observed_delays(intended_us[others], received_us[others])
            window = book.window(theirs.symbol_ids, intended_us, bound.at(intended_us))
            belated = np.sort(theirs.orders.order_id[overtaken & window.accepting])
            answers, _ = self._excused(orders, theirs, bound, bound.at_worst())
            more = answers.accepted & ~accepted & others
            # A few can be of the one that came back, with nothing after them.
            if not are_few(int(more.sum()), len(alerts)):
                accepted = accepted | more
            # On a belated one of these an alert is right.
            certainly_accepted = answers.certainly_accepted
            certainly_accepted -= int((overtaken & window.accepting & ~window.rejecting).sum())
        unexpected = ~known & is_first
        unexpected[known] = accepted & is_first[known]
        named = (alerts.quote_sequence, alerts.bid, alerts.offer)
        disagreeing = ~is_first & np.any([column != column[first_of_order] for column in named], axis=0)

        def repeated(i: int) -> str:
            again, before = alerts.quote_sequence[i], alerts.quote_sequence[first_of_order[i]]
            on = f"on the same quote {again}" if again == before else f"on quote {again}, the first time on {before}"
            return f"it has another alert, {on}"

        return Judgement(
            orders=self._order_count, expected=found.expected, accepted=certainly_accepted,
            received=len(self._alerted_ids), missing=int(found.missing.sum()), unexpected=int(unexpected.sum()),
            duplicated=int(duplicated.sum()), replayed=int(replayed.sum()), disagreeing=int(disagreeing.sum()),
            wrong=int(found.wrong.sum()), stale=stale, undecided=found.undecided, unchecked=found.unchecked,
            delay_us=at_worst.longest_us,
            sentences={
                "missing": sentences_of(found.missing, orders, lambda _: "it is rejected, but has no alert"),
                "unexpected": sentences_of(unexpected, alerts, lambda i: _ACCEPTED if known[i] else _UNKNOWN_ORDER),
                "duplicated": sentences_of(duplicated, alerts, repeated),
                "wrong": sentences_of(found.wrong, theirs.alerts, lambda i: sentence_of(found.checks, i)),
            },
            belated=tuple(belated.tolist()),
            missing_us=tuple(orders.intended_us[found.missing].tolist()),
        )  # fmt: skip

    def _excused(self, orders: Orders, theirs: "_KnownAlerts", *delays: Delays) -> tuple["_BoundOutcome", int]:
        """What the first delays make of the run, without the stale faults if they are few; and how many these are.

        Stale are faults that are none by the second, those at worst. A missing alert is stale only beside an alert on
        an old quote: else it has rather been lost.
        """
        found, at_worst = (self._found(orders, theirs, each) for each in delays)
        late = (found.accepted | found.wrong) & ~(at_worst.accepted | at_worst.wrong)
        late_us = np.sort(theirs.orders.intended_us[late])
        after, before = (np.searchsorted(late_us, orders.intended_us + near_us) for near_us in (_NEAR_US, -_NEAR_US))
        unnoticed = found.missing & ~at_worst.missing & (after > before)
        stale = int(late.sum() + unnoticed.sum())
        if are_few(stale, len(self._alerts)):
            found = replace(
                found, missing=found.missing & ~unnoticed, accepted=at_worst.accepted, wrong=at_worst.wrong,
                checks=at_worst.checks,
            )  # fmt: skip
        return found, stale

    def _found(self, orders: Orders, theirs: "_KnownAlerts", delays: Delays) -> "_BoundOutcome":
        book = self._book
        window = book.window(book.symbol_ids(orders.symbol), orders.intended_us, delays.at(orders.intended_us))
        silent = find_in(self._alerted_ids, orders.order_id) < 0
        undecided = window.rejecting & window.accepting

        intended_us = theirs.orders.intended_us
        met = book.window(theirs.symbol_ids, intended_us, delays.at(intended_us), received_us=theirs.received_us)
        accepted = ~met.rejecting
        checks = repetition_checks(theirs.alerts, theirs.orders, "the alert")
        checks += quote_checks(theirs.alerts, book, theirs.symbol_ids, met)
        # A number for each alert's symbol and state, and whether it is known which state: not while replays go on.
        from_us, to_us = np.reshape(self._replayed, (-1, 2)).T
        is_over = theirs.received_us[:, np.newaxis] > to_us
        states = theirs.symbol_ids * (len(self._replayed) + 1) + is_over.sum(axis=1)
        of_one_state = (is_over | (theirs.received_us[:, np.newaxis] < from_us)).all(axis=1)
        right = of_one_state & ~failed_any(checks) & ~accepted
        no_older = no_older_check(theirs.alerts, states, intended_us, theirs.received_us, right)
        checks.append(replace(no_older, failed=no_older.failed & of_one_state))
        return _BoundOutcome(
            expected=int((window.rejecting & ~window.accepting).sum()),
            certainly_accepted=int((window.accepting & ~window.rejecting).sum()), undecided=int(undecided.sum()),
            unchecked=int((undecided & silent).sum()), missing=window.rejecting & ~window.accepting & silent,
            accepted=accepted, wrong=failed_any(checks) & ~accepted, checks=checks,
        )  # fmt: skip


def read_again(intended_us: Int64s, received_us: Int64s, replayed: Sequence[tuple[int, int]]) -> Bools:
    """Which orders can have been read more than once: due by the end of a span, not received before its begin."""
    can = np.zeros(len(intended_us), np.bool_)
    for from_us, to_us in replayed:
        can |= (received_us >= from_us) & (intended_us <= to_us)
    return can


@dataclass(frozen=True, slots=True)
class _KnownAlerts:
    """Alerts of orders that the input has (n,), with these, and when they were received by the sender's clock."""

    alerts: Alerts
    orders: Orders
    symbol_ids: Int64s
    received_us: Int64s

    @staticmethod
    def of(alerts: Alerts, orders: Orders, book: ClosedBook) -> "_KnownAlerts":
        theirs = orders[np.searchsorted(orders.order_id, alerts.order_id)]
        repeated = alerts.intended_us == theirs.intended_us  # else it is perhaps of another order
        received_us = alerts.received_us + behind_us(theirs.intended_us[repeated], alerts.received_us[repeated])
        return _KnownAlerts(alerts, theirs, book.symbol_ids(theirs.symbol), received_us)


@dataclass(frozen=True, slots=True)
class _BoundOutcome:
    """What a bound of the delays makes of the run. missing: of the orders; accepted, wrong: of the known alerts."""

    expected: int
    certainly_accepted: int
    undecided: int
    unchecked: int
    missing: Bools
    accepted: Bools
    wrong: Bools
    checks: list[Check]


def _by_id(parts: list[Orders]) -> Orders:
    orders = Orders.concatenate(parts)
    orders = orders[np.argsort(orders.order_id, kind="stable")]
    twice = np.flatnonzero(orders.order_id[1:] == orders.order_id[:-1])
    if len(twice):
        raise UsageError(f"the input has order {orders.order_id[twice[0]]} twice; give each order an id of its own")
    return orders


def sentences_of(mask: Bools, messages: Orders, what: Callable[[int], str]) -> tuple[str, ...]:
    """The first faults of a kind, readable. what: of the one at the position."""
    return tuple(
        f"order {messages.order_id[i]} ({symbol_text(messages.symbol[i])}): {what(int(i))}"
        for i in np.flatnonzero(mask)[:SENTENCES_MAX]
    )


def check_files(
    nbbo: Path, orders: Path, alerts: Path, *, duplicates_allowed: bool = False, warm_up_judged: bool = True
) -> Judgement:
    """Judge the alerts of a ledger by native files of the quotes and orders as they were sent; see `Oracle`.

    duplicates_allowed: of any order, as when a restart was, or how many jobs there were, is not known.
    Without warm_up_judged, orders and alerts of the warm-up are left out, as where its orders were not recorded.
    UsageError if a file cannot be read, or has something that does not belong into it.
    """
    id_end = ORDER.field("order_id").highest + 1 if warm_up_judged else WARM_UP_ORDER_ID_MIN
    received = Alerts.from_ledger(alerts)
    oracle = Oracle(received[received.order_id < id_end], replayed=WHOLE_RUN if duplicates_allowed else ())
    for quotes in Quotes.from_file(nbbo):
        oracle.add_quotes(quotes)
    for chunk in Orders.from_file(orders):
        oracle.add_orders(chunk[chunk.order_id < id_end])
    return oracle.judgement()
