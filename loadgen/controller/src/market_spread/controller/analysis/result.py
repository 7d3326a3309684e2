"""The result of a run: its schema, its JSON file, and the rows that everyone shows of it."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from market_spread.common.documents import write_whole
from market_spread.common.errors import usage_errors
from market_spread.common.hdr.histogram import CLUSTERS_MIN
from market_spread.common.words import counted
from market_spread.controller.analysis.causes import Causes
from market_spread.controller.analysis.evidence import WORDS, Cause, Verdict, Words
from market_spread.controller.analysis.survival import FaultFigures
from market_spread.controller.plan.objectives import PERCENTILES
from market_spread.controller.statistics.intervals import is_of_tail

SCHEMA_VERSION = 4
# Above the rows of latencies, where their intervals and clusters are in the cells.
LATENCY_HEAD = ("latency, ms (95% interval; clusters of time)", *PERCENTILES)
_PARTITIONS_SHOWN_MAX = 32
_FAULT_TIMES, _FAULT_COUNTS = ("detected", "recovered", "normal", "silence"), ("orders", "late", "lost", "doubled")

LatencyNs = Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A run's result. Latencies are nanoseconds by percentile, null where too few values support one.
    cause: whose doing it is that the run did not pass; latencies_void: its latencies say nothing, whatever its verdict.

    Of `alerts_*` duplicates are alerts after an order's first. Warm-up is in none of these figures; the settling time
    after it is in all but the latencies. A figure that a run did not come to is null.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    workload: str
    verdict: Verdict
    cause: Cause | None
    latencies_void: bool
    decisive: tuple[str, ...]
    reasons: tuple[str, ...]
    faults: Mapping[str, tuple[str, ...]]
    started: str
    duration_s: float
    mode: str
    messages_sent: int
    quotes_sent: int
    orders_sent: int
    messages_processed: int
    alerts_expected: int | None
    alerts_received: int
    alerts_missing: int | None
    alerts_unexpected: int | None
    alerts_duplicated: int
    alerts_wrong: int | None
    alerts_undecided: int | None
    alerts_disagreeing: int
    invalid_records: int
    offered_rate_per_s: float
    achieved_rate_per_s: float | None
    latency_ns: LatencyNs
    latency_samples: int
    latency_between_boundaries_ns: LatencyNs
    service_time_ns: LatencyNs
    stages_ns: Mapping[str, LatencyNs]
    send_lag_ns: LatencyNs
    frame_delay_ns: LatencyNs
    frames_sent: int
    frames_late: int
    messages_failed: int
    boundaries: int
    boundary_gap_ns_median: int | None
    boundary_gap_ns_max: int | None
    batch_duration_ns_median: int | None
    batch_duration_ns_max: int | None
    negative_latencies: int
    job_restarts: int
    cpu_us_per_message: float | None
    broker_cpu_us_per_message: float | None
    stolen_cpu_share: float | None
    time_to_first_order_s: float | None
    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    verdicts: Mapping[str, Any] = field(default_factory=dict)
    conservation: Mapping[str, int] = field(default_factory=dict)
    backlog: Mapping[str, float | None] = field(default_factory=dict)
    objectives: Mapping[str, Any] = field(default_factory=dict)
    manifest_sha256: str | None = None
    steps: tuple[Mapping[str, Any], ...] = ()
    resumed: int = 0
    alerts_reordered: int = 0
    alerts_belated: int = 0
    messages_lost: int | None = None
    cpu_us_per_message_second_half: float | None = None
    latency_intervals: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    latency_clusters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    latency_sparkline_ns: tuple[int | None, ...] = ()
    acknowledge_ns: LatencyNs = field(default_factory=dict)
    append_ns: LatencyNs = field(default_factory=dict)
    fetch_ns: LatencyNs = field(default_factory=dict)
    latency_by_key_ns: Mapping[str, LatencyNs] = field(default_factory=dict)
    latency_by_state_partition_ns: Mapping[str, LatencyNs] = field(default_factory=dict)
    orders_decided: int | None = None
    orders_accepted: int | None = None
    decisions_missing: int | None = None
    decisions_unknown: int | None = None
    decisions_duplicated: int | None = None
    decisions_wrong: int | None = None
    decisions_stale: int | None = None
    decision_latency_ns: LatencyNs = field(default_factory=dict)
    decision_latency_by_key_ns: Mapping[str, LatencyNs] = field(default_factory=dict)
    stalls: int = 0
    stall_ns_max: int | None = None
    pause_ns_max: int | None = None
    self_test: Mapping[str, Any] | None = None
    causes: Causes | None = None
    latency_without_faults_ns: LatencyNs = field(default_factory=dict)
    planned_faults: tuple[FaultFigures, ...] = ()

    @property
    def words(self) -> Words:
        """What that is called which `orders_*` and `alerts_*` count."""
        return WORDS[self.settings.get("source", "market")]

    @property
    def outcome(self) -> str:
        """The verdict with its cause, in the words in which everything shows it."""
        return outcome_text(self.verdict, self.cause, latencies_void=self.latencies_void)

    @property
    def unanswered(self) -> list[str]:
        """A sentence for each objective of the run that could not be evaluated: it was neither met nor missed."""
        asked = self.verdicts.get("objectives", {"evidence": ()})["evidence"]
        return [each["text"] for each in asked if each["holds"] is None and each["limit"] is not None]

    @property
    def too_few_clusters(self) -> dict[str, dict[str, int]]:
        """Of `latency_clusters` the percentiles of a tail that are not shown, with their clusters; by path and name."""
        few = {
            path: {name: n for name, n in each.items() if n < CLUSTERS_MIN and is_of_tail(name)}
            for path, each in self.latency_clusters.items()
        }
        return {path: each for path, each in few.items() if each}

    def to_json(self) -> str:
        """The JSON document, versioned by `schema_version`."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    def write(self, folder: Path) -> Path:
        """Write it as `result.json`. UsageError if that fails."""
        path = folder / "result.json"
        with usage_errors(f"the result cannot be written to {path}"):
            return write_whole(path, self.to_json())


