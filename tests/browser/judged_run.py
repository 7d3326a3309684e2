"""The synthetic run with a result and its causes: six standstills of the query, and what is said of them."""

import json
from dataclasses import dataclass
from typing import Any

from market_spread.common.hdr.histogram import HdrCounts
from tests.browser.synthetic import BEGIN_MS, SyntheticRun, counts_text

END_TO_END = "market_spread_receiver_end_to_end_seconds"
JUDGED_S = (30, 85)
STANDSTILLS_S = (34, 44, 54, 64, 74, 84)
SENTENCE = (
    "the slowest 1% (110 orders) met 6 batch boundaries (92% of them): ingest took 79% of their time; else p99 is 31 ms"
)
SATURATION = (
    "the machine was saturated: half of the time 1.92 of its 2 CPUs or more were in use (job 0.70, sender 0.61), so "
    "every order may have waited for one: try fewer messages a second, or more cores"
)
ADVICE = "longer batches: job.batch_s"


def second(at_s: int, *, max_ms: int, orders: int, kind: str | None = "boundary", text: str = "") -> dict[str, Any]:
    said = text or (f"boundary of batch {at_s // 10}, {max_ms - 5} ms" if kind else "")
    return {
        "begin_unix_ms": BEGIN_MS + at_s * 1000, "max_ns": max_ms * 1_000_000, "orders": orders, "kind": kind,
        "text": said,
    }  # fmt: skip


def order(number: int, due_s: float, *, ingest_ms: float, compute_ms: float, **lacking: None) -> dict[str, Any]:
    due = round((BEGIN_MS / 1000 + due_s) * 1e6)
    sent = due + 1_500
    ingested = sent + round(ingest_ms * 1000)
    emitted = ingested + round(compute_ms * 1000)
    return {
        "order_id": number, "symbol": "AAPL", "intended_unix_us": due, "sent_unix_us": sent,
        "ingested_unix_us": ingested, "emitted_unix_us": emitted, "received_unix_us": emitted + 5_000, **lacking,
    }  # fmt: skip


def event(kind: str, at_s: float, duration_ms: float, text: str) -> dict[str, Any]:
    return {"kind": kind, "begin_unix_ms": BEGIN_MS + at_s * 1000, "duration_ms": duration_ms, "text": text}


