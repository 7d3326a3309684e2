"""What is asked from outside and is not there: a sentence, and the status that the help promises."""

import pytest
from click.testing import CliRunner

from market_spread.controller.cli.main import main
from market_spread.controller.clients import probe


def test_a_service_that_does_not_answer_is_told_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "DEADLINE_S", 0.2)

    ended = CliRunner().invoke(main, ["probe", "services", "receiver=127.0.0.1:1"])

    assert ended.exit_code == 1
    assert ended.stdout.startswith("receiver: nothing answers at 127.0.0.1:1 within 0.2 s; is the address right")


def test_a_broker_that_is_away_is_not_healthy() -> None:
    ended = CliRunner().invoke(main, ["probe", "kafka", "--bootstrap-servers", "127.0.0.1:1"])

    assert ended.exit_code == 1
    assert ended.stderr.startswith("market-spread: the Kafka broker at 127.0.0.1:1 cannot be used")
    assert len(ended.stderr.splitlines()) == 1
