"""The wrong systems: each is the right one with something exchanged, and a sentence that says what."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import ACCEPTED, REJECTED
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.controller.analysis.latency import STAGES
from market_spread.controller.analysis.result import Result
from market_spread.loadgen.columns import Alerts, Decisions, Quotes, symbol_codes
from tests.mutants.inputs import BEGIN_US, SECONDS
from tests.mutants.parts import recorded
from tests.mutants.system import (
    BATCH_US,
    MICRO_BATCH,
    REAL_TIME,
    Bools,
    Heard,
    Restart,
    Stop,
    System,
    partition_of,
    rejected,
)

Texts = np.ndarray[tuple[int], np.dtype[np.bytes_]]

# By which a kind of fault fails a run.
CRITERIA = {
    "missing": frozenset({Criterion.ALERTS_MISSING}),
    "unexpected": frozenset({Criterion.ALERTS_UNEXPECTED}),
    "wrong": frozenset({Criterion.ALERTS_WRONG}),
    "duplicated": frozenset({Criterion.ALERTS_DUPLICATED}),
    "slow": frozenset({Criterion.LAG_GROWING, Criterion.STALLED, Criterion.LATENCY_P95}),
    "stalled": frozenset({Criterion.STALLED}),
    "unreadable": frozenset({Criterion.ALERTS_UNREADABLE}),
}

RESTART_LATE = Restart(killed_us=BEGIN_US + 13_000_000, down_us=1_000_000)
RESTART = Restart(killed_us=BEGIN_US + 8_600_000, down_us=2_000_000)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong system. caught: the kinds of faults, or the stages, of which one must be found; says: what the reasons
    must have in them. decided: changes the decisions, of a job that tells all of them.
    """

    name: str
    sentence: str
    system: System
    caught: tuple[str, ...]
    decided: Callable[[Decisions], Decisions] | None = None
    says: str = ""

    def is_found(self, result: Result) -> bool:
        """Whether a run of it is called what it is, for a reason that names the fault."""
        if self.decided is not None and self.caught != ("slow",):
            named = any(getattr(result, f"decisions_{kind}") for kind in self.caught)
            return result.verdict is Verdict.FAILED and named and result.decisive[0].startswith(Criterion.DECISIONS)
        if set(self.caught) <= set(STAGES):
            said = " ".join(result.reasons)
            named = any(f"stage {stage.replace('_', ' ')}" in said for stage in self.caught)
            return result.verdict is Verdict.VOID and named and Criterion.STAMPS in result.decisive
        expected = frozenset[Criterion]().union(*(CRITERIA[kind] for kind in self.caught))
        is_said = self.says in " ".join(result.reasons)
        return result.verdict is Verdict.FAILED and bool(expected & set(result.decisive)) and is_said


@dataclass(frozen=True, slots=True)
class _List:
    mutants: list[Mutant] = field(default_factory=list)

    def add(self, name: str, sentence: str, *caught: str, says: str = "", **hooks: Any) -> None:
        system = replace(System(standstill_us=400_000), **hooks)
        self.mutants.append(Mutant(name, sentence, system, caught, says=says))


_all = _List()


# The rule


def _rule(name: str, sentence: str, rule: Callable[[Int64s, Int64s], Bools]) -> None:
    _all.add(name, sentence, "missing", "unexpected", "wrong", rule=rule)


