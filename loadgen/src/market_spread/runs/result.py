"""The result of a run: its schema, its JSON file and its table."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from market_spread.common.errors import UsageError
from market_spread.runs.analysis.evidence import Cause, Verdict
from market_spread.runs.document.folder import write_whole

SCHEMA_VERSION = 3

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
    latency_intervals: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    acknowledge_ns: LatencyNs = field(default_factory=dict)
    append_ns: LatencyNs = field(default_factory=dict)
    fetch_ns: LatencyNs = field(default_factory=dict)
    latency_by_key_ns: Mapping[str, LatencyNs] = field(default_factory=dict)
    latency_by_state_partition_ns: Mapping[str, LatencyNs] = field(default_factory=dict)
    orders_decided: int | None = None
    orders_accepted: int | None = None
    stalls: int = 0
    stall_ns_max: int | None = None
    self_test: Mapping[str, Any] | None = None

    def to_json(self) -> str:
        """The JSON document, versioned by `schema_version`."""
        values = dataclasses.asdict(self)
        return json.dumps(values, indent=2) + "\n"

    def write(self, folder: Path) -> Path:
        """Write it as `result.json`. UsageError if that fails."""
        path = folder / "result.json"
        try:
            write_whole(path, self.to_json())
        except OSError as error:
            raise UsageError(f"the result cannot be written to {path}: {error.strerror}") from error
        return path


def alerts_text(result: Result) -> str:
    """What became of the alerts; of a run that was not judged, only what came."""
    belated = f", {result.alerts_belated:,} of them belated" if result.alerts_belated else ""
    received = f"{result.alerts_received:,} received{belated}"
    if result.alerts_expected is None:
        return f"{received}; not judged"
    return (
        f"{received}, {result.alerts_expected:,} expected, {result.alerts_missing:,} missing, "
        f"{result.alerts_unexpected:,} unexpected, {result.alerts_duplicated:,} duplicated, "
        f"{result.alerts_wrong:,} wrong"
    )
