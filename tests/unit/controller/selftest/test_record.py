"""What a self test says of a rig, and what a run's result says of the self test."""

import dataclasses
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.archive.self_test_record import RateTest, SelfTestRecord, beside, rate_test_of
from market_spread.controller.cli.main import main
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder import Manifest, RunFolder, State
from market_spread.controller.selftest.session import ANCHOR, NullStack, plan_at, record_page, self_test
from market_spread.controller.session.capture import finish
from market_spread.controller.views.output import Table
from market_spread.controller.views.progress import result_table
from market_spread.loadgen.columns import Alerts
from tests.support.clock import ManualClock

BEGIN_US = 1_700_000_000_000_000
SECTIONS: dict[str, Any] = {
    "cpu": {"model": "Some CPU", "sockets": 1, "cores": 2, "threads": 2, "governor": "powersave"},
    "kernel": {"release": "6.1.0"},
    "memory": {"total_kb": 8_000_000},
    "limits": {"cgroup_cpu_max": None, "affinity": "0-1"},
    "code": {"version": "0.1"},
}
AT = "2026-11-23T18:00:00+00:00"
FLOOR = {"p50": 2_100_000, "p95": 4_000_000, "p99": 9_400_000}


def alerts(count: int = 4_000, *, held_us: int = 10_000, received_later_us: int = 0) -> Alerts:
    """Read after 1 ms, every second one held, delivered after another 0.5 ms."""
    number = np.arange(count)
    intended_us = BEGIN_US + number * 5_000
    read_us = intended_us + 1_000
    emitted_us = read_us + np.where(number % 2 == 1, held_us, 20)
    zeros, symbols = np.zeros(count, np.int64), np.full(count, b"A", "S6")
    return Alerts(
        number, symbols, zeros.astype(np.uint8), zeros, zeros, zeros, intended_us, zeros, zeros,
        zeros, intended_us, read_us, emitted_us, emitted_us + 500 + received_later_us,
    )  # fmt: skip


def rate_test(rate_per_s: int = 20_000, **changes: Any) -> RateTest:
    values: dict[str, Any] = {
        "rate_per_s": rate_per_s, "verdict": "passed", "error_ns": 210_000, "error_ns_all": 300_000,
        "error_ns_p95": 3_000_000, "floor_ns": FLOOR, "delivery_ns": {"p50": (2_000_000, 1_700_000)},
    }  # fmt: skip
    return RateTest(**{**values, **changes})


def record(*each: RateTest, **changes: Any) -> SelfTestRecord:
    values: dict[str, Any] = {"at": AT, "rate_per_s": 20_000, "machine": SECTIONS, "code": {}, "packages": {}}
    return SelfTestRecord(rates=each or (rate_test(), rate_test(40_000)), **{**values, **changes})


def test_a_right_rig_has_no_error_and_its_floor_is_of_the_orders_that_were_answered_at_once() -> None:
    found = rate_test_of(alerts(), alerts(), rate_per_s=1_000, from_us=BEGIN_US)

    assert (found.error_ns, found.error_ns_p95, found.injected_ns, found.samples) == (0, 0, 10_000_000, 4_000)
    assert found.floor_ns["p50"] == 1_520_000
    assert found.floor_ns["p99"] == 1_520_000


@pytest.mark.parametrize("late_us", [5_000, -3_000])
def test_a_receiver_that_stamps_late_or_early_is_an_error_of_so_much(late_us: int) -> None:
    found = rate_test_of(alerts(received_later_us=late_us), alerts(), rate_per_s=1_000, from_us=BEGIN_US)

    assert found.error_ns == late_us * 1000
    assert not record(dataclasses.replace(found, verdict="passed")).holds


def waiting(share: float, wait_us: int, seed: int) -> Alerts:
    """A share of the alerts, drawn, comes later."""
    seen, waits = alerts(), np.random.default_rng(seed).random(4_000) < share
    return dataclasses.replace(seen, received_us=seen.received_us + np.where(waits, wait_us, 0))


def test_a_machine_that_lets_both_wait_in_turn_is_no_error_of_the_rig_but_is_told() -> None:
    found = rate_test_of(waiting(0.6, 3_000, 1), waiting(0.6, 3_000, 2), rate_per_s=1_000, from_us=BEGIN_US)

    assert (found.error_ns, found.error_ns_p95) == (0, 3_000_000)
    assert record(dataclasses.replace(found, verdict="passed")).holds


@pytest.mark.parametrize(("share", "name"), [(0.85, "p50"), (0.4, "p75"), (0.15, "p90")])
def test_a_receiver_that_stamps_most_or_some_alerts_late_does_not_hold(share: float, name: str) -> None:
    found = rate_test_of(waiting(share, 5_000, 1), alerts(), rate_per_s=1_000, from_us=BEGIN_US)

    made = record(dataclasses.replace(found, verdict="passed"))
    assert (found.error_ns, found.error_ns_p95) == (0, 5_000_000)
    assert not made.holds
    assert f", but says that alerts came after 5.50 ms ({name}), which took 0.50 (at most" in made.sentence