def outcome_text(verdict: str, cause: str | None, *, latencies_void: bool) -> str:
    """A verdict with whose doing it is, as far as that is known: a run that is void has no latencies that say anything.

    `passed`, `failed (system)`, `failed (system); latencies void`, `void (rig)`.
    """
    text = f"{verdict} ({cause})" if cause else verdict
    return f"{text}; latencies void" if latencies_void and verdict != Verdict.VOID else text


def alerts_text(result: Result) -> str:
    """What became of the alerts; of a run that was not judged, only what came."""
    belated = f", {result.alerts_belated:,} of them belated" if result.alerts_belated else ""
    received = f"{result.alerts_received:,} received{belated}"
    if result.alerts_expected is None:
        return f"{received}; not judged"
    undecided = f"; {result.alerts_undecided:,} orders may have one or none" if result.alerts_undecided else ""
    return (
        f"{received}, {result.alerts_expected:,} expected, {result.alerts_missing:,} missing, "
        f"{result.alerts_unexpected:,} unexpected, {result.alerts_duplicated:,} duplicated, "
        f"{result.alerts_wrong:,} wrong{undecided}"
    )


def latency_rows(result: Result, *, decimals: int, narrow: bool = False) -> list[tuple[str, ...]]:
    """A title and the cells of PERCENTILES for each latency of the result, in milliseconds.

    A percentile has its interval and its clusters behind it; where that is too wide, they are rows of their own, below
    the latencies that are not part of another one. Without a value it is a dash, and one of a tail that rests on too
    few moments of the run is a dash and their number.
    """
    few = result.too_few_clusters
    stages = {"delivery": [("to the broker's append", result.append_ns), ("from there to receipt", result.fetch_ns)]}
    partitions, calm = result.latency_by_state_partition_ns, result.latency_without_faults_ns
    # Of very many the slowest in the median.
    slowest = sorted(partitions, key=lambda n: -(partitions[n]["p50"] or 0))[:_PARTITIONS_SHOWN_MAX]
    shown = {n: each for n, each in partitions.items() if len(partitions) > 1 and n in slowest}
    rows = [
        ("intended send to receipt", "latency_ns", result.latency_ns),
        ("  between batch boundaries", "latency_between_boundaries_ns", result.latency_between_boundaries_ns),
        *([] if result.pause_ns_max is None else [("  longest pause in between", "", {"max": result.pause_ns_max})]),
        *([("  without planned faults", "latency_without_faults_ns", calm)] if any(calm.values()) else []),
        *((f"  {heat} probes", f"latency_by_key_ns.{heat}", each) for heat, each in result.latency_by_key_ns.items()),
        *((f"  state partition {n}", f"latency_by_state_partition_ns.{n}", each) for n, each in shown.items()),
        ("actual send to receipt", "service_time_ns", result.service_time_ns),
    ]
    for name, latency in result.stages_ns.items():
        rows.append((f"  {name.replace('_', ' ')}", f"stages_ns.{name}", latency))
        rows += [(f"    {part}", "", each) for part, each in stages.get(name, []) if any(each.values())]
    if result.orders_decided:
        rows.append(("to the receipt of a decision", "decision_latency_ns", result.decision_latency_ns))
        by_key = result.decision_latency_by_key_ns
        rows += [(f"  {heat} keys", f"decision_latency_by_key_ns.{heat}", each) for heat, each in by_key.items()]
    rows += [
        ("send lag of all messages", "", result.send_lag_ns),
        ("delay of frames against plan", "", result.frame_delay_ns),
        ("frames to acknowledgement", "", result.acknowledge_ns),
    ]

    def cell(path: str, name: str, latency: LatencyNs) -> str:
        if latency.get(name) is not None and (clusters := few.get(path, {}).get(name)) is not None:
            return f"– ({counted(clusters, 'cluster')})"
        text, interval = milliseconds_text(latency.get(name), decimals, ""), _interval(result, path, name, decimals)
        return text if narrow or not interval else f"{text} ({interval}; {result.latency_clusters[path][name]:,})"

    cells = []
    for title, path, latency in rows:
        cells.append((title, *(cell(path, name, latency) for name in PERCENTILES)))
        if narrow and path in result.latency_intervals and not title.startswith(" "):
            clusters = result.latency_clusters[path]
            cells.append(("  95% interval", *(_interval(result, path, name, decimals) or "–" for name in PERCENTILES)))
            cells.append(("  clusters of time", *(f"{clusters.get(name, '–')}" for name in PERCENTILES)))
    return cells


