"""The report of a run: one file that opens without a server, its data inside."""

import json
from typing import Any

import numpy as np

from market_spread.common.clock import Clock
from market_spread.controller.analysis.latency import Boundary
from market_spread.controller.analysis.result import LATENCY_HEAD, Result, latency_rows
from market_spread.controller.archive import jvm_pauses
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.run_folder.folder import RunFolder
from market_spread.controller.statistics.intervals import CLUSTERS_MIN
from market_spread.controller.views.run_page import anomalies, manifest_of
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.run_json import Range, as_json, copy_of, data_json
from market_spread.metrics_aggregator.page import report_file

# However long a run is, its report has no more than this of each series, and so of marks.
POINTS_MAX = 1_200
MARKS_MAX = 400
_HISTORY_BYTES_MAX = 256 * 1024 * 1024
_GC_MS_MIN = 5.0
_PRESSURE = {
    "waited for CPU": "pressure_cpu_share", "for disk": "pressure_io_share", "for memory": "pressure_memory_share",
    "throttled": "throttled_share", "stolen": "cpus_stolen",
}  # fmt: skip


def page(folder: RunFolder, result: Result, boundaries: tuple[Boundary, ...], *, clock: Clock) -> str:
    """The page, of the result, the timeline, the manifest, and what the processes pushed."""
    timeline = Timeline.read(folder.timeline)
    components = sorted({component for component, name in timeline.names if name == "cpus"} - {"machine"})
    pauses = [
        (component, end_unix_ms, round(duration_ms, 1))
        for component in ("job", "broker")
        for end_unix_ms, duration_ms in jvm_pauses.read(folder.logs / f"{component}.gc.log")
        if duration_ms >= _GC_MS_MIN
    ]
    facts = {
        "result": json.loads(result.to_json()),
        "outcome": result.outcome,
        "manifest": {"sections": manifest.sections if (manifest := manifest_of(folder)) else {}},
        "latencies": [LATENCY_HEAD, *latency_rows(result, decimals=2)],
        "clusters_min": CLUSTERS_MIN,
        "anomalies": anomalies(result, timeline),
        "boundaries": [
            {"begin_ms": each.begin_us / 1000, "gap_ms": round(each.gap_us / 1000)} for each in boundaries[:MARKS_MAX]
        ],
        "gc": sorted(pauses, key=lambda pause: -pause[2])[:MARKS_MAX],
        "charts": {
            "cpus": _chart(timeline, {"machine": ("machine", "cpus"), **{name: (name, "cpus") for name in components}}),
            "pressure": _chart(timeline, {title: ("machine", name) for title, name in _PRESSURE.items()}),
        },
    }
    return report_file(as_json(facts), pushed(folder, clock))


def pushed(folder: RunFolder, clock: Clock) -> str | None:
    """What the processes pushed, as the pages have it inside; None if there is no log."""
    run = Archive(folder.path.parent, clock=clock, history_bytes_max=_HISTORY_BYTES_MAX).open(folder.run_id)
    if run is None:
        return None
    return data_json(copy_of(run, now_unix_ns=clock.unix_ns(), tick=0, aggregator={}), Range(), points=POINTS_MAX)


def _chart(timeline: Timeline, lines: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Rows of a second and the mean of each series from it on, over as many seconds as keep the rows few."""
    known = {title: series for title, key in lines.items() if len(series := timeline.series(*key))}
    if not known:
        return {"lines": [], "width_s": 1, "rows": []}
    begin = min(int(series.unix_s[0]) for series in known.values())
    end = max(int(series.unix_s[-1]) for series in known.values()) + 1
    width = -(-(end - begin) // POINTS_MAX)
    rows: list[list[float | None]] = [[at] for at in range(begin, end, width)]
    for series in known.values():
        bins = (series.unix_s - begin) // width
        totals = np.bincount(bins, series.values, minlength=len(rows))
        counts = np.bincount(bins, minlength=len(rows))
        for row, total, count in zip(rows, totals.tolist(), counts.tolist(), strict=True):
            row.append(round(total / count, 4) if count else None)
    return {"lines": list(known), "width_s": width, "rows": rows}
