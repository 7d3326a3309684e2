"""What a run shows on the terminal: its progress while it lasts, its result at the end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from market_spread.common.hdr.histogram import CLUSTERS_MIN, HdrCounts
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.observed import RunProgress
from market_spread.controller.analysis.result import Result, fault_rows, figure_rows, latency_rows, milliseconds_text
from market_spread.controller.exits import printable
from market_spread.controller.plan.objectives import PERCENTILES

_LINE_EVERY_S, _RATES_OVER_S = 5.0, 2.0
_ALWAYS = ("p50", "p95", "p99", "max")
_COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.VOID: "yellow"}


@contextmanager
def live_progress(console: Console) -> Iterator[Callable[[RunProgress], None]]:
    """Shows a run's progress: in place on a terminal, else a line at every new phase or fault and every 5 s."""
    rates = _Rates()
    if console.is_terminal:
        with Live(console=console, refresh_per_second=4, transient=True) as live:
            yield lambda progress: live.update(_panel(progress, rates.of(progress)))
        return

    shown_s, shown_step = 0.0, ("", 0)

    def show(progress: RunProgress) -> None:
        nonlocal shown_s, shown_step
        offered_and_achieved, step = rates.of(progress), (progress.phase, len(progress.faults))
        if step != shown_step or progress.elapsed_s - shown_s > _LINE_EVERY_S:
            shown_s, shown_step = progress.elapsed_s, step
            console.print(_line(progress, offered_and_achieved), soft_wrap=True, highlight=False)

    yield show


def result_table(result: Result) -> RenderableType:
    """The result as tables and sentences."""
    head = Text.assemble(
        ("  " + result.outcome + "  ", f"bold reverse {_COLOURS[result.verdict]}"),
        f"  {result.workload}, run {result.run_id}",
    )
    faults = [f"{kind}: {sentence}" for kind, sentences in result.faults.items() for sentence in sentences]
    why = result.causes.lines if result.causes else ()
    reasons = (f"• {each}" for each in (*result.reasons, *faults, *result.unanswered))
    said = [Text(printable(line)) for line in (*reasons, *why)]
    note = f"– (n clusters): not evaluated, as it rests on n moments of the run; {CLUSTERS_MIN} are needed"
    few = [Text(note, style="dim")] if result.too_few_clusters else []
    figures = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in figure_rows(result):
        figures.add_row(name, Text(value))
    planned: list[RenderableType] = [_table(rows, "Planned faults"), ""] if (rows := fault_rows(result)) else []
    return Group("", head, *said, "", _latency_table(result), *few, "", *planned, figures)


class _Rates:
    """Offered and processed messages a second since the previous second's statuses."""

    def __init__(self) -> None:
        self._previous: tuple[float, int, int] | None = None
        self._shown = (0.0, 0.0)

    def of(self, progress: RunProgress) -> tuple[float, float]:
        if progress.sender is None or progress.job is None:
            return self._shown
        now = (progress.elapsed_s, progress.sender.messages_sent, progress.job.messages_processed)
        previous = self._previous
        if previous is None or now[1] < previous[1]:
            self._previous = now
        elif (seconds := now[0] - previous[0]) >= _RATES_OVER_S:
            self._shown = ((now[1] - previous[1]) / seconds, (now[2] - previous[2]) / seconds)
            self._previous = now
        return self._shown


def _line(progress: RunProgress, rates: tuple[float, float]) -> str:
    parts = [f"{progress.elapsed_s:6.1f} s  {progress.phase:28}"]
    if progress.sender is not None:
        parts.append(f"offered {rates[0]:>9,.0f}/s  processed {rates[1]:>9,.0f}/s")
    if progress.receiver is not None:
        alerts = progress.receiver.alerts + progress.receiver.warm_up_alerts
        latency = _latency_so_far(progress.receiver.latency_histogram)
        parts.append(f"{progress.words.answers} {alerts:>7,} in all  latency {latency}")
    elif progress.job is not None and progress.job.detail:
        parts.append(progress.job.detail)
    return "  ".join([*parts, *_faults(progress)])


def _faults(progress: RunProgress) -> list[str]:
    return [f"after fault {len(progress.faults)}: {progress.faults[-1][1].text}"] if progress.faults else []


def _panel(progress: RunProgress, rates: tuple[float, float]) -> RenderableType:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("phase", Text(progress.phase, style="bold"))
    table.add_row("time", f"{progress.elapsed_s:.0f} s")
    if progress.job is not None:
        detail = f"batch {progress.job.batch_id} committed" if progress.job.batch_id >= 0 else progress.job.detail
        table.add_row("job", detail or "running its first batch")
    if progress.sender is not None:
        late = f", {progress.sender.frames_late:,} frames late" if progress.sender.frames_late else ""
        table.add_row("offered", f"{rates[0]:,.0f} messages/s, {progress.sender.messages_sent:,} sent{late}")
        table.add_row("processed", f"{rates[1]:,.0f} messages/s")
    if progress.receiver is not None:
        alerts, in_warm_up = progress.receiver.alerts, progress.receiver.warm_up_alerts
        table.add_row(progress.words.answers, f"{alerts:,}, {in_warm_up:,} in the warm-up")
        table.add_row("latency so far", _latency_so_far(progress.receiver.latency_histogram))
    for newest in _faults(progress):
        table.add_row("planned", newest)
    return table


def _latency_so_far(encoded: bytes) -> str:
    histogram = HdrCounts.of_status(encoded)
    if not histogram.count:
        return "none yet"
    # What it has of a tail is mostly the last standstill; a percentile of it is shown when its clusters are counted.
    p50 = f"p50 {milliseconds_text(histogram.percentile(50) * 1000)}, " if histogram.supports(50) else ""
    return f"{p50}max {milliseconds_text(histogram.max_us * 1000)}"


def _latency_table(result: Result) -> Table:
    rows = latency_rows(result, decimals=1, narrow=True)
    # On 80 columns there is no room for percentiles that the run is too short for.
    known = [0, *(at for at, name in enumerate(PERCENTILES, 1) if rows[0][at] != "–" or name in _ALWAYS)]
    return _table([[row[at] for at in known] for row in (("", *PERCENTILES), *rows)], "Latency, milliseconds")


def _table(rows: Sequence[Sequence[str]], title: str) -> Table:
    columns = (Column(rows[0][0], no_wrap=True), *(Column(name, justify="right") for name in rows[0][1:]))
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    for row in rows[1:]:
        table.add_row(*row)
    return table
