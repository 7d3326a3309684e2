from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.views.output import judgement_page, terminal_view, verdict_of
from market_spread.loadgen.oracle.oracle import Judgement

GOOD = Judgement(
    orders=3_000, expected=600, accepted=150, received=600, missing=0, unexpected=0, duplicated=0,
    replayed=7, disagreeing=2,
    wrong=0, stale=3, undecided=0, unchecked=0, delay_us=200,
    sentences={"missing": (), "unexpected": (), "duplicated": (), "wrong": ()},
)  # fmt: skip
UNCHECKED = replace(GOOD, expected=10, undecided=90, unchecked=90)


@pytest.mark.parametrize("fault", ["missing", "unexpected", "wrong", "duplicated"])
@pytest.mark.parametrize("judgement", [GOOD, UNCHECKED, replace(GOOD, orders=0)])
def test_fault_is_certain_whatever_else_cannot_be_judged(judgement: Judgement, fault: str) -> None:
    changes: dict[str, Any] = {fault: 1}
    assert verdict_of(replace(judgement, **changes)) is Verdict.FAILED


def test_without_a_fault_the_input_must_allow_a_judgement() -> None:
    assert verdict_of(GOOD) is Verdict.PASSED
    assert verdict_of(UNCHECKED) is Verdict.VOID
    assert verdict_of(replace(GOOD, orders=0)) is Verdict.VOID


def test_what_is_excused_is_told() -> None:
    text = StringIO()

    Console(file=text, width=120).print(terminal_view(judgement_page(GOOD)))

    lines = [line.split() for line in text.getvalue().splitlines() if line.strip()]
    counts = {line[0]: line[-1] for line in lines}
    assert lines[0] == ["PASSED"]
    assert (counts["replayed"], counts["stale"]) == ("7", "3")