def test_a_receiver_that_stamps_most_alerts_early_does_not_hold() -> None:
    found = rate_test_of(waiting(0.85, -3_000, 1), alerts(), rate_per_s=1_000, from_us=BEGIN_US)

    assert not record(dataclasses.replace(found, verdict="passed")).holds


def test_a_rig_that_errs_is_told_beside_every_run(tmp_path: Path) -> None:
    record(rate_test(delivery_ns={"p50": (5_500_000, 500_000)})).write(tmp_path)

    assert (
        "but says that alerts came after 5.50 ms (p50), which took 0.50" in beside(tmp_path, SECTIONS, 20_000)["text"]
    )


def test_a_rig_that_counts_half_of_a_hold_errs_by_the_other_half() -> None:
    found = rate_test_of(alerts(held_us=5_000), alerts(), rate_per_s=1_000, from_us=BEGIN_US)

    assert (found.injected_ns, found.error_ns) == (10_000_000, -5_000_000)


def test_what_settles_and_what_only_one_of_both_has_is_left_out() -> None:
    theirs = alerts()[np.arange(4_000) != 3_001]

    found = rate_test_of(alerts(), theirs, rate_per_s=1_000, from_us=BEGIN_US + 5_000 * 1_000)

    assert found.samples == 2_999


def test_the_aim_is_five_times_closer_where_sender_and_receiver_have_a_core_each() -> None:
    many = {**SECTIONS, "cpu": {**SECTIONS["cpu"], "threads": 8}}

    assert record().holds
    assert not record(machine=many).holds
    assert record(rate_test(error_ns=-100_000), machine=many).holds
    assert not record(rate_test(error_ns=500_001)).holds


def test_the_sentence_tells_error_floor_aim_and_a_rate_that_did_not_hold() -> None:
    void = RateTest(rate_per_s=40_000, verdict="void", reasons=("too many frames were late",))

    assert record(rate_test(), void).sentence == (
        "the rig reads latencies back within 0.21 ms (of all 0.30, 95% within 3.00) at 20,000 messages/s "
        "(at most 0.50 ms is aimed at on this machine); a system that answers at once takes "
        "2.10 ms (p50) and 9.40 ms (p99); at 40,000 messages/s it is void: too many frames were late"
    )


def test_a_run_has_the_figures_of_the_nearest_rate_beside_it(tmp_path: Path) -> None:
    record(rate_test(), rate_test(40_000, error_ns=400_000)).write(tmp_path)

    at_once, at_twice = (beside(tmp_path, SECTIONS, rate) for rate in (15_000, 50_000))

    assert at_once == {
        "at": AT, "rate_per_s": 20_000, "floor_ns": FLOOR, "error_ns": 210_000, "error_ns_all": 300_000,
        "error_ns_p95": 3_000_000, "fits": True,
        "text": "the rig's floor here: p50 2.10 ms, p99 9.40 ms, "
        "error 0.21 ms (of all 0.30, 95% within 3.00), self test of 2026-11-23 at 20,000/s",
    }  # fmt: skip
    assert (at_twice["rate_per_s"], at_twice["error_ns"], at_twice["fits"]) == (40_000, 400_000, True)


@pytest.mark.parametrize("folder", ["", "ab-before-after/a", "sweep-sustained/rates/20500"])
def test_runs_of_ab_and_sweep_have_it_from_the_folder_of_all_runs(tmp_path: Path, folder: str) -> None:
    record().write(tmp_path)

    assert beside(tmp_path / folder, SECTIONS, 20_000)["fits"]


def test_every_result_has_it_and_so_have_its_document_and_the_terminal(tmp_path: Path) -> None:
    record().write(tmp_path)
    folder, clock, output = RunFolder(tmp_path / "a-run"), ManualClock(), StringIO()
    folder.path.mkdir()
    Manifest(SECTIONS).write(folder.manifest)
    observed = Observed(started=datetime(2026, 1, 1, tzinfo=UTC))

    result = finish(folder, plan_at(20_000, 20), observed, state=State(folder.state, clock=clock))
    Console(file=output, width=200).print(result_table(result))

    text = (
        "the rig's floor here: p50 2.10 ms, p99 9.40 ms, "
        "error 0.21 ms (of all 0.30, 95% within 3.00), self test of 2026-11-23 at 20,000/s"
    )
    written = json.loads(folder.result.read_text())["self_test"]
    assert (written["text"], written["rate_per_s"], written["floor_ns"]["p99"]) == (text, 20_000, 9_400_000)
    assert text in folder.document.read_text()
    assert text in output.getvalue()