_rule("threshold_400", "a spread of 4 cents rejects", lambda b, o: (o - b >= 400) | rejected(b, o))
_rule("threshold_499", "a spread of 4.99 cents rejects", lambda b, o: (o - b >= 499) | rejected(b, o))
_rule("threshold_501", "a spread of 5 cents is accepted", lambda b, o: (o - b >= 501) | (40 * (o - b) >= b + o))
_rule("strictly_wider", "5 cents, or 5%, are accepted", lambda b, o: (o - b > 500) | (40 * (o - b) > b + o))
_rule("five_cents_strictly", "5 cents are accepted", lambda b, o: (o - b > 500) | (40 * (o - b) >= b + o))
_rule("five_percent_strictly", "5% are accepted", lambda b, o: (o - b >= 500) | (40 * (o - b) > b + o))
_rule("no_five_percent", "the share of the mid does not matter", lambda b, o: o - b >= 500)
_rule("no_five_cents", "the spread in cents does not matter", lambda b, o: 40 * (o - b) >= b + o)
_rule("four_percent", "4% of the mid reject", lambda b, o: (o - b >= 500) | (50 * (o - b) >= b + o))
_rule("six_percent", "5% of the mid are accepted", lambda b, o: (o - b >= 500) | (100 * (o - b) >= 3 * (b + o)))
_rule("nine_cents_accepted", "9 cents and more are an error", lambda b, o: rejected(b, o) & (o - b < 900))
_rule("dollar_accepted", "a spread of a dollar is an error", lambda b, o: rejected(b, o) & (o - b < 10_000))
_rule("ten_percent_accepted", "10% is an error", lambda b, o: rejected(b, o) & ((20 * (o - b) < b + o) | (o <= 0)))
_rule("near_rejected", "4 to 4.98 cents reject", lambda b, o: rejected(b, o) | ((o - b >= 400) & (o - b < 499)))
_rule("absolute_spread", "a crossed quote rejects", lambda b, o: rejected(b, b + np.abs(o - b)))
_rule("mid_not_halved", "5% of bid and offer together", lambda b, o: (o - b >= 500) | (20 * (o - b) >= b + o))
_rule("share_of_bid", "5% of the bid", lambda b, o: (o - b >= 500) | (20 * (o - b) >= b))
_rule("share_of_offer", "5% of the offer", lambda b, o: (o - b >= 500) | (20 * (o - b) >= o))
_rule("no_market_accepted", "0/0 is accepted", lambda b, o: rejected(b, o) & (o > 0))
_rule(
    "mid_rounded_down",
    "of the mid only whole units count",
    lambda b, o: (o - b >= 500) | (20 * (o - b) >= (b + o) // 2),
)
_rule("whole_cents", "prices count in whole cents", lambda b, o: rejected(b // 100 * 100, o // 100 * 100))
_rule("both_clauses", "5 cents and 5% are needed", lambda b, o: (o - b >= 500) & (40 * (o - b) >= b + o))
_rule("all_rejected", "every order is rejected", lambda b, o: np.ones(len(b), np.bool_))
_rule("none_rejected", "no order is rejected", lambda b, o: np.zeros(len(b), np.bool_))


# The state


def _state(name: str, sentence: str, heard: Callable[[Quotes, Int64s], Heard], **hooks: Any) -> None:
    _all.add(name, sentence, "missing", "unexpected", "wrong", heard=heard, **hooks)


def _only(which: Callable[[Quotes, Int64s], Bools]) -> Callable[[Quotes, Int64s], Heard]:
    def heard(quotes: Quotes, came_us: Int64s) -> Heard:
        kept = which(quotes, came_us)
        return quotes[kept], came_us[kept]

    return heard


def _firsts(quotes: Quotes) -> Bools:
    first = np.zeros(len(quotes), np.bool_)
    first[np.unique(symbol_codes(quotes.symbol), return_index=True)[1]] = True
    return first


def _late(share: float, late_us: int) -> Callable[[Quotes, Int64s], Heard]:
    def heard(quotes: Quotes, came_us: Int64s) -> Heard:
        some = symbol_codes(quotes.symbol) % 997 < 997 * share
        return quotes, came_us + np.where(some & (quotes.intended_us >= BEGIN_US), late_us, 0)

    return heard


def _one_behind(quotes: Quotes, came_us: Int64s) -> Heard:
    """A quote comes when the next one of its symbol does."""
    order = np.argsort(symbol_codes(quotes.symbol), kind="stable")
    codes, times_us = symbol_codes(quotes.symbol)[order], came_us[order]
    later_us = np.append(times_us[1:], times_us[-1])
    initial = quotes.intended_us[order] < BEGIN_US
    last = np.append(codes[1:] != codes[:-1], True)
    later_us[initial | last] = times_us[initial | last]
    came_us = came_us.copy()
    came_us[order] = later_us
    return quotes, came_us


def _swapped(quotes: Quotes, came_us: Int64s) -> Heard:
    symbols = quotes.symbol.copy()
    one, other = np.bytes_(b"P4    "), np.bytes_(b"P34   ")
    symbols[quotes.symbol == one], symbols[quotes.symbol == other] = other, one
    return replace(quotes, symbol=symbols), came_us


def _forgotten(at_us: int) -> Callable[[Quotes, Int64s], Heard]:
    """From then on the state is empty, as if each symbol had a quote of zeros."""

    def heard(quotes: Quotes, came_us: Int64s) -> Heard:
        first = quotes[_firsts(quotes)]
        nothing = np.zeros(len(first), np.int64)
        zeros = Quotes(first.symbol, nothing, nothing, nothing, nothing + at_us)
        return Quotes.concatenate([quotes, zeros]), np.append(came_us, nothing + at_us)

    return heard


def _back(at_us: int, by_us: int) -> Callable[[Quotes, Int64s], Heard]:
    """The state becomes what it was before, and what came since is not read again."""

    def heard(quotes: Quotes, came_us: Int64s) -> Heard:
        older = np.flatnonzero(came_us < at_us - by_us)
        newest = len(older) - 1 - np.unique(symbol_codes(quotes.symbol[older])[::-1], return_index=True)[1]
        again = quotes[older[newest]]
        return Quotes.concatenate([quotes, again]), np.append(came_us, np.full(len(again), at_us))

    return heard


def _stale_key(quotes: Quotes, came_us: Int64s) -> Heard:
    """One symbol of 60 stays as it was at the beginning."""
    kept = (quotes.symbol != np.bytes_(b"P6    ")) | _firsts(quotes)
    return quotes[kept], came_us[kept]


_AFTER_US = 5_000_000
_state("oldest_for_ever", "a symbol's first quote is used for ever", _only(lambda quotes, _: _firsts(quotes)))
_state("one_key_frozen", "one symbol's first quote is used for ever", _stale_key)
_state(
    "ignored_after_5_s",
    "quotes are ignored after 5 s",
    _only(lambda quotes, _: quotes.intended_us < BEGIN_US + _AFTER_US),
)
_state(
    "ignored_for_2_s",
    "quotes that come within 2 s are lost",
    _only(lambda _, came_us: (came_us < BEGIN_US + _AFTER_US) | (came_us > BEGIN_US + _AFTER_US + 2_000_000)),
)
_state(
    "every_other_lost",
    "every other quote is lost",
    _only(lambda quotes, _: (quotes.sequence % 2 == 0) | (quotes.intended_us < BEGIN_US)),
)
_state(
    "rejecting_lost",
    "quotes that reject do not change the state",
    _only(lambda quotes, _: ~rejected(quotes.bid, quotes.offer) | _firsts(quotes)),
)
_accepting_lost = _only(lambda quotes, _: rejected(quotes.bid, quotes.offer) | _firsts(quotes))
_state("accepting_lost", "quotes that accept do not change the state", _accepting_lost)
for _mode, _later_us in ((REAL_TIME, 3_000_000), (MICRO_BATCH, 2_000_000)):
    _state(
        f"accepting_lost_{_mode.replace('-', '_')}_seconds_behind",
        f"the same where all is read {_later_us // 1_000_000} s later, in {_mode} mode: it passed once",
        _accepting_lost,
        mode=_mode,
        later_us=_later_us,
    )
_state(
    "some_keys_only",
    "quotes of some symbols are lost",
    _only(lambda quotes, _: (symbol_codes(quotes.symbol) % 7 != 0) | _firsts(quotes)),
)
_state("initial_lost", "initial quotes are lost", _only(lambda quotes, _: quotes.intended_us >= BEGIN_US))
_state("all_late_by_1_s", "quotes are applied 1 s late", _late(1, 1_000_000))
_state("some_late_by_1_s", "quotes of a quarter of the symbols are applied 1 s late", _late(0.25, 1_000_000))
_state("one_behind", "the last quote but one is used", _one_behind)
_state("swapped", "two symbols are exchanged", _swapped)
_state("lost_at_boundary", "the state is empty after a batch", _forgotten(BEGIN_US + BATCH_US), by_sequence=False)
_state("back_at_boundary", "the state of 1 s ago comes back", _back(BEGIN_US + BATCH_US, 1_000_000), by_sequence=False)
_state(
    "last_not_highest",
    "an older quote replaces a newer one",
    lambda quotes, came_us: (quotes, came_us),
    by_sequence=False,
)


def _one_early(alerts: Alerts) -> Alerts:
    """The receipt of one alert, in the middle of the run, is 900 ms early."""
    return replace(alerts, received_us=alerts.received_us - np.where(np.arange(len(alerts)) == 900, 900_000, 0))


_state(
    "late_and_one_early", "quotes are applied 400 ms late, and one alert is received 900 ms early",
    _late(1, 400_000), said=_one_early,
)  # fmt: skip
_state(
    "back_before_a_restart", "the state of 1 s ago comes back, and later the job is started again",
    _back(BEGIN_US + BATCH_US, 1_000_000), by_sequence=False, restart=RESTART_LATE,
)  # fmt: skip


def _few_late(alerts: Alerts) -> Alerts:
    """Three of them come 5 s late."""
    late_us = np.where(np.isin(np.arange(len(alerts)), (200, 700, 1_200)), 5_000_000, 0)
    return replace(alerts, emitted_us=alerts.emitted_us + late_us, received_us=alerts.received_us + late_us)


_state("late_behind_few", "quotes are applied 1 s late, and three alerts come so late that all may seem to be",
       _late(1, 1_000_000), said=_few_late)  # fmt: skip
_state(
    "away_behind_few", "quotes that come within 2 s are lost, and three alerts come 5 s late", said=_few_late,
    heard=_only(lambda _, came_us: (came_us < BEGIN_US + _AFTER_US) | (came_us > BEGIN_US + _AFTER_US + 2_000_000)),
)  # fmt: skip
_state(
    "last_second_frozen", "quotes of the last second do not come",
    _only(lambda _, came_us: came_us < BEGIN_US + (SECONDS - 1) * 1_000_000),
)  # fmt: skip
_state(
    "shed", "every tenth quote is lost", _only(lambda quotes, _: (np.arange(len(quotes)) % 10 != 3) | _firsts(quotes)),
)  # fmt: skip


def _wrong_key(symbols: Texts) -> Texts:
    return np.where(symbols == np.bytes_(b"P7    "), np.bytes_(b"P9    "), symbols)


_all.add("wrong_key", "orders of one symbol are looked up under another", "wrong", "missing", asked=_wrong_key)
_all.add(
    "prefix_key",
    "orders are looked up under the first two letters of their symbol",
    "wrong",
    "unexpected",
    asked=lambda symbols: np.array([symbol[:2].ljust(6) for symbol in symbols], "S6"),
)


# The way of the alerts


def _transport(name: str, sentence: str, *caught: str, said: Callable[[Alerts], Alerts], **hooks: Any) -> None:
    _all.add(name, sentence, *caught, said=said, **hooks)


def _with_again(alerts: Alerts, which: Bools, after_us: int) -> Alerts:
    again = alerts[which]
    late = replace(again, emitted_us=again.emitted_us + after_us, received_us=again.received_us + after_us)
    return Alerts.concatenate([alerts, late])


def _changed(**changes: Callable[[Alerts], np.ndarray[tuple[int], np.dtype[np.generic]]]) -> Callable[[Alerts], Alerts]:
    """The named fields of every 500th alert."""

    def said(alerts: Alerts) -> Alerts:
        some = np.arange(len(alerts)) % 500 == 250
        values = {name: np.where(some, change(alerts), getattr(alerts, name)) for name, change in changes.items()}
        return replace(alerts, **values)

    return said


def _accepted_too(alerts: Alerts) -> Alerts:
    """A few alerts are of other orders than those that were rejected."""
    silent = np.setdiff1d(np.arange(1, int(alerts.order_id.max())), alerts.order_id)[::50]
    invented = alerts[np.arange(len(silent)) % len(alerts)]
    return Alerts.concatenate([alerts, replace(invented, order_id=silent)])


def _from_the_future(alerts: Alerts) -> Alerts:
    """Alerts name the quote that the symbol's next alert does, before it was sent."""
    order = np.argsort(symbol_codes(alerts.symbol), kind="stable")
    following = np.append(order[1:], order[-1])
    names = ("bid", "offer", "quote_sequence")
    values = {name: getattr(alerts, name).copy() for name in names}
    same = alerts.symbol[order] == alerts.symbol[following]
    for name in names:
        values[name][order[same]] = getattr(alerts, name)[following[same]]
    return replace(alerts, **values)


def _orders_of_restart(alerts: Alerts) -> Bools:
    return (alerts.intended_us > BEGIN_US + 1_000_000) & (alerts.intended_us < BEGIN_US + 1_200_000)


def _before_restart_again(alerts: Alerts) -> Alerts:
    since_us = RESTART_LATE.killed_us - alerts.intended_us
    return _with_again(alerts, (since_us > 0) & (since_us < 1_000_000), 3_000_000)


def _sent_while_away(alerts: Alerts) -> Bools:
    back_us = RESTART.killed_us + RESTART.down_us
    return (alerts.intended_us > RESTART.killed_us) & (alerts.intended_us < back_us)


_transport(
    "one_in_1000_lost", "every 1,000th alert is lost", "missing",
    said=lambda alerts: alerts[np.arange(len(alerts)) % 1000 != 500],
)  # fmt: skip
_transport(
    "partition_lost", "alerts of one partition are lost", "missing",
    said=lambda alerts: alerts[symbol_codes(alerts.symbol) % 1_000_003 % 4 != 1],
)  # fmt: skip
_transport(
    "silent_at_end", "no alert comes in the last 3 s", "missing",
    said=lambda alerts: alerts[alerts.emitted_us < BEGIN_US + 12_000_000],
)  # fmt: skip
_transport(
    "lost_at_standstill", "alerts of a standstill are lost", "missing",
    said=lambda alerts: alerts[(alerts.intended_us - BEGIN_US) % BATCH_US > 400_000],
)  # fmt: skip
_transport(
    "twice_without_restart", "every 500th alert comes twice", "duplicated",
    said=lambda alerts: _with_again(alerts, np.arange(len(alerts)) % 500 == 0, 300_000),
)  # fmt: skip
_transport(
    "twice_before_restart", "alerts come twice that a restart did not read again", "duplicated",
    said=lambda alerts: _with_again(alerts, _orders_of_restart(alerts), 9_000_000), restart=RESTART,
)  # fmt: skip
_transport(
    "restart_loses", "what was sent while the job was away is not read", "missing", restart=RESTART,
    said=lambda alerts: alerts[~_sent_while_away(alerts) | (alerts.emitted_us < RESTART.killed_us)],
)  # fmt: skip
_transport(
    "last_lost", "the alert on the last order is lost", "missing",
    said=lambda alerts: alerts[alerts.intended_us < alerts.intended_us.max()],
)  # fmt: skip
_transport(
    "lost_when_late", "alerts that would be more than 300 ms late are not sent", "missing",
    said=lambda alerts: alerts[alerts.received_us - alerts.intended_us < 300_000],
)  # fmt: skip
_transport(
    "again_and_again", "after one restart, alerts come more often than their orders can have been read", "duplicated",
    restart=RESTART_LATE, said=lambda alerts: _before_restart_again(_before_restart_again(alerts)),
)  # fmt: skip
_transport(
    "thrice_of_two", "one of two jobs sends every 50th alert twice", "duplicated", replicas=2,
    said=lambda alerts: _with_again(alerts, alerts.order_id % 50 == 0, 500_000),
)  # fmt: skip
_transport("accepted_too", "accepted orders have alerts", "unexpected", said=_accepted_too)
_transport("future", "alerts name quotes that are not sent yet", "wrong", said=_from_the_future)
_transport(
    "future_after_restart",
    "after a restart alerts name quotes not sent yet",
    "wrong",
    said=_from_the_future,
    restart=RESTART,
)
for _name in ("account", "quantity", "price", "bid", "offer", "quote_sequence", "intended_us"):
    _transport(
        f"{_name}_off_by_one", f"every 500th alert has another {_name}", "wrong",
        said=_changed(**{_name: lambda alerts, name=_name: getattr(alerts, name) + 1}),
    )  # fmt: skip
_transport(
    "side",
    "every 500th alert has the other side",
    "wrong",
    said=_changed(side=lambda alerts: (ord("B") + ord("S") - alerts.side).astype(np.uint8)),
)
_transport(
    "symbol",
    "every 500th alert has another symbol",
    "wrong",
    said=_changed(symbol=lambda alerts: np.roll(alerts.symbol, 1)),
)
_transport(
    "bid_and_offer_swapped",
    "every 500th alert exchanges bid and offer",
    "wrong",
    said=_changed(bid=lambda alerts: alerts.offer, offer=lambda alerts: alerts.bid),
)
_transport(
    "order_ids_mixed_up",
    "every 500th alert has the id of another order",
    "wrong",
    said=_changed(order_id=lambda alerts: np.roll(alerts.order_id, 1)),
)
_transport(
    "unknown_orders",
    "every 500th alert has an id that no order has",
    "unexpected",
    said=_changed(order_id=lambda alerts: alerts.order_id + 10**8),
)


_STALL_US = 3_500_000


def _again_meanwhile(alerts: Alerts) -> Alerts:
    """While it stands still, from 8 s on, the alerts of the seconds before come again."""
    before = np.abs(alerts.received_us - BEGIN_US - 6_000_000) < _STALL_US // 2
    return _with_again(alerts, before, 2_000_000 + _STALL_US // 2)


_transport(
    "stall_hidden", "it stands still, and sends old alerts again meanwhile, without a restart", "stalled",
    says="the job stood still", said=_again_meanwhile, stops=(Stop(BEGIN_US + 8_000_000, _STALL_US),),
)  # fmt: skip


def _rows(alerts: Alerts) -> list[bytes]:
    return [record.value for record in recorded(alerts)]


_transport(
    "garbage", "every 500th alert is followed by bytes that are none", "unreadable", says="records were no alert",
    said=lambda alerts: alerts, beside=lambda alerts: [bytes(reversed(row)) for row in _rows(alerts[::500])],
)  # fmt: skip
_transport(
    "cut_off", "every 500th alert is cut off", "unreadable", says="records were no alert",
    said=lambda alerts: alerts[np.arange(len(alerts)) % 500 != 250],
    beside=lambda alerts: [row[:100] for row in _rows(alerts[::500])],
)  # fmt: skip


# Stamps: nothing is wrong with what the alerts say, so the oracle finds no fault, and the stages do.

stamps = _List()


def _shifted(**shifts_us: int) -> Callable[[Alerts], Alerts]:
    return lambda alerts: replace(
        alerts, **{name: getattr(alerts, name) + shift_us for name, shift_us in shifts_us.items()}
    )


stamps.add("read_0", "read_us is 0", "ingest", said=lambda alerts: replace(alerts, read_us=alerts.read_us * 0))
stamps.add("emitted_1_h_late", "emitted_us is an hour late", "delivery", said=_shifted(emitted_us=3_600_000_000))
stamps.add("emitted_early", "emitted_us is 50 ms early", "compute", said=_shifted(emitted_us=-50_000))
stamps.add("receiver_behind", "the receiver's clock is 20 ms behind", "delivery", said=_shifted(received_us=-20_000))
stamps.add(
    "job_ahead", "the job's clock is 100 ms ahead", "delivery", said=_shifted(read_us=100_000, emitted_us=100_000)
)
stamps.add(
    "job_behind", "the job's clock is 100 ms behind", "ingest", said=_shifted(read_us=-100_000, emitted_us=-100_000)
)
stamps.add("sent_early", "sent_us is 100 ms early", "send_lag", said=_shifted(sent_us=-100_000))


def _cold_late(alerts: Alerts) -> Alerts:
    late_us = np.where(symbol_codes(alerts.symbol) % 10 != 0, 5_000_000, 0)
    return replace(alerts, emitted_us=alerts.emitted_us + late_us, received_us=alerts.received_us + late_us)


slow = _List()
slow.add("late_keys", "alerts of all but the hot keys are 5 s late", "slow", said=_cold_late)
slow.add("falls_behind", "it falls behind by 0.3 s in each second", "slow", slower_by=0.3, seconds=20)
slow.add("far_behind", "it falls behind by 1.5 s in each second", "slow", slower_by=1.5)
slow.add("stands_still", "nothing is read for 4 s at the end of a batch", "slow", standstill_us=4_000_000)
slow.add("away", "it is away for 4 s when it is started again", "slow", restart=replace(RESTART, down_us=4_000_000))


# A part of it stands still, or it does while the load settles. This probe is the one with most orders of the market.
HOTTEST = np.bytes_(b"/H    ")


def _stopped(length_us: int, *, from_us: int = 8_000_000, of: Callable[[Texts], Bools] | None = None) -> Stop:
    return Stop(BEGIN_US + from_us, length_us, of) if of else Stop(BEGIN_US + from_us, length_us)


_SETTLING = _stopped(3_500_000, from_us=1_000_000)
slow.add(
    "stands_still_while_settling", "nothing is read for 3.5 s while the load settles", "stalled",
    says="the job stood still for 3.5 s, from 1.0 s of the load on", stops=(_SETTLING,),
)  # fmt: skip
for _mode, _name, _long_us in ((REAL_TIME, "", 3_500_000), (MICRO_BATCH, "_in_batches", 5_000_000)):
    slow.add(
        f"input_partition_stops{_name}", f"one partition of the input is not read for a while, {_mode}", "stalled",
        says="partition 1 of the input stood still", mode=_mode,
        stops=(_stopped(_long_us, of=lambda symbols: partition_of(symbols) == 1),),
    )  # fmt: skip
    slow.add(
        f"hot_key_stops{_name}", f"a key with many orders is not read for a while, {_mode}", "stalled",
        says="the key /H stood still", mode=_mode, stops=(_stopped(_long_us, of=lambda symbols: symbols == HOTTEST),),
    )  # fmt: skip


def _stall_stamped(name: str, sentence: str, said: Callable[[Alerts], dict[str, Int64s]]) -> None:
    """What waited has stamps that lay it on others."""

    def stamped(alerts: Alerts) -> Alerts:
        waited = alerts.received_us - alerts.intended_us > 500_000
        return replace(
            alerts, **{name: np.where(waited, us, getattr(alerts, name)) for name, us in said(alerts).items()}
        )

    slow.add(name, sentence, "stalled", says="the job stood still for 3.5 s", stops=(_SETTLING,), said=stamped)


_stall_stamped(
    "stall_as_delivery", "it stands still, and stamps what waited as emitted at once",
    lambda alerts: {"read_us": alerts.sent_us + 700, "emitted_us": alerts.sent_us + 1_000},
)  # fmt: skip
_stall_stamped(
    "stall_as_late_send", "it stands still, and stamps what waited as sent late",
    lambda alerts: {name: alerts.received_us - us for name, us in (("sent_us", 9), ("read_us", 6), ("emitted_us", 3))},
)  # fmt: skip
_stall_stamped(
    "stall_beside_false_stamps", "it stands still, and stamps what waited as read in 1970",
    lambda alerts: {"read_us": alerts.read_us * 0},
)  # fmt: skip


# All decisions: the alerts are right, and what is told of the orders is not.


decisions = _List()


def _decisions(
    name: str, sentence: str, *caught: str, decided: Callable[[Decisions], Decisions], says: str = ""
) -> None:
    decisions.mutants.append(Mutant(name, sentence, System(standstill_us=400_000), caught, decided, says))


def _some(decisions: Decisions) -> Bools:
    """Every 200th of them: a job of several partitions tells them in no order that is always the same."""
    return np.isin(decisions.order_id, np.sort(decisions.order_id)[100::200])


def _told(
    **changes: Callable[[Decisions], np.ndarray[tuple[int], np.dtype[np.generic]]],
) -> Callable[[Decisions], Decisions]:
    """The named fields of some decisions."""

    def decided(right: Decisions) -> Decisions:
        values = {name: np.where(_some(right), change(right), getattr(right, name)) for name, change in changes.items()}
        return replace(right, **values)

    return decided


def _told_again(right: Decisions) -> Decisions:
    return Decisions.concatenate([right, right[_some(right)]])


def _on_an_older_quote(right: Decisions) -> Decisions:
    """Each symbol's decisions after the first second name the quote of its first one."""
    _, first, of_symbol = np.unique(symbol_codes(right.symbol), return_index=True, return_inverse=True)
    late = right.intended_us > right.intended_us.min() + 1_000_000
    named = ("bid", "offer", "quote_sequence", "verdict")
    return replace(
        right,
        **{name: np.where(late, getattr(right, name)[first][of_symbol], getattr(right, name)) for name in named},
    )


_ACCEPTED = ord(ACCEPTED)
_decisions(
    "accepted_forgotten", "some accepted orders have no decision", "missing",
    decided=lambda right: right[(right.verdict != _ACCEPTED) | ~_some(right)],
)  # fmt: skip
_decisions(
    "rejected_alone", "accepted orders have no decision", "missing",
    decided=lambda right: right[right.verdict != _ACCEPTED],
)  # fmt: skip
_decisions("decided_twice", "every 200th decision comes twice", "duplicated", decided=_told_again)
_decisions(
    "decisions_invented", "every 200th decision has an id that no order has", "unknown",
    decided=_told(order_id=lambda right: right.order_id + 10**8),
)  # fmt: skip
_decisions(
    "verdict_turned", "every 200th decision says the other verdict", "wrong",
    decided=_told(verdict=lambda right: (ord(ACCEPTED) + ord(REJECTED) - right.verdict).astype(np.uint8)),
)  # fmt: skip
_decisions(
    "all_accepted", "every decision accepts", "wrong",
    decided=lambda right: replace(right, verdict=np.full(len(right), _ACCEPTED, np.uint8)),
)  # fmt: skip
for _name in ("account", "quantity", "price", "bid", "offer", "quote_sequence", "intended_us"):
    _decisions(
        f"decided_{_name}_off_by_one", f"every 200th decision has another {_name}", "wrong", "stale",
        decided=_told(**{_name: lambda right, name=_name: getattr(right, name) + 1}),
    )  # fmt: skip
_decisions(
    "accepted_late", "decisions that accept come 10 s late", "slow",
    decided=lambda right: replace(right, received_us=right.received_us + 10_000_000 * (right.verdict == _ACCEPTED)),
)  # fmt: skip
_decisions(
    "accepted_later_and_later", "decisions that accept come later and later, by no more than the objective", "slow",
    decided=lambda right: replace(
        right,
        received_us=right.received_us + (right.intended_us - BEGIN_US) // 10 * (right.verdict == _ACCEPTED),
    ),
    says="the median latency of all decisions grew",
)  # fmt: skip
_decisions("decided_on_older", "decisions name the first quote that was met", "stale", decided=_on_an_older_quote)

MUTANTS = tuple(_all.mutants)
STAMPS = tuple(stamps.mutants)
SLOW = tuple(slow.mutants)
DECISIONS = tuple(decisions.mutants)
