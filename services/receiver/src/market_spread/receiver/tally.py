"""What was received, each order once: alerts and decisions by phase, duplicates, latencies, malformed messages."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.wire.codec import Bytes2D, Int64s
from market_spread.common.wire.columns import Fields
from market_spread.common.wire.layout import ALERT, DECISION, SYMBOL_WIDTH

# A record of the topic `invalid` that is itself no report.
UNREADABLE = "unreadable"
_PAGE_BITS = 10

# Where a malformed message stands in the input: topic, partition, offset and position.
Place = tuple[str, int, int, int]


class RunPhase(Enum):
    """Which part of a run an order belongs to. The value is the label in metrics."""

    WARM_UP = "warm_up"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class AlertLatencies:
    """Latencies of alerts, microseconds (n,). The stages add up to `end_to_end`, all but the first to `service`.

    chosen: which of those that were given these are.
    """

    end_to_end: Int64s
    service: Int64s
    stages: dict[str, Int64s]
    chosen: npt.NDArray[np.bool_]


class Tally:
    """Counts what was received. The same alerts in the same order give the same tally. Not thread-safe.

    unreadable: partition and offset of the records of the alerts topic that are no alerts. invalid: the malformed
    messages that the job reported.
    """

    def __init__(self, *, warm_up_order_id_min: int) -> None:
        self._warm_up_order_id_min = warm_up_order_id_min
        self._quote_by_order: dict[int, int] = {}
        self.unreadable: set[tuple[int, int]] = set()
        self.invalid: set[Place] = set()
        self.alerts = dict.fromkeys(RunPhase, 0)
        self.duplicated = self.disagreeing = 0
        self.invalid_by_reason: Counter[str] = Counter()
        self.end_to_end = {phase: HdrCounts() for phase in RunPhase}
        self.append, self.fetch = HdrCounts(), HdrCounts()
        self.warm_up_symbols: set[str] = set()

    def add_alerts(
        self, rows: Bytes2D, received_us: Int64s, appended_ms: Int64s | None = None
    ) -> tuple[dict[RunPhase, AlertLatencies], int]:
        """Count readable alerts (n, ALERT.width) in order of receipt; the first of an order stands.

        The latencies of each order's first alert, by phase, where there are any, and the number of the others.
        appended_ms: when the broker appended each (n,), Unix milliseconds, below 0 where it does not say.
        """
        fields = Fields.of_rows(ALERT, rows)
        order_ids = fields.number("order_id")
        intended, sent, read, emitted = map(fields.number, ("intended_us", "sent_us", "read_us", "emitted_us"))
        between = (sent - intended, read - sent, emitted - read, received_us - emitted)
        stages = dict(zip(("send_lag", "ingest", "compute", "delivery"), between, strict=True))
        first, duplicated = self._sort_out(order_ids, fields.number("quote_sequence"))
        warm_up = order_ids >= self._warm_up_order_id_min
        firsts = {}
        for phase, chosen in ((RunPhase.WARM_UP, first & warm_up), (RunPhase.MEASURED, first & ~warm_up)):
            if chosen.any():
                firsts[phase] = AlertLatencies(
                    end_to_end=(received_us - intended)[chosen],
                    service=(received_us - sent)[chosen],
                    stages={stage: values[chosen] for stage, values in stages.items()},
                    chosen=chosen,
                )
                self.alerts[phase] += int(chosen.sum())
                self.end_to_end[phase].record(firsts[phase].end_to_end)
        if appended_ms is not None:
            chosen = first & ~warm_up & (appended_ms >= 0)
            # The broker's milliseconds are cut off: the append was half of one later on average.
            appended_us = appended_ms[chosen] * 1000 + 500
            self.append.record(appended_us - emitted[chosen])
            self.fetch.record(received_us[chosen] - appended_us)
        if warm_up.any():
            begin = ALERT.offset("symbol")
            symbols = np.unique(fields.rows[warm_up, begin : begin + SYMBOL_WIDTH], axis=0)
            self.warm_up_symbols.update(symbol.tobytes().decode().rstrip() for symbol in symbols)
        return firsts, duplicated

    def add_invalid(self, reason: str, place: Place) -> bool:
        """Count a malformed message, as the job reported it; False if this one was reported before."""
        if place in self.invalid:
            return False
        self.invalid.add(place)
        self.invalid_by_reason[reason] += 1
        return True

    def _sort_out(self, order_ids: Int64s, sequences: Int64s) -> tuple[npt.NDArray[np.bool_], int]:
        first = np.zeros(len(order_ids), np.bool_)
        for index, (order_id, sequence) in enumerate(zip(order_ids.tolist(), sequences.tolist(), strict=True)):
            known = self._quote_by_order.get(order_id)
            if known is None:
                self._quote_by_order[order_id] = sequence
                first[index] = True
            elif known != sequence:
                self.disagreeing += 1
        duplicated = len(order_ids) - int(first.sum())
        self.duplicated += duplicated
        return first, duplicated


class DecisionTally:
    """Counts decisions, each order once. Not thread-safe.

    unreadable: partition and offset of the records of the decisions topic that are no decisions.
    Memory: a byte an order where their ids are dense, as those of a synthetic market; else up to 1.2 kB.
    """

    def __init__(self, *, warm_up_order_id_min: int) -> None:
        self._warm_up_order_id_min = warm_up_order_id_min
        self._seen: dict[int, npt.NDArray[np.bool_]] = {}  # by the order id without its last bits
        self.unreadable: set[tuple[int, int]] = set()
        self.decisions = dict.fromkeys(RunPhase, 0)
        self.duplicated = 0
        self.end_to_end = HdrCounts()

    def add(self, rows: Bytes2D, received_us: Int64s) -> tuple[dict[RunPhase, Int64s], int]:
        """Count readable decisions (n, DECISION.width); the latencies of each order's first, by phase, and the others'
        number. Latencies are from the intended send to the receipt, microseconds; the tally keeps the measured ones.
        """
        fields = Fields.of_rows(DECISION, rows)
        order_ids, latencies = fields.number("order_id"), received_us - fields.number("intended_us")
        first = self._firsts(order_ids)
        warm_up = order_ids >= self._warm_up_order_id_min
        firsts = {RunPhase.WARM_UP: latencies[first & warm_up], RunPhase.MEASURED: latencies[first & ~warm_up]}
        for phase, found in firsts.items():
            self.decisions[phase] += len(found)
        self.end_to_end.record(firsts[RunPhase.MEASURED])
        duplicated = len(rows) - int(first.sum())
        self.duplicated += duplicated
        return firsts, duplicated

    def _firsts(self, order_ids: Int64s) -> npt.NDArray[np.bool_]:
        first = np.zeros(len(order_ids), np.bool_)
        first[np.unique(order_ids, return_index=True)[1]] = True
        pages, places = order_ids >> _PAGE_BITS, order_ids & ((1 << _PAGE_BITS) - 1)
        for page in np.unique(pages).tolist():
            seen = self._seen.setdefault(page, np.zeros(1 << _PAGE_BITS, np.bool_))
            here = np.flatnonzero(pages == page)
            first[here] &= ~seen[places[here]]
            seen[places[here]] = True
        return first