def _interval(result: Result, path: str, name: str, decimals: int) -> str:
    """That of a percentile, empty if it has none."""
    found = result.latency_intervals.get(path, {}).get(name)
    return "–".join(milliseconds_text(found[end], decimals, "") for end in ("low_ns", "high_ns")) if found else ""


def figure_rows(result: Result) -> list[tuple[str, str]]:
    """A title and a value for each figure besides the latencies; a dash is one that the run did not come to."""
    flow, words = result.conservation, result.words
    pauses = _lengths(result.boundary_gap_ns_median, result.boundary_gap_ns_max)
    half = _or_dash(result.cpu_us_per_message_second_half, "{:.2f}")
    orders = f" ({result.orders_sent:,} orders)" if words.are_of_market else ""
    cpu_text = f"{{:.2f}} us a message, in the second half {half}"
    cpu_text += " (reference: 5.3, another machine, no Kafka)" if words.are_of_market else ""
    flow_text = "{sent:,} sent = {processed:,} processed + {invalid:,} invalid + {in_flight:,} in flight"
    return [
        ("messages sent", f"{result.messages_sent:,}{orders}"),
        ("offered", f"{result.offered_rate_per_s:,.0f} messages/s for {result.duration_s:g} s"),
        ("achieved", _or_dash(result.achieved_rate_per_s, "{:,.0f} messages/s")),
        ("messages, all phases", flow_text.format(**flow) if flow else "–"),
        (words.answers, alerts_text(result)),
        ("latency samples", f"{result.latency_samples:,}"),
        ("malformed messages", f"{result.invalid_records:,}"),
        ("frames late", f"{result.frames_late:,} of {result.frames_sent:,}"),
        ("backlog", _or_dash(result.backlog.get("messages_max"), "{:,} messages at most")),
        ("commit pause at boundaries", f"{result.boundaries}, {pauses}"),
        ("batches", _lengths(result.batch_duration_ns_median, result.batch_duration_ns_max)),
        ("CPU of the job", _or_dash(result.cpu_us_per_message, cpu_text)),
        ("CPU of the broker", _or_dash(result.broker_cpu_us_per_message, "{:.2f} us a message")),
        (f"time to the first {words.asked}", _or_dash(result.time_to_first_order_s, "{:.1f} s")),
        ("machine", f"{result.machine['cores']} cores, {result.machine['cpu_model']}"),
        *([("rig", str(result.self_test["text"]))] if result.self_test else []),
    ]


def fault_rows(result: Result) -> list[tuple[str, ...]]:
    """A head, then the cells of each planned fault, where a dash is what was not seen to happen; empty without any."""
    head = ("planned fault", "at, s", *(f"{name}, s" for name in _FAULT_TIMES), *_FAULT_COUNTS)
    rows = [
        (
            it.text,
            *(_or_dash(getattr(it, f"{name}_s"), "{:,.2f}") for name in ("began", *_FAULT_TIMES)),
            *(f"{getattr(it, name):,}" for name in _FAULT_COUNTS),
        )
        for it in result.planned_faults
    ]
    return [head, *rows] if rows else []


def milliseconds_text(value_ns: int | None, decimals: int = 1, unit: str = " ms") -> str:
    """The time in milliseconds, and their unit; a dash for none."""
    return "–" if value_ns is None else f"{value_ns / 1e6:,.{decimals}f}{unit}"


def _lengths(median_ns: int | None, longest_ns: int | None) -> str:
    return f"median {milliseconds_text(median_ns)}, longest {milliseconds_text(longest_ns)}"


def _or_dash(value: float | None, text: str) -> str:
    return "–" if value is None else text.format(value)
