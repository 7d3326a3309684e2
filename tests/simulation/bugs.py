"""Ten planted bugs: each is found, by a problem that a right world does not have, within a few seeds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from market_spread.common.telemetry.pusher import PushDelivery
from market_spread.controller.session import run as running
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.receiver.receiving import Receiving
from market_spread.sender.publisher import Publisher
from tests.simulation.job import Checkpoint, Quote
from tests.simulation.run import Simulation, Wrong


@dataclass(frozen=True, slots=True)
class Bug:
    """A planted bug. sentence: what is wrong; told: what a problem must say, so that it is found for what it is."""

    name: str
    sentence: str
    told: str
    wrong: Wrong

    def is_told(self, problems: Iterable[str]) -> bool:
        """Whether a problem says what is wrong."""
        return any(self.told in problem for problem in problems)


def _patched(of: Any, what: str, wrong: Callable[[Any], Any]) -> Callable[[Simulation], list[Any]]:
    """A part of the product, exchanged by what is made of the right one."""
    return lambda simulation: [patch.object(of, what, wrong(getattr(of, what)))]


def _taken_again(right: Any) -> Any:
    """A push that was merged before is merged again."""

    def take(self: Store, request: Any) -> None:
        run = self.restore(request.run_id)
        known = run.epochs.get((request.source, request.epoch_unix_ns))
        if known is not None and request.sequence <= known.sequence:
            known.sequence = request.sequence - 1
        right(self, request)

    return take


def _written_later(simulation: Simulation) -> list[Any]:
    """What is appended stays in the process's memory until it is closed, as it is by one that lives to the end."""
    right, close, held = RunFiles.append, RunFiles.close, dict[RunFiles, list[Any]]()

    def append(self: RunFiles, *block: Any) -> None:
        held.setdefault(self, []).append(block)

    def closed(self: RunFiles) -> None:
        if simulation.stopped:
            for each in held.pop(self, []):
                right(self, *each)
        close(self)

    return [patch.object(RunFiles, "append", append), patch.object(RunFiles, "close", closed)]


def _from_memory(simulation: Simulation) -> list[Any]:
    """A receiver that comes back goes on behind what the one before had read, written down or not."""
    read: dict[Any, int] = {}
    recover, receive_once = Receiving._recover, Receiving.receive_once

    def once(self: Receiving) -> None:
        receive_once(self)
        for place in self._positions:
            read[place] = self._consumer.position(place)

    def recovered(self: Receiving, found: Any) -> None:
        recover(self, found)
        self._positions.update(read)

    return [patch.object(Receiving, "receive_once", once), patch.object(Receiving, "_recover", recovered)]


def _no_loss_after_restart(right: Any) -> Any:
    def judge(plan: Any, observed: Any) -> None:
        right(plan, observed)
        if observed.restarts and observed.judgement is not None:
            observed.judgement = replace(observed.judgement, missing=0)
            observed.decisions = replace(observed.decisions, missing=0)

    return judge


def skipping(simulation: Simulation, kept: list[Checkpoint]) -> Checkpoint:
    """A job that comes back leaves out the orders that have come since its checkpoint."""
    ends = {place: len(log) for place, log in simulation.broker.logs.items() if place[0] == "orders"}
    return replace(kept[-1], offsets={**kept[-1].offsets, **ends})


def _one_batch_back(simulation: Simulation, kept: list[Checkpoint]) -> Checkpoint:
    """The newest offsets with the state of the batch before."""
    return replace(kept[-1], quotes=kept[-2].quotes) if len(kept) > 1 else kept[-1]


def _forgets(right: Any) -> Any:
    def lost(self: PushDelivery, reason: str) -> None:
        self._in_flight.clear()
        right(self, reason)

    return lost


def _stale(symbol: str, quotes: dict[str, Quote], before: dict[str, Quote]) -> Quote | None:
    """Of one symbol in some, the quote before the newest."""
    return before.get(symbol, quotes.get(symbol)) if symbol.strip()[-1] in "AEIOU" else quotes.get(symbol)


def _skips_after_error(right: Any) -> Any:
    def send(self: Publisher, frame: Any) -> None:
        producer: Any = self._producer
        if not producer.repeated:
            right(self, frame)
            return
        producer.repeated, now_ns = 0, self._clock.unix_ns()
        self.counts.sent(frame, now_ns)
        self.counts.acknowledged((frame.topic, frame.partition), len(frame.payload), 0, now_ns, now_ns)

    return send


BUGS = (
    Bug(
        "forgets_dedup",
        "the aggregator merges a push that comes again",
        "written down more than once",
        Wrong(patches=_patched(Store, "_take", _taken_again)),
    ),
    Bug(
        "acknowledges_before_writing",
        "the aggregator acknowledges pushes before they are written down",
        "were acknowledged and are not written",
        Wrong(patches=_written_later),
    ),
    Bug(
        "position_from_memory",
        "the receiver goes on from what it had read, not from its ledger",
        "are not in the ledger",
        Wrong(patches=_from_memory),
    ),
    Bug(
        "no_loss_after_restart",
        "the oracle sees no loss after a restart, and the job skips orders then",
        "and the run passed",
        Wrong(checkpoint=skipping, patches=_patched(running, "judge", _no_loss_after_restart)),
    ),
    Bug(
        "drops_on_reset",
        "the pusher forgets what was on its way when a stream ends",
        "are not written down, and 0 were dropped",
        Wrong(patches=_patched(PushDelivery, "_lost", _forgets)),
    ),
    Bug(
        "broker_loses",
        "the broker loses what it has acknowledged and not flushed",
        "messages are not in",
        Wrong(durable=False),
    ),
    Bug(
        "one_batch_back",
        "the job goes on with newest offsets and the state of a batch before",
        "the run failed: ",
        Wrong(checkpoint=_one_batch_back),
    ),
    Bug(
        "stale_quote",
        "orders of some symbols are judged by the quote before the newest",
        "stale",
        Wrong(judged_by=_stale),
    ),
    Bug(
        "two_drivers",
        "a job that is taken for dead works on beside the next one",
        "twice without a restart",
        Wrong(second_driver=True),
    ),
    Bug(
        "sender_skips",
        "the sender leaves out the frame after one that had to be sent again",
        "messages are not in",
        Wrong(patches=_patched(Publisher, "_send", _skips_after_error)),
    ),
)


def named(name: str) -> Bug:
    """The bug of that name."""
    (found,) = (bug for bug in BUGS if bug.name == name)
    return found
