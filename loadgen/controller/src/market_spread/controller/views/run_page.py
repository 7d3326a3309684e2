"""The run document that a person reads, Markdown."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.evidence import Criterion
from market_spread.controller.analysis.result import LATENCY_HEAD, Result, alerts_text, latency_rows, unanswered
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder.folder import RunFolder
from market_spread.controller.run_folder.manifest import Manifest, Scalar
from market_spread.controller.statistics.intervals import CLUSTERS_MIN

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


def markdown(folder: RunFolder, plan: RunPlan, result: Result, timeline: Timeline) -> str:
    """The document, from the result, the manifest and the timeline."""
    manifest = manifest_of(folder)
    parts = [
        f"# Run {result.run_id}",
        f"**{result.outcome}**" + "".join(f"\n* {reason}" for reason in result.reasons),
        "## Purpose",
        plan.workload.purpose or f"The workload `{result.workload}`; it states no purpose.",
        "## Commands",
        f"```sh\n{_command(plan)}\n```",
        "The workload is beside this document as it was run. Steps: " + _steps(result) + ".",
        "## Verdicts",
        *(_verdict(name, result) for name in ("correct", "valid", "objectives")),
        "## Figures",
        _latencies(result),
        _figures(result),
        "## Out of the ordinary",
        _bullets(anomalies(result, timeline)) or "Nothing.",
        "## Machine",
        _facts(manifest, _MACHINE),
        "## Versions",
        _facts(manifest, _VERSIONS),
        f"Manifest: `{result.manifest_sha256 or 'none'}`, all of it in `manifest.json`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def anomalies(result: Result, timeline: Timeline) -> list[str]:
    """What a reader of the figures should know besides the verdicts."""
    found = [
        each["text"]
        for assessment in result.verdicts.values()
        for each in assessment["evidence"]
        if each["holds"] is False or (each["check"] in _SAID and each["holds"] is None and each["value"] is not None)
    ]
    found += unanswered(result)
    if result.negative_latencies:
        found.append(f"{result.negative_latencies} latencies were below 0: a clock was moved")
    if result.job_restarts:
        found.append(f"the job was started again {result.job_restarts} times")
    if result.resumed:
        found.append(f"the run was resumed {result.resumed} times")
    for component in ("job", "broker"):
        pauses = timeline.series(component, "gc_pause_ms")
        if len(pauses) and pauses.values.max() > 100:
            at = datetime.fromtimestamp(int(pauses.unix_s[pauses.values.argmax()]), UTC)
            longest_ms = pauses.values.max()
            found.append(
                f"the {component}'s JVM collected for {longest_ms:.0f} ms within a second, at {at:%H:%M:%S} UTC"
            )
    return found


def _command(plan: RunPlan) -> str:
    if plan.origin.get("source") == "market":
        return "market-spread run workload.yaml"
    return f"market-spread replay --rate {plan.workload.load.highest_per_s}  # of {plan.origin.get('source')} files"


def _steps(result: Result) -> str:
    return ", ".join(
        f"{step['name']} {step['duration_s']:.1f} s" for step in result.steps if step["duration_s"] is not None
    )


def _verdict(name: str, result: Result) -> str:
    assessment = result.verdicts[name]
    words = {True: "yes", False: "no", None: "not known" if assessment["evidence"] else "none asked for"}
    title = {"correct": "Correct", "valid": "Valid", "objectives": "Keeps up and meets the objectives"}[name]
    rows = [
        (each["check"].replace("_", " "), {True: "holds", False: "**fails**", None: "–"}[each["holds"]], each["text"])
        for each in assessment["evidence"]
    ]
    table = _table(("check", "", "evidence"), rows) if rows else ""
    return f"### {title}: {words[assessment['holds']]}\n\n{table}".rstrip()


def _latencies(result: Result) -> str:
    note = (
        f"{result.latency_samples:,} samples; a percentile is given if ten values lie above it. What is slow is slow "
        f"together: an interval takes a run of more than 45 s. “– (6 clusters)”: not evaluated, for a tail takes "
        f"{CLUSTERS_MIN} clusters of time that it lies in; `result.json` has what was observed."
    )
    rows = [(title.strip(), *cells) for title, *cells in latency_rows(result, decimals=2)]
    return f"{_table(LATENCY_HEAD, rows)}\n\n{note}"


def _figures(result: Result) -> str:
    flow = result.conservation
    rows = [
        ("offered", f"{result.offered_rate_per_s:,.0f} messages/s for {result.duration_s:g} s"),
        ("achieved", _or_dash(result.achieved_rate_per_s, "{:,.0f} messages/s")),
        ("messages, all phases", f"{flow['sent']:,} sent = {flow['processed']:,} processed + {flow['invalid']:,} "
                                 f"invalid + {flow['in_flight']:,} in flight"),
        ("alerts", alerts_text(result)),
        ("backlog", _or_dash(result.backlog["messages_max"], "{:,} messages at most")),
        ("commit pause at boundaries", f"{result.boundaries}, longest "
                                           f"{_milliseconds(result.boundary_gap_ns_max)} ms"),
        ("CPU of the job", _or_dash(result.cpu_us_per_message, "{:.2f} us a message, settled")),
        ("in the second half", _or_dash(result.cpu_us_per_message_second_half, "{:.2f} us a message")),
        ("CPU of the broker", _or_dash(result.broker_cpu_us_per_message, "{:.2f} us a message")),
        ("time to the first order", _or_dash(result.time_to_first_order_s, "{:.1f} s")),
        ("rig", str(result.self_test["text"]) if result.self_test else "–"),
    ]  # fmt: skip
    return _table(("figure", ""), rows)


def _facts(manifest: Manifest | None, wanted: Iterable[tuple[str, str]]) -> str:
    if manifest is None:
        return "There is no manifest: the run ended before its processes were there."
    rows = [(f"{section} {name}", _text(manifest.sections.get(section, {}).get(name))) for section, name in wanted]
    return _table(("", ""), rows)


def manifest_of(folder: RunFolder) -> Manifest | None:
    """The run's manifest; None if it has none that can be used."""
    try:
        return Manifest.read(folder.manifest)
    except UsageError:
        return None


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)


def _milliseconds(value_ns: int | None) -> str:
    return "–" if value_ns is None else f"{value_ns / 1e6:,.2f}"


def _or_dash(value: float | None, text: str) -> str:
    return "–" if value is None else text.format(value)


def _text(value: Scalar) -> str:
    return "not known" if value is None else f"`{value}`"
