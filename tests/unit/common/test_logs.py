"""What a person sees of a command's warnings: a line each, with the reason."""

import logging

import pytest

from market_spread.common.logs import log_event, show_warnings

LOGGER = logging.getLogger("market_spread.test_logs")


def test_warnings_of_a_command_have_their_fields(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])

    show_warnings()
    show_warnings()  # once is enough
    log_event(LOGGER, "push.unreachable", logging.WARNING, reason="refused", attempts=3)
    LOGGER.warning("the log of the pod %s could not be read", "job-0")
    log_event(LOGGER, "push.sent")
    logging.getLogger("kafka.net.selector").warning("Task %s ran for 0.201s", "close")

    assert capsys.readouterr().err.splitlines() == [
        "warning: push.unreachable (reason=refused, attempts=3)",
        "warning: the log of the pod job-0 could not be read",
    ]


def test_logs_that_are_set_up_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    own = logging.NullHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [own])

    show_warnings()

    assert logging.getLogger().handlers == [own]
