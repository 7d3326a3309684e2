"""Makes the run document of what is on disk, once all of the run is there: timeline, histograms, result, report."""

from collections.abc import Iterator
from pathlib import Path

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.telemetry.metrics import FRAME_DELAY, SEND_LAG
from market_spread.controller.analysis.latency import Boundary, find_boundaries, judged_alerts, stages_us
from market_spread.controller.analysis.observed import Observed, batches_of
from market_spread.controller.analysis.result import Result
from market_spread.controller.analysis.validity import Seen, push_gaps
from market_spread.controller.analysis.verdict import judged_from_unix_ns, result_of
from market_spread.controller.archive import histograms, jvm_pauses
from market_spread.controller.archive.self_test_record import beside
from market_spread.controller.host import timeline
from market_spread.controller.host.facts import this_machine
from market_spread.controller.host.preflight import HostCheck
from market_spread.controller.host.sampler import Row
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder.folder import RunFolder
from market_spread.controller.run_folder.state import CAPTURING, State
from market_spread.controller.views import report
from market_spread.controller.views.run_page import manifest_of, markdown

OUTSIDE = ("machine", "controller", "path")


def finish(
    folder: RunFolder, plan: RunPlan, observed: Observed, *, state: State, checks: tuple[HostCheck, ...] = ()
) -> Result:
    """Write everything but the report, which shows the verdict that this gives; needs no process of the run.

    OSError if something cannot be written.
    """
    state.enter(CAPTURING)
    if folder.samples.exists() or not folder.timeline.exists():
        timeline.write(folder.samples, folder.timeline, _more_rows(folder, observed))
    _write_histograms(folder, plan, observed)
    seen = _seen(folder, observed, checks)
    manifest = manifest_of(folder)
    result = result_of(
        plan,
        observed,
        folder.run_id,
        seen=seen,
        manifest_sha256=manifest.sha256 if manifest else None,
        steps=[*map(dict, state.steps)],
        resumed=state.resumed,
        self_test=beside(folder.path.parent, manifest.sections, plan.offered_rate_per_s) if manifest else None,
    )
    result.write(folder.path)
    write_whole(folder.document, markdown(folder, plan, result, seen.timeline))
    folder.samples.unlink(missing_ok=True)
    return result


def write_report(folder: RunFolder, plan: RunPlan, observed: Observed, result: Result, *, clock: Clock) -> Path:
    """The report as one file; the metrics of the run are read from its log. OSError if it cannot be written."""
    boundaries: tuple[Boundary, ...] = ()
    if (timed := observed.timed_alerts) is not None:
        measured = judged_alerts(timed, from_us=observed.starts_unix_ns.get("measured", 0) // 1000)
        boundaries = find_boundaries(measured.emitted_us, batches_of(observed.job, plan.workload.job.batch_s))
    return write_whole(folder.report, report.page(folder, result, boundaries, clock=clock))


def _more_rows(folder: RunFolder, observed: Observed) -> Iterator[Row]:
    """Latencies of each second by the intended send, and what the JVMs stood still."""
    for name in ("job", "broker"):
        yield from jvm_pauses.rows(name, folder.logs / f"{name}.gc.log")
    if (timed := observed.timed_alerts) is None:
        return
    alerts = judged_alerts(timed, from_us=0)
    for interval in histograms.by_second(alerts.intended_us, alerts.received_us - alerts.intended_us):
        second, counts = interval.start_unix_ns // 1_000_000_000, interval.histogram
        yield second, "path", "latency_samples", counts.count
        for percent in (50, 99):
            if counts.supports(percent):
                yield second, "path", f"latency_p{percent}_ms", counts.percentile(percent) / 1000
        yield second, "path", "latency_max_ms", counts.max_us / 1000


def _write_histograms(folder: RunFolder, plan: RunPlan, observed: Observed) -> None:
    from_ns = judged_from_unix_ns(plan, observed)
    if (timed := observed.timed_alerts) is not None:
        alerts = judged_alerts(timed, from_us=from_ns // 1000)
        figures = {
            "latency": alerts.received_us - alerts.intended_us,
            "service_time": alerts.received_us - alerts.sent_us,
            **{f"stage_{name}": values_us for name, values_us in stages_us(alerts).items()},
        }
        for name, values_us in figures.items():
            histograms.write(folder.histograms / f"{name}.hlog", histograms.by_second(alerts.intended_us, values_us))
    begin_ns, end_ns = observed.starts_unix_ns.get("measured", 0), observed.measured_until_unix_ns
    for name, metric in (("send_lag", SEND_LAG), ("frame_delay", FRAME_DELAY)):
        intervals = histograms.pushed(folder.metrics, metric.name, from_unix_ns=begin_ns, to_unix_ns=end_ns)
        histograms.write(folder.histograms / f"{name}.hlog", intervals)


def _seen(folder: RunFolder, observed: Observed, checks: tuple[HostCheck, ...]) -> Seen:
    series = Timeline.read(folder.timeline)
    return Seen(
        series,
        tuple(sorted({component for component, _ in series.names} - set(OUTSIDE))),
        this_machine()["cores"],
        observed.starts_unix_ns.get("measured", 0) / 1e9,
        observed.measured_until_unix_ns / 1e9,
        *push_gaps(folder.metrics),
        preflight=checks,
    )
