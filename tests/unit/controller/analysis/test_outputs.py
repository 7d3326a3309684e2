"""Right outputs pass; each kind of wrong one is told from the others."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from market_spread.common.wire.layout import OUTPUTS_OF_TOPIC
from market_spread.controller.analysis.observed import CpuReading, Observed, reads_max_of
from market_spread.controller.analysis.outputs import comparable, counted, judge_checked, judge_counts
from market_spread.loadgen.columns import Alerts
from tests.support.judging import is_right


def test_one_output_a_message_is_right_in_any_order() -> None:
    judgement = judge_counts(4, np.array([2, 0, 3, 1]), [True], ["out"])
    assert is_right(judgement)
    assert (judgement.expected, judgement.received) == (4, 4)


def test_lost_doubled_and_unknown_outputs_are_counted_apart() -> None:
    judgement = judge_counts(4, np.array([0, 2, 2, 2, 9]), [True], ["out"])
    assert (judgement.missing, judgement.duplicated, judgement.unexpected, judgement.wrong) == (2, 2, 1, 0)
    assert judgement.sentences["missing"] == ("message 1 has no output", "message 3 has no output")
    assert judgement.sentences["duplicated"] == ("message 2 has 3 outputs instead of one",)


def test_what_is_missing_was_due_between_what_is_there() -> None:
    answered = np.array([0, 1, 1, 4, 5, 9])
    missed = judge_counts(10, answered, [True], ["out"], due_us=answered * 1_000 + 7).missing_us
    assert missed == (2_007, 3_007, 6_007, 7_007, 8_007)
    assert judge_counts(2, np.empty(0, np.int64), [True], ["out"], due_us=np.empty(0, np.int64)).missing_us == ()


def test_where_any_number_is_right_only_unknown_ones_are_wrong() -> None:
    assert is_right(judge_counts(4, np.array([2, 2]), [False], ["out"]))
    assert not is_right(judge_counts(4, np.array([4]), [False], ["out"]))


def test_of_several_topics_each_is_judged_by_itself_and_named() -> None:
    """The first is to have one output of each message, the second one any number."""
    answered = np.array([0, 0, 1, OUTPUTS_OF_TOPIC + 1, OUTPUTS_OF_TOPIC + 1, OUTPUTS_OF_TOPIC + 5])
    judgement = judge_counts(3, answered, [True, False], ["fares", "audit"])
    assert (judgement.missing, judgement.duplicated, judgement.unexpected) == (1, 1, 1)
    assert judgement.sentences == {
        "missing": ("message 2 has no output in fares",),
        "duplicated": ("message 0 has 2 outputs in fares instead of one",),
        "unexpected": ("an output in audit names message 5, which was not sent",),
    }
    right, got = counted([(0, "a"), (OUTPUTS_OF_TOPIC, "b")]), counted([(0, "b"), (OUTPUTS_OF_TOPIC, "b")])
    assert judge_checked(1, right, got, ["fares", "audit"]).sentences == {
        "wrong": ("message 0 has the output b in fares instead of a",)
    }


RIGHT = counted([(0, "a"), (1, "b"), (1, "c"), (2, "d")])


def test_by_a_check_the_right_outputs_are_right() -> None:
    judgement = judge_checked(4, RIGHT, counted([(1, "c"), (0, "a"), (1, "b"), (2, "d")]), ["out"])
    assert is_right(judgement)
    assert judgement.expected == 4


@pytest.mark.parametrize(
    ("got", "kind", "sentence"),
    [
        ([(0, "a"), (1, "b"), (2, "d")], "missing", "message 1 lacks the output c"),
        ([(0, "x"), (1, "b"), (1, "c"), (2, "d")], "wrong", "message 0 has the output x instead of a"),
        (
            [(0, "a"), (0, "a"), (1, "b"), (1, "c"), (2, "d")],
            "duplicated",
            "message 0 has the output a once more than is right",
        ),
        (
            [(0, "a"), (1, "b"), (1, "c"), (2, "d"), (3, "e")],
            "unexpected",
            "message 3 has the output e, and is to have none",
        ),
    ],
)
def test_by_a_check_each_fault_is_told_from_the_others(got: list[tuple[int, str]], kind: str, sentence: str) -> None:
    judgement = judge_checked(4, RIGHT, counted(got), ["out"])
    faults = {each: getattr(judgement, each) for each in ("missing", "wrong", "duplicated", "unexpected")}
    assert faults == {**dict.fromkeys(faults, 0), kind: 1}
    assert judgement.sentences == {kind: (sentence,)}


def test_a_doubled_output_is_no_substitute_for_a_missing_one() -> None:
    judgement = judge_checked(4, counted([(1, "b"), (1, "c")]), counted([(1, "b"), (1, "b")]), ["out"])
    assert (judgement.missing, judgement.duplicated, judgement.wrong) == (1, 1, 0)


def restarted(restarts: int, *, seen_s: float | None) -> Observed:
    """Messages 0 to 9, due each second from 0 s on; the system goes on after its last restart at seen_s."""
    numbers = np.arange(10)
    columns: dict[str, Any] = {each.name: np.zeros(10, np.int64) for each in fields(Alerts)}
    alerts = Alerts(**{**columns, "order_id": numbers, "intended_us": numbers * 1_000_000})
    looks = [CpuReading(0, 0, 0, 0, None, None, 0)]
    if seen_s is not None:
        looks.append(CpuReading(int(seen_s * 1e9), 1, 1, 0, None, None, restarts))
    observed = Observed(started=datetime(2026, 1, 1, tzinfo=UTC), alerts=alerts, looks=tuple(looks))
    observed.job_restarts = restarts
    return observed


def test_after_a_restart_what_was_due_before_it_may_come_again_and_nothing_else() -> None:
    """One restart forgives no system that answers everything twice, nor one that answers a message ten times."""
    reads_max = reads_max_of(restarted(1, seen_s=4))

    again = judge_counts(10, np.array([*range(10), 2, 3, 5]), [True], ["out"], reads_max)
    assert (is_right(again), again.replayed, again.duplicated) == (True, 3, 0)
    each_twice = judge_counts(10, np.repeat(np.arange(10), 2), [True], ["out"], reads_max)
    assert (each_twice.replayed, each_twice.duplicated) == (6, 4)
    often = judge_counts(10, np.array([*range(10), *[2] * 9]), [True], ["out"], reads_max)
    assert (often.replayed, often.duplicated) == (0, 9)

    right = counted((number, "a") for number in range(10))
    got = counted((number, "a") for number in [*range(10), 2, 3, 5, 8, *[4] * 4])
    checked = judge_checked(10, right, got, ["out"], None, reads_max)
    assert (checked.replayed, checked.duplicated) == (3, 5)


def test_where_it_cannot_be_told_when_a_system_went_on_all_may_come_again() -> None:
    each_twice = np.repeat(np.arange(10), 2)
    assert judge_counts(10, each_twice, [True], ["out"], reads_max_of(restarted(2, seen_s=None))).replayed == 10
    assert judge_counts(10, each_twice, [True], ["out"], reads_max_of(restarted(0, seen_s=4))).duplicated == 10


def test_json_is_compared_by_what_it_says_and_all_else_to_the_byte() -> None:
    assert comparable(b'{"a": 1, "b": [2]}') == comparable({"b": [2], "a": 1})
    assert comparable(b'{"a":1}') != comparable(b'{"a":2}')
    assert comparable(b'{"a":2, "a":1}') != comparable(b'{"a":1}')
    assert comparable(b"1.0") != comparable(b"1")
    assert comparable(b"a ") != comparable(b"a")
    assert comparable("é") == comparable("é".encode())
    assert comparable(b"\xff") != comparable(b"\xfe")


def test_it_is_said_when_the_messages_were_due_that_lack_an_output() -> None:
    judgement = judge_checked(4, RIGHT, counted([(0, "a")]), ["out"], {0: 10, 1: 20, 2: 30, 3: 40})

    assert judgement.missing == len(judgement.missing_us)
    assert set(judgement.missing_us) == {20, 30}
