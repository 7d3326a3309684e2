"""Every rule of what is out of the ordinary: what it says, and that it says nothing of a run that went well."""

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]

SOURCE = {
    "source": "job", "silentMs": 400, "missing": 0, "dropped": 0, "duplicates": 0, "clockErrorUs": 900,
    "synchronised": True, "restarts": 0,
}  # fmt: skip
GOOD = {
    "live": True, "seconds": 60, "framesSent": 60_000, "framesLate": 0, "failed": 0, "offeredPerS": 20_000,
    "lag": [{"s": s, "messages": 3_000 + 500 * (s % 3)} for s in range(60)], "sources": [SOURCE],
    "count": 12_000, "p50Us": 9_000, "queryRestarts": 0, "alertsDuplicated": 0, "alertsUnreadable": 0, "malformed": 0,
    "refused": 0, "unwritten": 0, "historyDropped": 0, "negative": 0, "overflow": 0, "standstillMs": 800,
    "standstillAtS": 12,
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
    "few late frames": (
        {"framesLate": 17},
        [("note", "17 frames of 60,000 (0.03%) left more than 10 ms after their plan.", "computations/send_all")],
    ),
    "many late frames": (
        {"framesLate": 900},
        [("trouble", "900 frames of 60,000 (1.5%) left more than 10 ms after their plan: the load was not quite what "
          "it should have been.", "computations/send_all")],
    ),
    "growing lag": (
        {"lag": [{"s": s, "messages": 1_000 * s} for s in range(60)]},
        [("trouble", "The lag grows by 1,000 messages/s, 5.0% of what is offered; 59,000 messages wait, 3.0 s of load.",
          "computations/ingest")],
    ),
    "lag that is worked off": ({"lag": [{"s": s, "messages": 60_000 - 1_000 * s} for s in range(60)]}, []),
    "silent source": (
        {"sources": [{**SOURCE, "silentMs": 12_300}]},
        [("trouble", "job has pushed nothing for 12 s.", "workers/job")],
    ),
    "silent source of a finished run": ({"live": False, "sources": [{**SOURCE, "silentMs": 12_300}]}, []),
    "lost pushes": (
        {"sources": [{**SOURCE, "missing": 1, "dropped": 3}]},
        [("trouble", "job: 1 push missing, 3 pushes dropped by the source; its figures lack what they held.",
          "aggregator")],
    ),
    "clock not synchronised": (
        {"sources": [{**SOURCE, "synchronised": False, "clockErrorUs": 16_000_000}]},
        [("note", "job: its clock is not synchronised; the kernel bounds its error by 16.00 s.", "pipeline")],
    ),
    "clock not known": (
        {"sources": [{**SOURCE, "synchronised": False, "clockErrorUs": -1}]},
        [("note", "job: its clock is not synchronised.", "pipeline")],
    ),
    "clock coarser than the latency": (
        {"sources": [{**SOURCE, "clockErrorUs": 9_500}]},
        [("note", "job: its clock may be wrong by 9.50 ms, more than the p50 of 9.00 ms.", "pipeline")],
    ),
    "restarts": (
        {"queryRestarts": 2, "sources": [{**SOURCE, "restarts": 1}]},
        [("trouble", "The query was started again 2 times after a failure.", "workers"),
         ("note", "job was started again once.", "workers/job")],
    ),
    "duplicates": (
        {"alertsDuplicated": 1, "sources": [{**SOURCE, "duplicates": 4}]},
        [("note", "1 alert came again; the first of each order counts.", "computations/deliver"),
         ("note", "4 pushes came again and were left out.", "aggregator")],
    ),
    "malformed": (
        {"malformed": 12, "alertsUnreadable": 1},
        [("trouble", "1 record of the alerts topic is no alert.", "computations/deliver"),
         ("note", "12 messages malformed, reported to the topic invalid.", "computations/compute")],
    ),
    "refused pushes": (
        {"refused": 1, "unwritten": 2},
        [("trouble", "1 push refused as wrong; the log of the source says why.", "aggregator"),
         ("trouble", "2 pushes could not be written down; the source tries again.", "aggregator")],
    ),
    "history": (
        {"historyDropped": 5},
        [("note", "5 intervals of the history made room for others; totals have them.", "aggregator")],
    ),
    "lost messages": ({"failed": 3}, [("trouble", "3 messages lost: the broker did not take them.", "workers")]),
    "standstill": (
        {"standstillMs": 4_200, "standstillAtS": 67},
        [("trouble", "No alert came for 4.2 s, from 1:07 on.", "pipeline")],
    ),
    "values out of range": (
        {"negative": 1, "overflow": 2},
        [("trouble", "2 values above 1 hour counted as 1 hour.", "pipeline"),
         ("note", "1 value below zero counted as 0: clocks disagree.", "pipeline")],
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