def causes() -> dict[str, Any]:
    """By the contract of `result.json`'s `causes`."""
    slowest_ms = {at: 860 - 12 * number for number, at in enumerate(STANDSTILLS_S)}
    boundary = {
        "kind": "boundary", "text": "6 batch boundaries", "orders": 101, "share": 0.92,
        "stage_shares": {"send_lag": 0.01, "ingest": 0.79, "compute": 0.2, "delivery": 0.0}, "advice": ADVICE,
    }  # fmt: skip
    boundaries = [event("boundary", at, 860, f"boundary of batch {at // 10}") for at in STANDSTILLS_S]
    collections = [
        event("gc", 31.2 + 6.1 * at, 8 + 5 * at, f"the job's JVM collected, {8 + 5 * at} ms") for at in range(9)
    ]
    late = [event("sender", 46.4, 120, "17 frames left late")]
    return {
        "sentence": SENTENCE,
        "tail": {"orders": 110, "least_ns": 214_000_000, "else_p99_ns": 31_000_000},
        "found": [boundary],
        "unexplained_share": 0.08,
        "seconds": [
            *(second(at, max_ms=slowest, orders=31 - at // 10) for at, slowest in slowest_ms.items()),
            second(37, max_ms=112, orders=2, kind="gc", text="the job's JVM collected, 41 ms"),
            second(61, max_ms=96, orders=1, kind=None),
        ],
        "orders": [
            order(4_000 + at, at + 0.01, ingest_ms=slowest * 0.79, compute_ms=slowest * 0.2)
            for at, slowest in slowest_ms.items()
        ] + [order(5_000, 44.3, ingest_ms=380, compute_ms=90, ingested_unix_us=None)],
        "events": sorted([*boundaries, *collections, *late], key=lambda each: each["begin_unix_ms"]),
        "saturation": SATURATION,
    }  # fmt: skip


FAULT = {
    "text": "kill of the job for 2 s", "at_s": 35.0, "began_s": 35.0, "ended_s": 37.0, "p99_before_s": 0.3,
    "detected_s": 0.4, "recovered_s": 4.25, "normal_s": 9.0, "silence_s": 6.1, "orders": 1_240, "late": 311, "lost": 12,
    "doubled": 3,
}  # fmt: skip
FAULT_TEXT = (
    "silent for 6.10 s, recovered 4.25 s after its end; of 1,240 orders that it met 12 lost, 311 late, 3 answered twice"
)


def with_fault(found: dict[str, Any]) -> dict[str, Any]:
    """The result with a fault from 1:00 to 1:06.25 of the run, of which the load begins at 0:25."""
    struck = event("fault", 60, 6_250, str(FAULT["text"]))
    return {
        **found,
        "planned_faults": [FAULT],
        "causes": {**found["causes"], "events": [*found["causes"]["events"], struck]},
    }


def result(run_id: str, found: dict[str, Any] | None) -> dict[str, Any]:
    """What the pages read of result.json."""
    latencies = {"p50": 4_420_000, "p95": 45_410_000, "p99": 316_160_000, "p99.9": None, "p99.99": None}
    return {
        "run_id": run_id, "workload": "quick", "verdict": "passed", "mode": "real-time", "duration_s": 60.0,
        "achieved_rate_per_s": 20_001.4, "offered_rate_per_s": 20_000.0, "cpu_us_per_message": 26.74,
        "latency_ns": {**latencies, "max": 860_000_000}, "latency_samples": 10_973, "boundaries": 6,
        "latency_between_boundaries_ns": {**latencies, "p99": 31_100_000, "max": 96_000_000},
        "machine": {"cores": 2}, "causes": found,
        "verdicts": {"objectives": {"holds": None, "evidence": []}},
    }  # fmt: skip


@dataclass
class JudgedRun(SyntheticRun):
    """As its aggregator has it. is_older: by a version that notes no result; between: its p99 between boundaries;
    has_fault: with a planned fault.
    """

    run_id: str = "20251124-161500-quick"
    has_causes: bool = True
    is_older: bool = False
    between: str = "31.10"
    has_fault: bool = False

    def notes(self, from_s: int, to_s: int) -> list[dict[str, Any]]:
        *others, verdict = super().notes(from_s, to_s)
        if verdict["kind"] != "verdict":
            return [*others, verdict]
        begin, end = (BEGIN_MS + at * 1000 for at in JUDGED_S)
        measured = HdrCounts()
        measured.record(self.values(END_TO_END, {"phase": "measured"}, begin, end))
        total = [measured.count, measured.sum_us, measured.min_us, measured.max_us, 0, 0, counts_text(measured)]
        rows = [
            ["latency, ms", "p50", "p95", "p99", "p99.9", "p99.99", "max"],
            ["intended send to receipt", "4.42", "45.41", "316.16", "–", "–", "860.00"],
            ["  between batch boundaries", "4.42", "45.41", self.between, "–", "–", "96.00"],
        ]
        series = [{"name": END_TO_END, "labels": {"phase": "measured"}, "total": total}]
        judged = {"from_unix_ms": begin, "to_unix_ms": end, "series": series, "rows": rows}
        found = result(self.run_id, causes() if self.has_causes else None)
        text = json.dumps(with_fault(found) if self.has_fault else found)
        whole = {"unix_ms": verdict["unix_ms"], "kind": "result", "name": "passed", "text": text}
        return [*others, *([] if self.is_older else [whole]), {**verdict, "judged": judged}]
