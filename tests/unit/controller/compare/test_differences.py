"""What groups were made with, where it differs."""

from market_spread.controller.compare.groups import Group, differences_of, warnings_of
from tests.unit.controller.compare.run_fixtures import group, run


def with_facts(name: str, numbers: range, **facts: str) -> Group:
    return Group(name, tuple(run(number, facts=facts) for number in numbers))


def test_only_what_differs_is_named() -> None:
    groups = (with_facts("a", range(0, 4, 2), mode="real-time", cores="2"), with_facts("b", range(1, 5, 2), cores="4"))

    assert list(differences_of(groups).items()) == [
        ("cores", [{"2": 2}, {"4": 2}]),
        ("mode", [{"real-time": 2}, {"-": 2}]),
    ]


def test_the_same_everywhere_is_no_difference() -> None:
    assert differences_of((with_facts("a", range(2), cores="2"), with_facts("b", range(2), cores="2"))) == {}


def test_runs_in_turn_of_one_thing_give_no_warning() -> None:
    assert warnings_of((group("a", [1, 2, 3]), group("b", [1, 2, 3], first_number=1))) == ()


def test_a_group_of_two_things_is_warned_of() -> None:
    mixed = Group("a", (run(0, facts={"commit": "x"}), run(2, facts={"commit": "y"})))

    warnings = warnings_of((mixed, with_facts("b", range(1, 3), commit="x")))

    assert "runs of one group differ in commit" in warnings


def test_runs_that_did_not_keep_up_are_warned_of() -> None:
    lagging = Group("b", (run(1, lag_reasons=("the lag grows",)), run(3)))

    assert warnings_of((group("a", [1, 2]), lagging)) == ("1 of 2 runs of b failed: the lag grows",)


def test_failed_runs_are_warned_of() -> None:
    failed = Group("b", (run(1, verdict="failed", reasons=("p99 is 60 ms",)), run(3)))

    assert warnings_of((group("a", [1, 2]), failed)) == ("1 of 2 runs of b failed: p99 is 60 ms",)
