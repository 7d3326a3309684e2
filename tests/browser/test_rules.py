"""Every rule of what is out of the ordinary: what it says, and that it says nothing of a run that went well."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from market_spread.common.telemetry.metrics import ALERTS, FRAMES_LATE, FRAMES_SENT
from market_spread.metrics_aggregator.http.run_json import Range, copy_of, data_json
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import aggregator_view
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import Judgement, NoteRequest, PushRequest, Sample, SeriesKey
from tests.support.clock import ManualClock

Call = Callable[..., Any]

SOURCE = {
    "source": "job", "silentMs": 400, "pushes": 90, "missing": 0, "dropped": 0, "duplicates": 0, "clockErrorUs": 900,
    "synchronised": True, "restarts": 0,
}  # fmt: skip
LIMITS = {"late_us": 10_000, "late_share_max": 0.001, "stall_us": 2_000_000, "missing_share_max": 0.05}
GOOD = {
    "live": True, "verdict": "", "failedChecks": [], "limits": LIMITS, "hosts": 1,
    "framesSent": 60_000, "framesLate": 0, "failed": 0, "sources": [SOURCE],
    "count": 12_000, "p50Us": 9_000, "queryRestarts": 0, "alertsDuplicated": 0, "alertsUnreadable": 0, "malformed": 0,
    "refused": 0, "unwritten": 0, "historyDropped": 0, "negative": 0, "overflow": 0, "stallMs": 800,
    "stallAtS": 12, "oddPartitions": [], "latencies": [], "behindS": 0, "behindBeforeS": 0,
}  # fmt: skip


def found(call: Call, **changed: Any) -> list[tuple[str, str, str]]:
    facts = {**GOOD, **changed}
    return [
        (finding["level"], finding["text"], finding["page"])
        for finding in call("rules.js", "(rules, facts) => rules.findings(facts)", facts)
    ]


def test_run_that_went_well_has_nothing_out_of_the_ordinary(call: Call) -> None:
    assert found(call) == []


CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "failed checks": (
        {"verdict": "void", "failedChecks": [
            {"check": "late_generator", "text": "the generator was late", "cause": "rig"},
            {"check": "missing", "text": "3 alerts are missing", "cause": "system"},
            {"check": "broke_off", "text": "the run broke off", "cause": ""},
        ]},
        [("problem", "the generator was late (the rig's doing).", "overview"),
         ("problem", "3 alerts are missing (the system's doing).", "overview"),
         ("problem", "the run broke off.", "overview")],
    ),
    "uneven partitions": (
        {"oddPartitions": ["trips/1 lags: 900 messages are behind, 40 in the others."]},
        [("note", "trips/1 lags: 900 messages are behind, 40 in the others.", "pipeline")],
    ),
    "few late frames": (
        {"framesLate": 17},
        [("note", "17 frames of 60,000 (0.03%) left more than 10.0 ms after their plan; the run allows 0.10%.",
          "computations/send_all")],
    ),
    "many late frames": (
        {"framesLate": 900},
        [("problem", "900 frames of 60,000 (1.5%) left more than 10.0 ms after their plan; the run allows 0.10%.",
          "computations/send_all")],
    ),
    "many late frames, which the verdict has judged": (
        {"framesLate": 900, "verdict": "passed"},
        [("note", "900 frames of 60,000 (1.5%) left more than 10.0 ms after their plan; the run allows 0.10%.",
          "computations/send_all")],
    ),
    "many late frames of a run without limits": (
        {"framesLate": 900, "limits": {}},
        [("note", "900 frames of 60,000 (1.5%) left late.", "computations/send_all")],
    ),
    "silent source": (
        {"sources": [{**SOURCE, "silentMs": 12_300}]},
        [("note", "job has pushed nothing for 12 s.", "workers/job")],
    ),
    "silent source of a finished run": ({"live": False, "sources": [{**SOURCE, "silentMs": 12_300}]}, []),
    "lost pushes": (
        {"sources": [{**SOURCE, "missing": 10, "dropped": 3}]},
        [("problem", "job: 10 pushes missing, 3 pushes dropped by the source; its figures lack what they held.",
          "aggregator")],
    ),
    "as few lost pushes as the run allows": (
        {"sources": [{**SOURCE, "missing": 4}]},
        [("note", "job: 4 pushes missing; its figures lack what they held.", "aggregator")],
    ),
    "lost pushes, which the verdict has judged": (
        {"sources": [{**SOURCE, "missing": 10}], "verdict": "passed"},
        [("note", "job: 10 pushes missing; its figures lack what they held.", "aggregator")],
    ),
    "clock of the only host": ({"sources": [{**SOURCE, "synchronised": False, "clockErrorUs": 16_000_000}]}, []),
    "coarse clock of the only host": ({"sources": [{**SOURCE, "clockErrorUs": 9_500}]}, []),
    "clock of a host that nobody names": ({"sources": [{**SOURCE, "synchronised": False}], "hosts": 0}, []),
    "clock not synchronised": (
        {"hosts": 2, "sources": [{**SOURCE, "synchronised": False, "clockErrorUs": 16_000_000}]},
        [("note", "job: its clock is not synchronised; the kernel bounds its error by 16.00 s.", "pipeline")],
    ),
    "clock not known": (
        {"hosts": 2, "sources": [{**SOURCE, "synchronised": False, "clockErrorUs": -1}]},
        [("note", "job: its clock is not synchronised.", "pipeline")],
    ),
    "clock coarser than the latency": (
        {"hosts": 2, "sources": [{**SOURCE, "clockErrorUs": 9_500}]},
        [("note", "job: its clock may be wrong by 9.50 ms, more than the p50 of 9.00 ms.", "pipeline")],
    ),
    "restarts": (
        {"queryRestarts": 2, "sources": [{**SOURCE, "restarts": 1}]},
        [("note", "The query was started again 2 times after a failure.", "workers"),
         ("note", "job was started again once.", "workers/job")],
    ),
    "duplicates": (
        {"alertsDuplicated": 1, "sources": [{**SOURCE, "duplicates": 4}]},
        [("note", "1 alert came again; the first of each order counts.", "computations/deliver"),
         ("note", "4 pushes came again and were left out.", "aggregator")],
    ),
    "malformed": (
        {"malformed": 12, "alertsUnreadable": 1},
        [("problem", "12 messages malformed, reported to the topic invalid.", "computations/compute"),
         ("problem", "1 record of the alerts topic is no alert.", "computations/deliver")],
    ),
    "refused pushes": (
        {"refused": 1, "unwritten": 2},
        [("problem", "1 push refused as wrong; the log of the source says why.", "aggregator"),
         ("problem", "2 pushes could not be written down; the source tries again.", "aggregator")],
    ),
    "history": (
        {"historyDropped": 5},
        [("note", "5 intervals of the history made room for others; totals have them.", "aggregator")],
    ),
    "lost messages": ({"failed": 3}, [("problem", "3 messages lost: the broker did not take them.", "workers")]),
    "stall": (
        {"stallMs": 4_200, "stallAtS": 67},
        [("problem", "No alert came for 4.2 s, from 1:07 on; the run allows 2 s.", "pipeline")],
    ),
    "stall that the verdict has judged": (
        {"stallMs": 4_200, "stallAtS": 67, "verdict": "passed"},
        [("note", "No alert came for 4.2 s, from 1:07 on; the run allows 2 s.", "pipeline")],
    ),
    "stall that the run allows": ({"stallMs": 4_200, "limits": {**LIMITS, "stall_us": 5_000_000}}, []),
    "stall of a run without limits": ({"stallMs": 4_200, "limits": {}}, []),
    "values out of range": (
        {"negative": 1, "overflow": 2},
        [("problem", "2 values above 1 hour counted as 1 hour.", "pipeline"),
         ("note", "1 value below zero counted as 0: a clock was moved.", "pipeline")],
    ),
    "slow so far": (
        {"latencies": [{"name": "p99", "us": 120_000, "limitUs": 98_000}, {"name": "max", "us": None, "limitUs": 9}]},
        [("problem", "p99 is 120.0 ms so far; the run allows 98.0 ms.", "pipeline")],
    ),
    "falling behind": (
        {"behindS": 6.2, "behindBeforeS": 3.1},
        [("problem", "Processing is 6.2 s of load behind, 3.1 s a while before: it does not keep up.", "pipeline")],
    ),
    "values out of range of clocks of two hosts": (
        {"negative": 1, "hosts": 2},
        [("note", "1 value below zero counted as 0: clocks disagree.", "pipeline")],
    ),
    "what no limit allows, and the verdict did not mind": (
        {"verdict": "passed", "refused": 1, "unwritten": 1, "overflow": 1},
        [("note", "1 push refused as wrong; the log of the source says why.", "aggregator"),
         ("note", "1 push could not be written down; the source tries again.", "aggregator"),
         ("note", "1 value above 1 hour counted as 1 hour.", "pipeline")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rule_says_what_is_out_of_the_ordinary(case: str, call: Call) -> None:
    changed, expected = CASES[case]

    assert found(call, **changed) == expected


def test_every_rule_has_a_case(call: Call) -> None:
    names = call("rules.js", "(rules) => rules.RULES.map((rule) => rule.name)")
    said = call(
        "rules.js",
        """(rules, all) => rules.RULES.filter((rule) => all.some((facts) => rule(facts).length > 0))
             .map((rule) => rule.name)""",
        [{**GOOD, **changed} for changed, _ in CASES.values()],
    )

    assert said == names


# What the aggregator says of a run, told by its own API.

BEGIN_NS = 1_764_000_000 * 10**9
SECOND_NS = 10**9
FOUND = """async (rules, data) => {
  const names = ["model", "view", "facts", "range"];
  const [{RunModel}, {View}, {factsOf}, {JUDGED, resolve}] =
    await Promise.all(names.map((name) => import(`/src/${name}.js`)));
  const model = new RunModel(data);
  const span = model.span();
  const view = new View(model, resolve(JUDGED, span, model.judged), span);
  return rules.findings(factsOf(view)).map(({level, text}) => [level, text]);
}"""


def note(kind: str, name: str, second: int, **more: Any) -> NoteRequest:
    return NoteRequest(run_id="r1", unix_ns=BEGIN_NS + second * SECOND_NS, kind=kind, name=name, **more)


def pushed(source: str, second: int, host: str, **counters: float) -> PushRequest:
    labels = {FRAMES_SENT.name: {"topic": "orders", "partition": "0"}, ALERTS.name: {"phase": "measured"}}
    return PushRequest(
        source=source, epoch_unix_ns=BEGIN_NS, sequence=second + 1, run_id="r1", host=host,
        start_unix_ns=BEGIN_NS + second * SECOND_NS, end_unix_ns=BEGIN_NS + (second + 1) * SECOND_NS,
        clock_error_us=-1, clock_synchronised=False,
        counters=[
            Sample(key=SeriesKey(name=name, labels=labels.get(name, {})), value=value)
            for name, value in counters.items()
        ],
    )  # fmt: skip


def said(
    call: Call, limits: RunLimits | None, *, verdict: NoteRequest | None = None, hosts: tuple[str, str] = ("a", "a")
) -> list[tuple[str, str]]:
    """Of a run of a minute whose sender was late with 553 frames of 59,821, and whose alerts paused for 3 s."""
    store = Store(clock=ManualClock(unix_ns=BEGIN_NS + 61 * SECOND_NS))
    if limits is not None:
        store.note(note("limits", "quick", 0, limits=limits))
    store.note(note("phase", "measuring", 0))
    for second in range(60):
        sent = {FRAMES_SENT.name: 59_821 * (second + 1) / 60, FRAMES_LATE.name: 553 * (second + 1) / 60}
        store.push(pushed("sender", second, hosts[0], **sent))
        alerts = {ALERTS.name: 200 * (second + 1 - min(3, max(0, second - 29)))}
        store.push(pushed("receiver", second, hosts[1], **alerts))
    if verdict is not None:
        store.note(verdict)
    run = store.run("r1")
    assert run is not None
    copied = copy_of(run, now_unix_ns=BEGIN_NS + 61 * SECOND_NS, tick=1, aggregator=aggregator_view(store))
    data = json.loads(data_json(copied, Range(), points=1_000))
    return [(level, text) for level, text in call("rules.js", FOUND, data)]


PASSED = note("verdict", "passed", 61, judgement=Judgement())
ALLOWED = RunLimits(late_us=250_000, late_share_max=0.01, stall_us=5_000_000)
LATE = "553 frames of 59,821 (0.92%) left more than 250.0 ms after their plan; the run allows "


@pytest.mark.parametrize("verdict", [None, PASSED], ids=["live", "passed"])
def test_what_the_run_allows_is_no_problem(call: Call, verdict: NoteRequest | None) -> None:
    assert said(call, ALLOWED, verdict=verdict) == [("note", f"{LATE}1.0%.")]


def test_what_the_run_does_not_allow_is_a_problem_while_it_goes_on(call: Call) -> None:
    strict = RunLimits(late_us=250_000, late_share_max=0.001, stall_us=2_000_000)

    assert said(call, strict) == [
        ("problem", "No alert came for 3 s, from 0:30 on; the run allows 2 s."),
        ("problem", f"{LATE}0.10%."),
    ]


def test_a_void_run_has_what_its_verdict_says_as_a_problem(call: Call) -> None:
    strict = RunLimits(late_us=250_000, late_share_max=0.001)
    failed = FailedCheck(check="late_generator", text="the generator was late: 553 frames", cause="rig")
    verdict = note("verdict", "void", 61, judgement=Judgement(failed=[failed]))

    assert said(call, strict, verdict=verdict) == [
        ("problem", "the generator was late: 553 frames (the rig's doing)."),
        ("note", f"{LATE}0.10%."),
    ]


def test_without_limits_nothing_is_a_problem(call: Call) -> None:
    assert said(call, None) == [("note", "553 frames of 59,821 (0.92%) left late.")]


def test_clocks_are_told_of_where_there_are_two(call: Call) -> None:
    assert said(call, ALLOWED, hosts=("a", "b"))[1:] == [
        ("note", "receiver: its clock is not synchronised."),
        ("note", "sender: its clock is not synchronised."),
    ]
