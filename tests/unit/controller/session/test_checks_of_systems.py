"""A check of the user's own that yields what it cannot mean is told."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.session.system_run import SystemRun

CHECK = """
from market_spread.loadgen.message_files import Message


def check(messages):
    yield WHAT
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("Message(b'5'), 5", r"yields Message\(value=b'5'.*; yield a message that it got, and its output"),
        ("b'ab'", "yields 97; yield a message that it got, and its output"),
        ("5", "cannot unpack non-iterable int object"),
    ],
)
def test_a_check_yields_messages_that_it_was_given(tmp_path: Path, what: str, said: str) -> None:
    (tmp_path / "own_check.py").write_text(CHECK.replace("WHAT", what))
    run = object.__new__(SystemRun)
    run._workload = SimpleNamespace(input=())  # type: ignore[assignment]  # no more of it is looked at
    run._names, run._due_us = ["fares"], {}

    with pytest.raises(UsageError, match=said):
        run._expect(f"{tmp_path / 'own_check.py'}:check")
