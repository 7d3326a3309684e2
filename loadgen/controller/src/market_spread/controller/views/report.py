"""What is left of a run to read: its document, Markdown; and its report, one file that opens without a server."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.errors import UsageError
from market_spread.common.hdr.histogram import CLUSTERS_MIN
from market_spread.controller.analysis.evidence import Criterion
from market_spread.controller.analysis.result import LATENCY_HEAD, Result, fault_rows, figure_rows, latency_rows
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder import Manifest, RunFolder
from market_spread.controller.views.output import markdown_table, markdown_text
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.run_json import Range, as_json, copy_of, data_json
from market_spread.metrics_aggregator.page import report_file

# However long a run is, its report has no more than this of each series.
POINTS_MAX = 1_200
_HISTORY_BYTES_MAX = 256 * 1024 * 1024
_PRESSURE = {
    "waited for CPU": "pressure_cpu_share", "for disk": "pressure_io_share", "for memory": "pressure_memory_share",
    "throttled": "throttled_share", "stolen": "cpus_stolen",
}  # fmt: skip
# What voids nothing, and is to be known where it was found.
_SAID = (Criterion.PREFLIGHT, Criterion.SLOWER_BETWEEN, Criterion.CPU_UNSTEADY)
_MACHINE = (
    ("cpu", "model"), ("cpu", "threads"), ("cpu", "cores"), ("cpu", "governor"), ("cpu", "turbo"), ("cpu", "smt"),
    ("memory", "total_kb"), ("memory", "transparent_huge_pages"), ("clock", "source"), ("kernel", "release"),
    ("kernel", "command_line"), ("kernel", "vm.swappiness"), ("limits", "cgroup_cpu_max"), ("limits", "affinity"),
)  # fmt: skip
_VERSIONS = (
    ("code", "version"), ("code", "git_commit"), ("code", "git_dirty"), ("spark", "version"), ("jvm_job", "version"),
    ("packages", "pyspark"), ("packages", "kafka-python"), ("packages", "grpcio"), ("packages", "numpy"),
    ("packages", "pyarrow"),
)  # fmt: skip


def write_report(folder: RunFolder, result: Result, *, clock: Clock) -> Path:
    """The report as one file: result, timeline, manifest, and what the processes pushed. OSError if that fails."""
    timeline = Timeline.read(folder.timeline)
    components = sorted({component for component, name in timeline.names if name == "cpus"} - {"machine"})
    facts = {
        "result": json.loads(result.to_json()),
        "outcome": result.outcome,
        "manifest": {"sections": manifest.sections if (manifest := manifest_of(folder)) else {}},
        "latencies": [LATENCY_HEAD, *latency_rows(result, decimals=2)],
        "faults": fault_rows(result),
        "clusters_min": CLUSTERS_MIN,
        "anomalies": anomalies(result),
        "charts": {
            "cpus": _chart(timeline, {"machine": ("machine", "cpus"), **{name: (name, "cpus") for name in components}}),
            "pressure": _chart(timeline, {title: ("machine", name) for title, name in _PRESSURE.items()}),
        },
    }
    return write_whole(folder.report, report_file(as_json(facts), pushed(folder, clock)))


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


def markdown(folder: RunFolder, plan: RunPlan, result: Result) -> str:
    """The document, from the result and the manifest."""
    manifest = manifest_of(folder)
    steps = [f"{step['name']} {step['duration_s']:.1f} s" for step in result.steps if step["duration_s"] is not None]
    source, command = plan.origin.get("source"), "market-spread run workload.yaml"
    if source == "recorded":
        command = f"market-spread replay --rate {plan.workload.load.highest_per_s}  # of {source} files"
    latencies = [(title.strip(), *cells) for title, *cells in latency_rows(result, decimals=2)]
    parts = [
        f"# Run {result.run_id}",
        f"**{result.outcome}**" + "".join(f"\n* {markdown_text(reason)}" for reason in result.reasons),
        "\n".join(f"* {markdown_text(line)}" for line in result.causes.lines) if result.causes else "",
        "## Purpose",
        plan.workload.purpose or f"The workload `{result.workload}`; it states no purpose.",
        "## Commands",
        f"```sh\n{command}\n```",
        f"The workload is beside this document as it was run. Steps: {', '.join(steps)}.",
        "## Verdicts",
        *(_verdict(name, result) for name in result.verdicts),
        "## Figures",
        markdown_table(LATENCY_HEAD, latencies),
        f"{result.latency_samples:,} samples; a percentile is given if ten values lie above it. What is slow is slow "
        "together: an interval takes a run of more than 45 s. “– (6 clusters)”: not evaluated, for a tail takes "
        f"{CLUSTERS_MIN} clusters of time that it lies in; `result.json` has what was observed.",
        markdown_table(faults[0], faults[1:], text_columns=1) if (faults := fault_rows(result)) else "",
        markdown_table(("figure", ""), figure_rows(result)),
        "## Out of the ordinary",
        "\n".join(f"* {markdown_text(each)}" for each in anomalies(result)) or "Nothing.",
        "## Machine",
        _facts(manifest, _MACHINE),
        "## Versions",
        _facts(manifest, _VERSIONS),
        f"Manifest: `{result.manifest_sha256 or 'none'}`, all of it in `manifest.json`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def anomalies(result: Result) -> list[str]:
    """What a reader of the figures should know besides the verdicts."""
    found = [
        each["text"]
        for assessment in result.verdicts.values()
        for each in assessment["evidence"]
        if each["holds"] is False or (each["check"] in _SAID and each["holds"] is None and each["value"] is not None)
    ]
    counts = {"restarts": result.job_restarts, "resumes": result.resumed, "latencies < 0": result.negative_latencies}
    return [*found, *result.unanswered, *(f"{what}: {count}" for what, count in counts.items() if count)]


def _verdict(name: str, result: Result) -> str:
    assessment = result.verdicts[name]
    words = {True: "yes", False: "no", None: "not known" if assessment["evidence"] else "none asked for"}
    titles = {"correct": "Correct", "valid": "Valid", "objectives": "Keeps up and meets the objectives"}
    holds, answers = {True: "holds", False: "**fails**", None: "–"}, result.words.answers
    rows = [
        (each["check"].replace("_", " ").replace("alerts", answers), holds[each["holds"]], each["text"])
        for each in assessment["evidence"]
    ]
    table = markdown_table(("check", "", "evidence"), rows) if rows else ""
    return f"### {titles.get(name, 'Survives its planned faults')}: {words[assessment['holds']]}\n\n{table}".rstrip()


def _facts(manifest: Manifest | None, wanted: Iterable[tuple[str, str]]) -> str:
    if manifest is None:
        return "There is no manifest: the run ended before its processes were there."
    found = [(f"{section} {name}", manifest.sections.get(section, {}).get(name)) for section, name in wanted]
    return markdown_table(("", ""), [(name, "not known" if each is None else f"`{each}`") for name, each in found])


def manifest_of(folder: RunFolder) -> Manifest | None:
    """The run's manifest; None if it has none that can be used."""
    try:
        return Manifest.read(folder.manifest)
    except UsageError:
        return None
