"""Change points, and histories of runs."""

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.compare.figures import Figure
from market_spread.controller.compare.history import by_anchor, history_of, trends_of
from market_spread.controller.compare.runs import RecordedRun
from market_spread.controller.statistics import inference as module
from market_spread.controller.views.output import markdown_view
from tests.unit.controller.compare.run_fixtures import run

P99 = Figure("latency_ns.p99", "latency p99", "ms", 1e6)
changes_of = partial(module.change_points, significance=module.SIGNIFICANCE)


def noisy(*levels: tuple[float, int], noise: float = 0.03, seed: int = 2) -> list[float]:
    """So many values around each level."""
    means = np.concatenate([np.full(count, level) for level, count in levels])
    return [float(each) for each in means * np.exp(np.random.default_rng(seed).normal(0, noise, len(means)))]


def change_points(values: Sequence[float], *, least_share: float, memory_min: float = module.MEMORY_MIN) -> list[int]:
    """Of one series."""
    return changes_of([values], least_shares=[least_share], memory_min=memory_min)[0]


def runs_of(values: Sequence[float]) -> list[RecordedRun]:
    return [run(number, {P99.path: value * 1e6}) for number, value in enumerate(values)]


def test_a_step_is_found_where_it_is() -> None:
    assert change_points(noisy((20, 20), (24, 20)), least_share=0.05) == [20]


def test_several_steps_are_found() -> None:
    assert change_points(noisy((20, 15), (26, 15), (17, 15)), least_share=0.05, memory_min=0.0) == [15, 30]


def test_a_change_that_goes_back_is_found() -> None:
    assert change_points(noisy((20, 20), (26, 10), (20, 20)), least_share=0.05, memory_min=0.0) == [20, 30]


def test_a_change_that_does_not_matter_does_not_count() -> None:
    values = noisy((20, 30), (20.8, 30), noise=0.005)

    assert change_points(values, least_share=0.05) == []
    assert change_points(values, least_share=0.01) == [30]


def test_one_run_that_stands_out_is_no_change() -> None:
    values = noisy((20, 30))
    values[12] = 60

    assert change_points(values, least_share=0.05) == []


def test_same_values_give_the_same_answer() -> None:
    values = noisy((20, 12), (26, 12))

    assert change_points(values, least_share=0.02) == change_points(values, least_share=0.02)


def test_nine_values_are_too_few() -> None:
    assert change_points([1.0] * 4 + [9.0] * 5, least_share=0.05) == []
    assert change_points([], least_share=0.05) == []


def test_equal_values_have_no_change() -> None:
    assert change_points([20.0] * 30, least_share=0.05) == []


def test_noise_alone_seldom_changes() -> None:
    falsely = sum(bool(change_points(noisy((20, 30), noise=0.1, seed=seed), least_share=0.01)) for seed in range(100))

    assert falsely <= 4


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "at_least"), [(0.03, 34)])
def test_a_tenth_slower_is_found_in_most_histories(noise: float, at_least: int) -> None:
    found = sum(
        any(
            abs(at - 15) <= 2
            for at in change_points(noisy((20, 15), (22, 15), noise=noise, seed=seed), least_share=0.05)
        )
        for seed in range(40)
    )

    assert found >= at_least


def test_trend_names_the_first_run_after_the_change() -> None:
    (trend,) = trends_of(runs_of(noisy((20, 10), (25, 10))), (P99,))

    (change,) = trend.changes
    assert (change.before_run.run_id, change.run.run_id) == ("run-9", "run-10")
    assert change.shift == pytest.approx(0.25, abs=0.05)


def test_figures_are_tested_together_and_each_has_its_own_changes() -> None:
    steady, step = noisy((20, 30), seed=3), noisy((20, 15), (30, 15), seed=4)

    assert changes_of([steady, step], least_shares=[0.05, 0.05], memory_min=module.MEMORY_MIN) == [[], [15]]


def test_a_change_of_the_machine_is_none_by_the_anchor() -> None:
    machine = noisy((20, 15), (28, 15), noise=0.02)
    runs = [run(2 * at, {P99.path: level * 1e6}) for at, level in enumerate(machine)]
    anchors = [run(2 * at + 1, {P99.path: level * 3e5}, workload="null") for at, level in enumerate(machine)]

    (plain,) = trends_of(runs, (P99,))
    (by_its,) = trends_of(*by_anchor(runs, anchors, (P99,)), memory_min=0.0)

    assert len(plain.changes) == 1
    assert by_its.changes == ()
    assert by_its.values[7] == pytest.approx(20 / 6, rel=0.05)
    assert by_its.figure.title == "latency p99, by the anchor's"