@pytest.mark.parametrize(
    ("sections", "rate_per_s", "text"),
    [
        (
            {**SECTIONS, "cpu": {**SECTIONS["cpu"], "model": "Other CPU"}}, 20_000,
            "not measured on this machine; the self test of 2026-11-23 is of another one "
            "(cpu model Some CPU instead of Other CPU): market-spread selftest --rate 20000",
        ),
        (
            SECTIONS, 300_000,
            "not measured at a rate like 300,000/s (p50 2.10 ms, p99 9.40 ms, "
            "error 0.21 ms (of all 0.30, 95% within 3.00), self test of 2026-11-23 "
            "at 40,000/s, which is far off): market-spread selftest --rate 300000",
        ),
        ({}, 20_000, "the processes of the run were on machines that no self test was made on"),
    ],
)  # fmt: skip
def test_a_self_test_of_another_machine_or_rate_is_not_used_silently(
    tmp_path: Path, sections: dict[str, Any], rate_per_s: int, text: str
) -> None:
    record().write(tmp_path)

    found = beside(tmp_path, sections, rate_per_s)

    assert not found["fits"]
    assert found["text"] == text


def test_a_machine_without_a_self_test_says_how_to_make_one(tmp_path: Path) -> None:
    found = beside(tmp_path, SECTIONS, 20_000)

    assert found["text"] == "not measured on this machine: market-spread selftest --rate 20000"


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "[" * 100_000, '{"version": 1}', '{"version": 3, "rates": []}',
     json.dumps({**record().document, "machine": {}})],
)  # fmt: skip
def test_a_file_that_is_damaged_spoils_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "selftest.json").write_text(text)

    found = beside(tmp_path, SECTIONS, 20_000)

    assert not found["fits"]
    assert "selftest.json cannot be read" in found["text"]
    assert "market-spread selftest --rate 20000" in found["text"]


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written = record(rate_test(), RateTest(rate_per_s=40_000, verdict="void", reasons=("late",)))
    written.write(tmp_path)

    assert SelfTestRecord.read(tmp_path) == written


def test_the_rig_is_looked_at_with_the_rate_and_twice_the_rate_and_that_is_kept(tmp_path: Path) -> None:
    offered: list[int] = []

    def look(plan: RunPlan) -> RateTest:
        offered.append(plan.workload.load.highest_per_s)
        return rate_test(offered[-1])

    made = self_test(20_000, duration_s=20, runs_folder=tmp_path, look=look)

    assert offered == [20_000, 40_000]
    assert SelfTestRecord.read(tmp_path) == made
    assert "packages" in json.loads((tmp_path / "selftest.json").read_text())
    assert made.packages["kafka-python"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (RateTest(rate_per_s=2_000_000, verdict="void", reasons=("7% of the frames were late",)), "7% of the frames"),
        (RateTest(rate_per_s=2_000_000, verdict="passed"), "too few alerts came"),
    ],
)
def test_a_rate_that_the_machine_cannot_hold_is_one_sentence_and_nothing_is_kept(
    tmp_path: Path, found: RateTest, reason: str
) -> None:
    with pytest.raises(RunVoidError, match=rf"^the rig cannot be looked at with 2,000,000 messages/s .*: {reason}"):
        self_test(2_000_000, duration_s=20, runs_folder=tmp_path, look=lambda plan: found)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rate_per_s", [0, -5, 10**9])
def test_a_rate_that_is_none_is_refused(rate_per_s: int) -> None:
    with pytest.raises(UsageError, match=f"--rate {rate_per_s}; use a whole number"):
        plan_at(rate_per_s, 20)


def test_an_anchor_is_a_run_among_the_others_of_a_system_that_holds_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[RunPlan] = []
    systems: list[object] = []

    def carry_out(plan: RunPlan, *, runs_folder: Path, as_json: bool, environment_of: Any) -> Any:
        ran.append(plan)
        systems.append(environment_of("20260101-120000-null", runs_folder))
        return SimpleNamespace(verdict=Verdict.PASSED)

    monkeypatch.setattr("market_spread.controller.session.execute.carry_out", carry_out)
    monkeypatch.setattr("market_spread.common.jvm.jars.find_java", lambda home: None)

    ended = CliRunner().invoke(main, ["selftest", "--anchor", "--rate", "20000", "--runs-folder", str(tmp_path)])

    assert ended.exit_code == 0
    assert [(plan.workload.name, plan.workload.load.highest_per_s) for plan in ran] == [(ANCHOR, 20_000)]
    (system,) = systems
    assert isinstance(system, NullStack)
    assert system.delay_us == 0


def test_the_page_of_a_record_is_its_sentence_and_a_row_for_each_rate() -> None:
    made = record(rate_test(), dataclasses.replace(rate_test(40_000), error_ns=None))

    page = record_page(made)

    (table,) = page.parts
    assert isinstance(table, Table)
    assert page.headline == made.sentence
    assert [(row[0], row[5]) for row in table.rows] == [("20,000", "0.21"), ("40,000", "-")]
