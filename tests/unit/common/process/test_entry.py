"""What each process says of its environment, before it does anything."""

import sys
from collections.abc import Callable

import pytest

from market_spread.host_tuner.__main__ import main as host_tuner
from market_spread.metrics_aggregator.__main__ import main as metrics_aggregator
from market_spread.receiver.__main__ import main as receiver
from market_spread.sender.__main__ import main as sender
from market_spread.streaming.driver.__main__ import main as job


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("main", [sender, receiver, metrics_aggregator, job])
def test_help_is_the_environment(
    main: Callable[[], int], option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["process", option])

    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  MARKET_SPREAD_HOST: text, by default 127.0.0.1" in lines
    assert all(line.strip() for line in lines)


@pytest.mark.parametrize(("words", "said"), [([], "PROFILE: path"), (["remove"], "DEADLINE_S: number")])
def test_help_of_the_tuner_has_the_environment(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        host_tuner([*words, "--help"])

    assert ended.value.code == 0
    assert f"\n  MARKET_SPREAD_{said}, " in capsys.readouterr().out
