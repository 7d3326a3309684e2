"""What the terminal shows: lines of progress, and the result."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.evidence import WORDS, Cause, Verdict
from market_spread.controller.analysis.observed import RunProgress
from market_spread.controller.analysis.result import Result, latency_rows
from market_spread.controller.plan.faults import Fault
from market_spread.controller.views.progress import live_progress, result_table
from market_spread.v1.control_pb2 import JobStatusResponse, ReceiverStatusResponse, SenderStatusResponse
from tests.unit.controller.analysis.planted import planted

NONE = {"p50": None, "p95": None, "p99": None, "p99.9": None, "p99.99": None, "max": None}
LATENCY = {"p50": 6_900_000, "p95": 9_100_000, "p99": 22_200_000, "p99.9": None, "p99.99": None, "max": 1_234_500_000}


def histogram(count: int) -> bytes:
    counts = HdrCounts()
    counts.record(np.full(count, 7_000, np.int64))
    return counts.encode()


def progress(phase: str = "measuring", *, second: int = 0, alerts: int = 2_000) -> RunProgress:
    """After so many seconds at 20,000 messages a second, of which the job has processed half."""
    return RunProgress(
        phase,
        40.0 + second,
        SenderStatusResponse(messages_sent=20_000 * second),
        ReceiverStatusResponse(alerts=alerts, warm_up_alerts=345, latency_histogram=histogram(alerts)),
        JobStatusResponse(messages_processed=10_000 * second, batch_id=3),
    )


def lines_of(body: Callable[[Callable[[RunProgress], None]], None]) -> list[str]:
    output = StringIO()
    with live_progress(Console(file=output, width=60)) as show:
        body(show)
    return output.getvalue().splitlines()


def test_line_has_phase_rates_alerts_and_latency() -> None:
    def body(show: Callable[[RunProgress], None]) -> None:
        for second in range(7):
            show(progress(second=second))

    lines = lines_of(body)

    assert len(lines) == 2
    assert lines[-1].split("  ") != lines[0].split("  ")
    assert lines[-1].startswith("  46.0 s  measuring ")
    assert "offered    20,000/s  processed    10,000/s" in lines[-1]
    assert "alerts   2,345 in all  latency p50 7.0 ms, max 7.0 ms" in lines[-1]


def test_line_comes_at_every_new_phase_and_else_every_five_seconds() -> None:
    def body(show: Callable[[RunProgress], None]) -> None:
        show(progress("warming up"))
        show(progress("warming up"))
        show(progress("measuring"))
        show(progress("measuring", second=5))
        show(progress("measuring", second=6))

    assert [line.split()[2] for line in lines_of(body)] == ["warming", "measuring", "measuring"]


def test_line_comes_at_once_when_a_planned_fault_begins_and_says_which() -> None:
    faults = tuple((1, Fault(at_s=1, do=do, target="job", for_s=5)) for do in ("stop", "kill"))

    def body(show: Callable[[RunProgress], None]) -> None:
        for begun in (0, 0, 1, 1, 2):
            show(replace(progress(), faults=faults[:begun]))

    before, first, second = lines_of(body)

    assert "fault" not in before
    assert first.endswith("after fault 1: stop of the job for 5 s")
    assert second.endswith("after fault 2: kill of the job for 5 s")


def test_line_before_anything_runs_says_the_phase() -> None:
    lines = lines_of(lambda show: show(RunProgress("starting", 0.0)))

    assert [line.rstrip() for line in lines] == ["   0.0 s  starting"]


def test_line_of_a_starting_job_says_what_it_waits_for() -> None:
    job = JobStatusResponse(detail="waiting for executors: 2 of 5 slots are there", batch_id=-1)

    lines = lines_of(lambda show: show(RunProgress("starting", 1.0, job=job)))

    assert lines[0].endswith("waiting for executors: 2 of 5 slots are there")


@pytest.mark.parametrize(
    ("alerts", "latency"), [(0, "latency none yet"), (5, "latency max 7.0 ms"), (20, "latency p50 7.0 ms, max 7.0 ms")]
)
def test_latency_is_shown_as_far_as_alerts_support_it(alerts: int, latency: str) -> None:
    lines = lines_of(lambda show: show(progress(alerts=alerts)))

    assert lines[0].endswith(latency)


def test_rates_begin_anew_with_the_next_load() -> None:
    def body(show: Callable[[RunProgress], None]) -> None:
        show(progress("warming up", second=10))
        show(replace(progress("measuring", second=1), elapsed_s=53.0))

    lines = lines_of(body)

    assert "-" not in lines[-1]
    assert "offered         0/s" in lines[-1]


@pytest.mark.parametrize("shown", [RunProgress("starting", 0.0), progress(), progress(alerts=0)])
def test_terminal_shows_progress_in_place(shown: RunProgress) -> None:
    output = StringIO()

    with live_progress(Console(file=output, width=100, force_terminal=True)) as show:
        show(shown)

    assert shown.phase in output.getvalue()


def shown_table(result: Result) -> str:
    output = StringIO()
    Console(file=output, width=200).print(result_table(result), highlight=False)
    return output.getvalue()


@pytest.fixture
def result() -> Result:
    return Result(
        run_id="20261121-144301-quick", workload="quick", verdict=Verdict.PASSED, cause=None,
        latencies_void=False, decisive=(), reasons=(), faults={},
        started="2026-11-21T14:43:01+00:00", duration_s=60.0, mode="real-time",
        messages_sent=1_200_000, quotes_sent=600_000, orders_sent=600_123, messages_processed=1_200_000,
        alerts_expected=12_009, alerts_received=12_007, alerts_missing=2, alerts_unexpected=3, alerts_duplicated=4,
        alerts_wrong=5, alerts_undecided=0, alerts_disagreeing=0, invalid_records=6,
        offered_rate_per_s=20_000.0, achieved_rate_per_s=19_990.4,
        latency_ns=LATENCY, latency_samples=11_000, latency_between_boundaries_ns=LATENCY, service_time_ns=LATENCY,
        stages_ns={"send_lag": NONE, "ingest": NONE, "compute": NONE, "delivery": NONE},
        send_lag_ns=NONE, frame_delay_ns=NONE, frames_sent=55_795, frames_late=17, messages_failed=0,
        boundaries=5, boundary_gap_ns_median=210_000_000, boundary_gap_ns_max=480_000_000,
        batch_duration_ns_median=480_000_000, batch_duration_ns_max=480_000_000, negative_latencies=0,
        job_restarts=0, cpu_us_per_message=3.254, broker_cpu_us_per_message=1.1, stolen_cpu_share=0.01,
        time_to_first_order_s=33.5, machine={"cores": 2, "cpu_model": "A CPU"}, settings={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "cause", "latencies_void", "outcome"),
    [
        (Verdict.PASSED, None, False, "passed"),
        (Verdict.FAILED, Cause.SYSTEM, False, "failed (system)"),
        (Verdict.FAILED, Cause.SYSTEM, True, "failed (system); latencies void"),
        (Verdict.VOID, Cause.RIG, True, "void (rig)"),
    ],
)
def test_table_begins_with_the_verdict_and_its_cause(
    result: Result, verdict: Verdict, cause: Cause | None, latencies_void: bool, outcome: str
) -> None:
    shown = shown_table(replace(result, verdict=verdict, cause=cause, latencies_void=latencies_void))

    assert shown.strip().startswith(f"{outcome}    quick")
    assert "quick, run 20261121-144301-quick" in shown


@pytest.mark.parametrize(
    "figures",
    [
        "1,200,000 (600,123 orders)",
        "20,000 messages/s for 60 s",
        "19,990 messages/s",
        "12,007 received, 12,009 expected, 2 missing, 3 unexpected, 4 duplicated, 5 wrong",
        "11,000",
        "17 of 55,795",
        "5, median 210.0 ms, longest 480.0 ms",
        "3.25 us a message, in the second half – (reference: 5.3, another machine, no Kafka)",
        "1.10 us a message",
        "2 cores, A CPU",
    ],
)
def test_table_has_the_figures(result: Result, figures: str) -> None:
    assert figures in shown_table(result)


def test_table_says_why_more_alerts_may_come_than_are_expected(result: Result) -> None:
    raced = replace(result, alerts_received=12_100, alerts_expected=12_009, alerts_undecided=516)

    assert "5 wrong; 516 orders may have one or none" in shown_table(raced)
    assert "may have" not in shown_table(replace(result, alerts_undecided=0))


def test_a_system_of_another_kind_has_outputs_and_nothing_of_the_market(result: Result) -> None:
    shown = shown_table(replace(result, settings={"source": "system"}, orders_sent=0))
    lines = lines_of(lambda show: show(replace(progress(second=3), words=WORDS["system"])))

    assert re.findall(r"\b(?:alert|order|quote)s?\b|reference", "\n".join([shown, *lines])) == []
    assert "outputs                       12,007 received" in shown
    assert "time to the first message" in shown
    assert "outputs   2,345 in all" in lines[0]


def test_latencies_are_milliseconds_and_a_dash_where_there_is_none(result: Result) -> None:
    row = next(line for line in shown_table(result).splitlines() if line.lstrip().startswith("intended send"))

    assert row.split()[-4:] == ["6.9", "9.1", "22.2", "1,234.5"]


def cells(text: str, title: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip().startswith(title))
    return re.split(r"\s{2,}", line.strip())


def test_a_tail_of_few_clusters_is_no_number_anywhere(result: Result) -> None:
    """22.2 ms of p99 was observed: result.json has it, and nobody shows it as an estimate."""
    few = replace(
        result,
        latency_clusters={
            "latency_ns": {"p50": 9, "p95": 10, "p99": 6},
            "service_time_ns": {"p95": 1, "p99": 12},
        },
    )

    shown = shown_table(few)

    assert cells(shown, "intended send to receipt")[1:] == ["6.9", "9.1", "– (6 clusters)", "1,234.5"]
    assert cells(shown, "actual send to receipt")[1:] == ["6.9", "– (1 cluster)", "22.2", "1,234.5"]
    assert "– (n clusters): not evaluated, as it rests on n moments of the run; 10 are needed" in shown
    assert latency_rows(few, decimals=2)[0][1:4] == ("6.90", "9.10", "– (6 clusters)")
    assert json.loads(few.to_json())["latency_ns"]["p99"] == LATENCY["p99"]
    assert "clusters): not evaluated" not in shown_table(result)


def test_each_latency_has_its_intervals_and_clusters_beside_it(result: Result) -> None:
    """In cells where there is room; the terminal has them in rows below the main latencies alone."""
    known = replace(
        result,
        latency_by_key_ns={"hot": LATENCY},
        latency_clusters={path: {"p50": 12, "p99": 34} for path in ("latency_ns", "latency_by_key_ns.hot")},
        latency_intervals={
            "latency_ns": {"p50": {"low_ns": 6_000_000, "high_ns": 8_250_000}},
            "latency_by_key_ns.hot": {"p99": {"low_ns": 19_000_000, "high_ns": 1_234_000_000}},
        },
    )

    written = {title.strip(): row for title, *row in latency_rows(known, decimals=2)}
    shown = shown_table(known)

    assert written["intended send to receipt"][:3] == ["6.90 (6.00–8.25; 12)", "9.10", "22.20"]
    assert written["hot probes"][:3] == ["6.90", "9.10", "22.20 (19.00–1,234.00; 34)"]
    assert cells(shown, "intended send to receipt")[1:] == ["6.9", "9.1", "22.2", "1,234.5"]
    assert cells(shown, "95% interval")[1:] == ["6.0–8.2", "–", "–", "–"]
    assert cells(shown, "clusters of time")[1:] == ["12", "–", "34", "–"]
    assert "1,234.0" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "interval" in line or "receipt" in line)


def test_latency_is_shown_by_heat_and_state_partition(result: Result) -> None:
    several = replace(
        result,
        latency_by_key_ns={"hot": LATENCY, "cold": {**LATENCY, "p50": 8_000_000}},
        latency_by_state_partition_ns={str(number): {**LATENCY, "p50": number * 1_000_000} for number in range(40)},
    )
    one = replace(result, latency_by_state_partition_ns={"0": LATENCY})

    shown = shown_table(several)

    assert cells(shown, "cold probes")[1] == "8.0"
    assert [title for title, *_ in latency_rows(several, decimals=1) if "state partition" in title] == [
        f"  state partition {number}" for number in range(8, 40)
    ]
    assert "state partition" not in shown_table(one)


def test_reasons_and_faults_are_listed(result: Result) -> None:
    failed = replace(
        result,
        verdict=Verdict.FAILED,
        cause=Cause.SYSTEM,
        latencies_void=False,
        reasons=("1 alerts are missing",),
        faults={"missing": ("order 7 (AAPL): it is rejected, but has no alert",), "wrong": ()},
    )

    shown = shown_table(failed)

    assert "• 1 alerts are missing" in shown
    assert "• missing: order 7 (AAPL): it is rejected, but has no alert" in shown


def test_figures_that_a_run_did_not_come_to_are_dashes(result: Result) -> None:
    bare = replace(
        result,
        latency_ns=NONE,
        achieved_rate_per_s=None,
        cpu_us_per_message=None,
        broker_cpu_us_per_message=None,
        boundaries=0,
        boundary_gap_ns_median=None,
        boundary_gap_ns_max=None,
        batch_duration_ns_median=None,
        batch_duration_ns_max=None,
    )

    rows = {line.strip().split("  ")[0]: line.split()[-1] for line in shown_table(bare).splitlines() if line.strip()}

    assert {rows[name] for name in ("achieved", "CPU of the job", "CPU of the broker")} == {"–"}
    assert "0, median –, longest –" in shown_table(bare)


def test_text_in_brackets_is_shown_as_it_is(result: Result) -> None:
    failed = replace(result, reasons=("the job ended: [bold]java.lang.Error[/bold] [1, 2]",))

    assert "the job ended: [bold]java.lang.Error[/bold] [1, 2]" in shown_table(failed)


def test_why_the_slowest_were_slow_stands_before_the_figures(result: Result) -> None:
    causes = planted(0, "boundary")

    lines = shown_table(replace(result, causes=causes)).splitlines()

    at = lines.index(causes.sentence)
    assert "met 4 batch boundaries" in lines[at]
    assert lines[at + 1].endswith("try longer batches: job.batch_s")
    assert at < next(number for number, line in enumerate(lines) if line.startswith("Latency, milliseconds"))