def test_a_change_of_the_code_stays_one_by_the_anchor() -> None:
    runs = runs_of(noisy((20, 10), (25, 10)))
    anchors = [run(0, {P99.path: 1e6})]

    (trend,) = trends_of(*by_anchor(runs, anchors, (P99,)), memory_min=0.0)

    assert [change.run.run_id for change in trend.changes] == ["run-10"]


def test_an_anchor_without_the_figure_tells_nothing_of_it() -> None:
    """Its values are known up to the middle, and the machine became slower then."""
    runs = [run(2 * number, {P99.path: value * 1e6}) for number, value in enumerate(noisy((20, 10), (40, 10)))]
    anchors = [
        run(2 * number + 1, {P99.path: 1e6} if number < 9 else {}, workload="null") for number in range(len(runs))
    ]

    text = markdown_view(history_of(runs, (P99,), anchors=anchors)[0])

    assert "undecided, as no anchor was run after it" in text


def test_a_figure_that_no_anchor_has_is_left_out() -> None:
    assert by_anchor(runs_of([20.0]), [run(0)], (P99,))[1] == ()


def test_figures_that_no_run_has_have_no_trend() -> None:
    assert trends_of(runs_of([20.0]), (Figure("boundaries", "boundaries"),)) == ()


def test_page_tells_what_changed_with_the_figure() -> None:
    runs = [
        run(number, {P99.path: value * 1e6}, facts={"code.git_commit": "aaa" if number < 10 else "bbb"})
        for number, value in enumerate(noisy((20, 10), (25, 10)))
    ]

    text = markdown_view(
        history_of(runs, (P99,), left_out=[run(0, void_reasons=("late",)), run(1, wrong_reasons=("wrong",))])[0]
    )

    assert "**1 change in 20 runs**" in text
    assert "latency p99 undecided, the machine's or the code's: +" in text
    assert "from run run-10 on: " in text
    assert "; there changed code.git_commit aaa → bbb" in text
    assert "* left out as void: 1 run; the first is run-0: late" in text
    assert "* left out for wrong alerts: 1 run; the first is run-1: wrong" in text
    assert "* a change of the machine looks like one of the code here: " in text


def test_page_has_a_table_for_each_workload() -> None:
    runs = [run(0, {P99.path: 2e7}, workload="steady"), run(1, {P99.path: 3e7})]

    text = markdown_view(history_of(runs, (P99,))[0])

    assert "**0 changes in 2 runs**" in text
    assert "quick, 1 run from 2026-01-01T00:01:00+00:00" in text
    assert "| latency p99, ms | ▁ | 20 | 20 | 20 | 0 |" in text
    assert "* 1 run; a change is looked for from 10 on" in text


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ((0, 19), "worse by +"), ((3, 12), "worse by +"), ((3,), "undecided, as no anchor was run after it, between "),
        ((9,), "undecided, as no anchor was run after it, between "),
        ((12, 15), "undecided, as no anchor was run before it, between "),
    ],
)  # fmt: skip
def test_a_change_by_the_anchor_is_called_worse_if_the_anchor_was_run_on_both_sides(
    at: tuple[int, ...], said: str
) -> None:
    """Else a machine that became slower looks like that as well: the anchor was not asked then."""
    runs = runs_of(noisy((20, 10), (25, 10)))
    anchors = [run(number, {P99.path: 1e6}, workload="null") for number in at]

    text = markdown_view(history_of(runs, (P99,), anchors=anchors)[0])

    assert f"latency p99, by the anchor's {said}" in text
    assert ("undecided" in text) is said.startswith("undecided")


@pytest.mark.parametrize(
    ("after", "higher", "word"), [(25, False, "worse"), (16, False, "better"), (25, True, "better")]
)
def test_which_change_is_better_is_the_figures(after: int, higher: bool, word: str) -> None:
    figure = replace(P99, higher_is_better=higher)
    anchors = [run(number, {P99.path: 1e6}, workload="null") for number in (0, 19)]

    text = markdown_view(history_of(runs_of(noisy((20, 10), (after, 10))), (figure,), anchors=anchors)[0])

    assert f"by the anchor's {word} by " in text


def test_a_count_that_no_machine_changes_is_called_worse_without_an_anchor() -> None:
    lost = Figure("messages_lost", "messages_lost")
    runs = [run(number, {lost.path: value}) for number, value in enumerate(noisy((20, 10), (25, 10)))]

    assert "messages_lost worse by +" in markdown_view(history_of(runs, (lost,))[0])


def test_failed_runs_are_marked() -> None:
    runs = runs_of([20.0, 21.0, 22.0])
    runs[1] = dataclasses.replace(runs[1], verdict=Verdict.FAILED, reasons=("p99 is 21 ms",))

    text = markdown_view(history_of(runs, (P99,))[0])

    assert "* 1 of 3 runs of quick failed: p99 is 21 ms" in text
