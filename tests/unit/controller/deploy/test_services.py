"""A process of ours that does not start: of its log, what is meant for a person is told."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.deploy.local.services import Child, Services
from market_spread.metrics_aggregator.service import AggregatorConfig
from tests.support.clock import ManualClock


@dataclass
class EndedChild:
    """One that has ended, with this log."""

    lines: Sequence[str]
    log: Path = Path("a.log")
    pid, running, disk_is_full, exit_status = 1, False, False, 2

    def last_lines(self, count: int) -> Sequence[str]:
        return self.lines[-count:]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["127.0.0.1:80 cannot be bound: in use; choose another port or 0"], "127.0.0.1:80 cannot be bound: in use"),
        (["3 partitions are too few; use 4"], "3 partitions are too few; use 4"),
        (["memory is too small; use 1g", "26/11/26 11:36:38 ERROR Utils: ended"], "memory is too small; use 1g"),
        (["2026-11-26 11:36:38,123 ERROR", "11:36:38.123 ERROR", '{"event": "x"}', "\tat a.B.c"], "it gave no reason"),
    ],
)
def test_the_reason_is_the_last_line_that_is_no_event_of_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: Sequence[str], said: str
) -> None:
    monkeypatch.setattr(Child, "start", lambda *_, **__: EndedChild(lines))
    services = Services(tmp_path, clock=ManualClock(), on_started=lambda name, pid: None)
    services.start("metrics_aggregator", "a.module", AggregatorConfig(ports_file=tmp_path / "ports.json"))

    with pytest.raises(UsageError) as raised:
        services.ports("metrics_aggregator")

    assert str(raised.value).startswith(f"the metrics aggregator did not start; {said}")
