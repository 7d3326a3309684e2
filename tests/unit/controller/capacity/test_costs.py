"""Costs that are fitted: those that are known are found again, and a wrong model shows in runs that it has not seen."""

from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.capacity import plan as module
from market_spread.controller.capacity.plan import SHIPPED, TERMS, Costs, Model, read
from tests.unit.controller.capacity.synthetic import CUTS, SECONDS, cores, load, observation, observations

MILLIONS = load(3_000_000, 220, 900, 5, 35_000, 8, 16)


@pytest.mark.parametrize("process", TERMS)
def test_known_costs_are_found_again(process: str) -> None:
    found = Costs.fit(process, observations()[: len(CUTS)])

    assert found.seconds == pytest.approx(SECONDS[process], rel=1e-6)
    assert found.cores(MILLIONS) == pytest.approx([cores(MILLIONS, process)] * 3, rel=1e-3)


@pytest.mark.parametrize("process", TERMS)
def test_run_in_a_slow_moment_does_not_move_the_fit(process: str) -> None:
    speeds = [1.0] * len(CUTS)
    speeds[4] = 3.0

    found = Costs.fit(process, observations(speeds)[: len(CUTS)])

    assert found.cores(load(*CUTS[0]))[0] == pytest.approx(cores(load(*CUTS[0]), process), rel=0.03)
    assert found.seconds[-1] == pytest.approx(SECONDS[process][-1], rel=0.05)


def test_machine_that_drifts_widens_the_interval_and_leaves_the_cost_in_it() -> None:
    drift = 1 + 0.2 * np.sin(np.arange(len(CUTS)) * 1.7)
    steady, drifting = (Costs.fit("job", observations(list(speeds))[: len(CUTS)]) for speeds in ([1.0] * 12, drift))

    value, low, high = drifting.cores(load(*CUTS[3]))

    assert value == pytest.approx(cores(load(*CUTS[3]), "job"), rel=0.15)
    assert low < cores(load(*CUTS[3]), "job") < high
    assert high - low > 5 * np.ptp(steady.cores(load(*CUTS[3])))


@pytest.mark.statistical
def test_interval_holds_the_cost_of_a_run_as_often_as_it_says() -> None:
    chance, held = np.random.default_rng(7), 0
    for _ in range(40):
        speeds = np.exp(0.08 * chance.normal(size=len(CUTS)))
        _, low, high = Costs.fit("broker", observations(list(speeds))[: len(CUTS)]).cores(load(*CUTS[2]))
        held += low <= cores(load(*CUTS[2]), "broker") * np.exp(0.08 * chance.normal()) <= high

    assert held >= 33


def test_residuals_make_up_for_the_terms_that_were_fitted_to_them() -> None:
    runs = observations([1 + 0.1 * (-1) ** place for place in range(len(CUTS))])[: len(CUTS)]

    found = Costs.fit("job", runs)

    off = np.array([1 - found.cores(run.load)[0] / run.cores["job"] for run in runs])
    assert found.residuals == pytest.approx(off * np.sqrt(len(runs) / (len(runs) - len(TERMS["job"]))))


def test_no_cost_is_less_than_nothing() -> None:
    speeds = [1.0 if cut[1] <= 1000 else 0.5 for cut in CUTS]

    found = Costs.fit("job", observations(speeds)[: len(CUTS)])

    assert (found.seconds >= 0).all()
    assert (found.draws >= 0).all()


def test_wrong_model_shows_in_the_held_out_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = observations()
    right = Model.fit(runs, "real-time")
    monkeypatch.setitem(module.TERMS, "job", ("always", "messages_per_s"))
    wrong = Model.fit(runs, "real-time")

    assert max(map(abs, right.errors("job"))) < 1e-6
    assert max(map(abs, wrong.errors("job"))) > 0.15


def test_held_out_runs_are_no_part_of_the_fit() -> None:
    spoiled = [
        observation(each.load, 9.0, held_out=True) if each.held_out else each for each in observations()
    ]  # fmt: skip

    found = Model.fit(spoiled, "real-time")

    assert found.costs["job"].seconds == pytest.approx(SECONDS["job"], rel=1e-6)
    assert found.errors("job") == pytest.approx([-8 / 9] * 3)


def test_what_lies_beyond_the_fitted_runs_is_told() -> None:
    found = Model.fit(observations(), "real-time")

    assert found.beyond("receiver", MILLIONS) == {}
    assert found.beyond("sender", MILLIONS) == {
        "frames_per_s": (pytest.approx(6039, abs=1), pytest.approx(3467, abs=1)),
        "messages_per_s": (3_000_000, 150_000),
    }
    assert found.beyond("job", load(*CUTS[0])) == {}


@pytest.mark.parametrize(("mode", "count"), [("micro-batch", 12), ("real-time", 5)])
def test_too_few_runs_of_a_mode_are_refused(mode: str, count: int) -> None:
    with pytest.raises(UsageError, match=f"runs are of {mode} mode; make 6 or more, each of another load"):
        Model.fit(observations()[:count], mode)


def test_misses_and_tasks_follow_from_the_cut() -> None:
    one, sixteen = (load(20_000, 0, 200, 2, 3500, 1, parts).numbers() for parts in (1, 16))

    assert one["misses_per_s"] == pytest.approx(20_000 * (1 - 900 / 3500))
    assert sixteen["misses_per_s"] == 0
    assert (one["tasks"], sixteen["tasks"]) == (3, 18)


@pytest.mark.parametrize(
    ("rate", "frames"),
    [
        (20_000, 400),  # fifty messages at each linger, for either topic
        (2, 2),  # each message alone
        (360_000, 600),  # a frame full, and half of the time a few messages more
        (1_000_000, 1200),  # 2,500 messages, and 2,700 fit into three
    ],
)
def test_frames_close_by_their_linger_or_as_they_are_full(rate: int, frames: float) -> None:
    assert load(rate, 0, 900, 5, 350, 1, 1).numbers()["frames_per_s"] == pytest.approx(frames, rel=0.02)


def test_frames_without_linger_hold_a_message() -> None:
    assert load(20_000, 0, 900, 0, 350, 1, 1).numbers()["frames_per_s"] == pytest.approx(20_000, rel=0.01)


@pytest.mark.parametrize(
    ("process", "median", "worst"),
    [("job", 0.15, 0.4), ("broker", 0.15, 0.25), ("sender", 0.15, 0.2), ("receiver", 0.25, 0.4)],
)
def test_shipped_fit_predicts_the_held_out_runs_as_the_documentation_says(
    process: str, median: float, worst: float
) -> None:
    found = Model.fit(read(SHIPPED), "real-time")
    off = np.abs(found.errors(process))

    assert len({run.run["run_id"] for run in found.held_out}) >= 3
    assert np.median(off) <= median
    assert off.max() <= worst


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting property name"),
        ('{"rows": []}', "'runs'"),
        ('{"runs": [{"load": {}}]}', "Field required"),
        ("[]", "no JSON"),
    ],
)
def test_file_that_holds_no_measured_runs_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text(text)

    with pytest.raises(UsageError, match=f"runs.json has no measured runs: .*{said}.*; write it with tests/benchmarks"):
        read(tmp_path / "runs.json")


def test_shipped_runs_say_where_they_come_from() -> None:
    for each in read(SHIPPED):
        assert each.run["machine"]
        assert len(each.run["commit"]) == 40
        assert each.run["run_id"][:8].isdecimal()
        assert each.cores.keys() == TERMS.keys()
