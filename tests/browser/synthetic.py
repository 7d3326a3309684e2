"""A run that never was, in the format of the aggregator's API, with the values that its histograms were made of."""

import zlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import METRICS, MetricKind
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest, Sample, SeriesKey

Int64s = npt.NDArray[np.int64]
Labels = dict[str, str]

BEGIN_MS = 1_764_000_000_000
STAGES = ("send_lag", "ingest", "compute", "delivery")
PHASES = (
    (0, "starting"),
    (3, "loading the initial quotes"),
    (9, "warming up"),
    (21, "working off the warm-up"),
    (25, "measuring"),
    (85, "draining"),
    (88, "judging"),
)
PHASES_MS = {"warming up": 12_000, "measuring": 60_000}
LIMITS = {"late_us": 10_000, "late_share_max": 0.001, "settle_us": 5_000_000, "stall_us": 2_000_000}
_ORDERS_PER_S = 200
_RATE_PER_S = 20_000
_OFFSETS_MS = {"sender": 120, "receiver": 410, "job": 730}
_HEADER_BYTES = 40


@dataclass
class SyntheticRun:
    """Pushes of sender, receiver and job, second by second; `recorded` has every value of every histogram."""

    run_id: str = "20251124-160000-quick"
    title: str = "quick: 20,000 messages/s"
    seconds: int = 90
    seed: int = 7
    live: bool = False
    problem: bool = True
    keeps_up: bool = True
    limits: dict[str, Any] = field(default_factory=dict)
    recorded: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float, Int64s]]] = field(default_factory=dict)
    _intervals: dict[tuple[str, tuple[tuple[str, str], ...]], list[list[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        generator = np.random.default_rng(self.seed)
        for second in range(self.seconds):
            self._push(second, generator)

    def values(self, name: str, labels: Labels, from_ms: float = 0, to_ms: float = 1e18) -> Int64s:
        """All values of a histogram whose interval has its middle in the range."""
        found = [
            values
            for (of, had), all_values in self.recorded.items()
            if of == name and labels.items() <= dict(had).items()
            for middle_ms, values in all_values
            if from_ms <= middle_ms < to_ms
        ]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def data(self, until_s: int | None = None, since_s: int = 0) -> dict[str, Any]:
        """The answer of /api/v1/runs/{run_id}/data as of that second."""
        end = self.seconds if until_s is None else until_s
        now_ms = BEGIN_MS + end * 1000 + 900
        return {
            "format": 1,
            "run_id": self.run_id,
            "title": self.title,
            "live": self.live,
            "phase": self.phase(end),
            "verdict": "" if self.live else "passed",
            "tick": end,
            "generated_unix_ms": now_ms,
            "range": {"from_unix_ms": BEGIN_MS, "to_unix_ms": now_ms},
            "sources": self.sources(end),
            "aggregator": self.aggregator(end),
            "notes": self.notes(0, end),
            "metrics": {
                name: {"kind": metric.kind.value, "meaning": metric.meaning, "labels": list(metric.labels)}
                for name, metric in METRICS.items()
            },
            "series": list(self.series(since_s, end)),
        }

    def event(self, second: int) -> dict[str, Any]:
        """What is new in that second, as an event of the stream."""
        return {
            "tick": second + 1,
            "now_unix_ms": BEGIN_MS + (second + 1) * 1000 + 900,
            "live": self.live,
            "phase": self.phase(second + 1),
            "series": [series for series in self.series(second, second + 1) if series["intervals"]],
            "notes": self.notes(second, second + 1),
            "sources": self.sources(second + 1),
            "aggregator": self.aggregator(second + 1),
        }

    def pushes(self, second: int, *, begin_ms: int = BEGIN_MS) -> list[PushRequest]:
        """What the processes push at the end of that second, if the run began then."""
        moved_ns = (begin_ms - BEGIN_MS) * 1_000_000
        requests = {}
        for source in self.sources(second + 1):
            start, end = _span(second, source["source"])
            requests[source["source"]] = PushRequest(
                source=source["source"], epoch_unix_ns=begin_ms * 1_000_000, sequence=second + 1, run_id=self.run_id,
                start_unix_ns=round(start) * 1_000_000 + moved_ns, end_unix_ns=round(end) * 1_000_000 + moved_ns,
                clock_error_us=source["clock_error_us"], clock_synchronised=source["clock_synchronised"],
                pushes_dropped=source["pushes_dropped"], host=source["host"],
            )  # fmt: skip
        for (name, pairs), intervals in self._intervals.items():
            labels = dict(pairs)
            request = requests[labels.pop("source")]
            key = SeriesKey(name=name, labels=labels)
            now = [row for at, *row in intervals if at == second]
            if METRICS[name].kind is MetricKind.HISTOGRAM:
                for middle_ms, values in self.recorded[name, pairs]:
                    if now and abs(middle_ms - (now[0][0] + now[0][1]) / 2) < 1:
                        request.histograms.append(_interval(key, values))
            elif METRICS[name].kind is MetricKind.COUNTER and now:
                total = sum(row[2] for at, *row in intervals if at <= second)
                request.counters.append(Sample(key=key, value=total))
            elif now:
                request.gauges.append(Sample(key=key, value=now[0][2]))
        return list(requests.values())

    def phase(self, end_s: int) -> str:
        return [name for at, name in PHASES if at < end_s][-1] if end_s else ""

    def notes(self, from_s: int, to_s: int) -> list[dict[str, Any]]:
        first = {"unix_ms": BEGIN_MS, "name": "quick", "text": ""}
        limits = {**first, "kind": "limits", "limits": {**LIMITS, **self.limits}}
        plan = {**first, "kind": "plan", "phases_ms": PHASES_MS}
        found = [limits, plan] if from_s == 0 else []
        found += [
            {"unix_ms": BEGIN_MS + at * 1000, "kind": "phase", "name": name, "text": ""}
            for at, name in PHASES
            if from_s <= at < to_s
        ]
        if self.problem and from_s <= 47 < to_s:
            found.append({"unix_ms": BEGIN_MS + 47_000, "kind": "event", "name": "query restarted", "text": "again"})
        if not self.live and to_s >= self.seconds:
            text = "every alert was right, nothing was lost"
            found.append({"unix_ms": BEGIN_MS + self.seconds * 1000, "kind": "verdict", "name": "passed", "text": text})
        return found

    def sources(self, end_s: int) -> list[dict[str, Any]]:
        return [
            {
                "source": source,
                "epoch_unix_ms": BEGIN_MS,
                "end_unix_ms": BEGIN_MS + end_s * 1000 + offset,
                "pushes": end_s,
                "duplicates": 2 if self.problem and source == "receiver" else 0,
                "missing": 0,
                "pushes_dropped": 3 if self.problem and source == "job" else 0,
                "clock_error_us": 1_450 if source != "job" else 16_000_000,
                "clock_synchronised": source != "job" or not self.problem,
                "host": "host-2" if self.problem and source == "job" else "host-1",
            }
            for source, offset in _OFFSETS_MS.items()
        ]

    def aggregator(self, end_s: int) -> dict[str, Any]:
        return {
            "pushes": 3 * end_s, "duplicates": 2, "missing": 0, "dropped": 3, "refused": 0, "series": 34,
            "series_evicted": 0, "push_us_p50": 412, "push_us_p99": 1_204, "push_us_max": 3_870,
            "merge_us_p50": 118, "merge_us_p99": 391, "merge_us_max": 1_002, "lag_us_p50": 21_400,
            "lag_us_p99": 48_900, "lag_us_max": 93_000, "lag_seconds": 0.0382, "unwritten": 0, "unreadable": 0,
            "memory_bytes": 74_300_000, "clients": 2, "history_bytes": 9_200_000, "history_limit_bytes": 268_435_456,
            "history_dropped": 0,
        }  # fmt: skip

    def series(self, from_s: int, to_s: int) -> Iterator[dict[str, Any]]:
        """Series with the intervals that were pushed in those seconds; totals are since the begin."""
        for (name, labels), intervals in self._intervals.items():
            pushed = [row for second, *row in intervals if from_s <= second < to_s]
            before = [row for second, *row in intervals if second < to_s]
            if not before:
                continue
            kind = METRICS[name].kind.value
            if kind == "histogram":
                values = [each for at, each in self.recorded[name, labels] if at < BEGIN_MS + to_s * 1000 + 999]
                total: Any = _row(values[: len(before)])
            else:
                total = sum(row[2] for row in before) if kind == "counter" else before[-1][2]
            yield {"name": name, "kind": kind, "labels": dict(labels), "total": total, "intervals": pushed}

    def _push(self, second: int, generator: np.random.Generator) -> None:
        phase = "measured" if second >= 25 else "warm_up"
        if 9 <= second < 21 or 25 <= second < 85:
            self._load(second, phase, generator)
        elif 3 <= second < 9:
            self._counter(second, "sender", "sender_messages_sent", 60, topic="nbbo", partition="0")
            self._counter(second, "job", "job_messages_processed", 60)
        for source, cores in (("sender", 0.31), ("receiver", 0.06), ("job", 0.92)):
            noise = float(generator.uniform(0.9, 1.1)) * (1.0 if second >= 9 else 0.5)
            self._counter(second, source, "process_cpu_seconds", cores * noise)
            memory = {"sender": 88e6, "receiver": 71e6, "job": 9.1e8 + 2e6 * second}[source]
            self._gauge(second, source, "process_memory_bytes", memory)

    def _load(self, second: int, phase: str, generator: np.random.Generator) -> None:
        at = np.sort(generator.uniform(0, 1, _ORDERS_PER_S))
        stages = {
            "send_lag": generator.lognormal(7.4, 0.35, _ORDERS_PER_S),
            "ingest": generator.lognormal(7.9, 0.45, _ORDERS_PER_S) + _standstill_us(second, at),
            "compute": generator.lognormal(7.2, 0.4, _ORDERS_PER_S),
            "delivery": generator.lognormal(8.0, 0.3, _ORDERS_PER_S),
        }
        parts = {name: values.astype(np.int64) for name, values in stages.items()}
        whole = sum(parts.values(), start=np.zeros(_ORDERS_PER_S, np.int64))
        self._histogram(second, "receiver", "receiver_end_to_end", whole, phase=phase)
        self._histogram(second, "receiver", "receiver_service", whole - parts["send_lag"], phase=phase)
        for name, values in parts.items():
            self._histogram(second, "receiver", "receiver_stage", values, phase=phase, stage=name)
        self._counter(second, "receiver", "receiver_alerts", _ORDERS_PER_S, phase=phase)
        sent = _RATE_PER_S // 2
        for topic in ("nbbo", "orders"):
            self._counter(second, "sender", "sender_messages_sent", sent, topic=topic, partition="0")
            self._counter(second, "sender", "sender_frames_sent", 500, topic=topic, partition="0")
        self._counter(second, "sender", "sender_messages_due", _RATE_PER_S)
        lag = generator.lognormal(7.3, 0.4, _RATE_PER_S).astype(np.int64)
        self._histogram(second, "sender", "sender_send_lag", lag)
        delay = generator.lognormal(5.6, 0.8, 1000).astype(np.int64)
        self._histogram(second, "sender", "sender_frame_delay", delay)
        self._histogram(second, "sender", "sender_acknowledge", generator.lognormal(7.6, 0.3, 1000).astype(np.int64))
        if self.problem and second == 46:
            self._counter(second, "sender", "sender_frames_late", 17)
        stands = second % 10 == 4
        processed = int(_RATE_PER_S * (0.45 if stands else 1.55 if second % 10 == 5 else 1.0))
        if not self.keeps_up and second >= 30:
            processed //= 2
        self._counter(second, "job", "job_records_read", processed / 20)
        self._counter(second, "job", "job_messages_processed", processed)
        if second % 10 == 5:
            self._counter(second, "job", "job_messages_committed", 10 * _RATE_PER_S)
            self._gauge(second, "job", "job_batch_id", second // 10)
            self._gauge(second, "job", "job_commit_seconds", 0.61)
        if self.problem and second == 47:
            self._counter(second, "job", "job_restarts", 1)

    def _histogram(self, second: int, source: str, short: str, values: Int64s, **labels: str) -> None:
        key = _key(f"market_spread_{short}_seconds", labels, source)
        start, end = _span(second, source)
        self.recorded.setdefault(key, []).append(((start + end) / 2, values))
        self._intervals.setdefault(key, []).append([second, start, end, *_row([values])])

    def _counter(self, second: int, source: str, short: str, grown: float, **labels: str) -> None:
        key = _key(f"market_spread_{short}_total", labels, source)
        self._intervals.setdefault(key, []).append([second, *_span(second, source), grown])

    def _gauge(self, second: int, source: str, short: str, value: float) -> None:
        key = _key(f"market_spread_{short}", {}, source)
        self._intervals.setdefault(key, []).append([second, *_span(second, source), value])


def in_cells(data: dict[str, Any], run: SyntheticRun, cell_s: int) -> dict[str, Any]:
    """The data with its intervals merged to cells of that many seconds, as the aggregator does with long runs."""
    return {**data, "series": [_series_in_cells(series, run, cell_s) for series in data["series"]]}


def _series_in_cells(series: dict[str, Any], run: SyntheticRun, cell_s: int) -> dict[str, Any]:
    cells: dict[int, list[list[Any]]] = {}
    for row in series["intervals"]:
        cells.setdefault(int((row[0] - BEGIN_MS) // (cell_s * 1000)), []).append(row)
    merged = []
    for rows in cells.values():
        start, end = rows[0][0], rows[-1][1]
        if series["kind"] == "histogram":
            merged.append([start, end, *_row([run.values(series["name"], series["labels"], start, end)])])
        else:
            merged.append([start, end, sum(row[2] for row in rows) if series["kind"] == "counter" else rows[-1][2]])
    return {**series, "intervals": merged}


def counts_text(histogram: HdrCounts) -> str:
    """The counts as the API has them: HdrHistogram's payload without header and compression, base64."""
    if not histogram.count:
        return ""
    return b64encode(zlib.decompress(histogram.encode())[_HEADER_BYTES:]).decode()


def _interval(key: SeriesKey, values: Int64s) -> IntervalHistogram:
    made = HdrCounts()
    made.record(values)
    return IntervalHistogram(
        key=key, encoded=made.encode(), count=made.count, sum=made.sum_us, min=made.min_us, max=made.max_us,
        overflow=made.overflow, negative=made.negative,
    )  # fmt: skip


def _row(values: list[Int64s]) -> list[Any]:
    made = HdrCounts()
    for each in values:
        made.record(each)
    head = [made.count, made.sum_us, made.min_us, made.max_us, made.overflow, made.negative]
    return [*head, counts_text(made)]


def _key(name: str, labels: Labels, source: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted({**labels, "source": source}.items()))


def _span(second: int, source: str) -> tuple[float, float]:
    start = BEGIN_MS + second * 1000 + _OFFSETS_MS[source]
    return start, start + 1000


def _standstill_us(second: int, at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Every ten seconds the query stands still for most of a second: who comes early waits longest."""
    return np.maximum(0.86 - at, 0) * 1e6 if second % 10 == 4 else np.zeros(len(at))
