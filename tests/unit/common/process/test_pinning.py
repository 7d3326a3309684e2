"""Whether a process has CPUs of its own."""

import pytest

from market_spread.common.config import from_environment
from market_spread.common.errors import UsageError
from market_spread.common.process import pinning
from market_spread.common.process.pinning import PinningConfig, main, pinning_problem


@pytest.mark.parametrize(
    ("exclusive", "allowed", "of_node", "begins"),
    [
        (None, 2, 2, None),
        (1, 1, 2, None),
        (4, 4, 36, None),
        (
            1,
            2,
            2,
            "2 of the node's 2 CPUs are allowed instead of 1 exclusive ones; the pod must be Guaranteed with cpu",
        ),
        (4, 3, 36, "3 of the node's 36 CPUs are allowed instead of 4 exclusive ones"),
        (2, 2, 2, "all 2 CPUs of the node are allowed, so none is exclusive"),
    ],
)
def test_only_exactly_the_promised_cpus_are_right(
    exclusive: int | None, allowed: int, of_node: int, begins: str | None
) -> None:
    problem = pinning_problem(exclusive, allowed=allowed, of_node=of_node)

    assert problem is None if begins is None else problem is not None and problem.startswith(begins)


def test_probe_says_why_and_ends_with_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pinning, "from_environment", lambda _: PinningConfig(exclusive_cpus=1))
    monkeypatch.setattr(pinning, "own_problem", lambda cpus: f"{cpus} promised, none given")

    assert main() == 1
    assert capsys.readouterr().out == "1 promised, none given\n"


def test_probe_without_a_promise_is_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pinning, "from_environment", lambda _: PinningConfig())

    assert main() == 0
    assert capsys.readouterr().out == "pinned, or not to be\n"


def test_no_cpus_cannot_be_promised() -> None:
    with pytest.raises(UsageError, match="exclusive_cpus=0; use 1 or more, or leave it out"):
        from_environment(PinningConfig, {"MARKET_SPREAD_EXCLUSIVE_CPUS": "0"})
