"""The metrics page as the run controller has it: notes to a real aggregator, a copy as one file, `market-spread ui`."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment
from market_spread.common.telemetry.metrics import SEND_LAG
from market_spread.common.telemetry.pusher import Pusher
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.session.metrics_page import RunNotes, export_page
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.v1.metrics_pb2 import NoteRequest

DEADLINE_S = 30
CLOCK = SystemClock()


@pytest.fixture
def aggregator(tmp_path: Path) -> Iterator[dict[str, int]]:
    """The ports of a running one, whose runs are in the folder `runs`."""
    services = Services(tmp_path / "processes", clock=CLOCK, on_started=lambda name, pid: None)
    config = AggregatorConfig(ports_file=services.ports_file("aggregator"), runs_folder=tmp_path / "runs")
    services.start("aggregator", "market_spread.metrics_aggregator", config)
    yield services.ports("aggregator")
    services.stop(["aggregator"])


def a_finished_run(ports: dict[str, int]) -> None:
    notes = RunNotes("r1", clock=CLOCK)
    notes.say("title", "quick: 20,000 messages/s")
    notes.say("phase", "measuring")
    notes.start(f"127.0.0.1:{ports['grpc']}")
    recorder = Recorder(source="sender-0", clock=CLOCK, run_id="r1")
    pusher = Pusher(recorder, f"127.0.0.1:{ports['grpc']}", clock=CLOCK)
    recorder.histogram(SEND_LAG).record_us(np.array([5, 7]))
    pusher.stop()
    notes.tell(NoteRequest(unix_ns=CLOCK.unix_ns(), kind="verdict", name="passed", text="all is right"))
    notes.close()
    assert (pusher.delivery.pending, notes.waiting) == (0, ())


def get(port: int, path: str) -> Any:
    return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE_S).raise_for_status().json()


def test_notes_reach_the_run_and_the_file_has_its_data(aggregator: dict[str, int], tmp_path: Path) -> None:
    a_finished_run(aggregator)

    path = export_page(f"http://127.0.0.1:{aggregator['http']}", "r1", tmp_path)

    data = get(aggregator["http"], "/api/v1/runs/r1/data")
    assert (data["title"], data["phase"], data["verdict"]) == ("quick: 20,000 messages/s", "measuring", "passed")
    assert (data["live"], [note["text"] for note in data["notes"]]) == (False, ["", "all is right"])
    assert 'id="run-data"' in path.read_text()


def test_ui_shows_finished_runs_until_it_is_told_to_end(aggregator: dict[str, int], tmp_path: Path) -> None:
    a_finished_run(aggregator)
    (tmp_path / "runs" / "r1" / "result.json").write_text('{"latency_ns": {"p50": 5000, "p99": 7000}}')
    process = subprocess.Popen(
        [sys.executable, "-m", "market_spread.controller.cli.main", "ui", str(tmp_path / "runs")],
        stderr=subprocess.PIPE,
        text=True,
        env=inherited_environment(),
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r": http://127\.0\.0\.1:(\d+) \(until Ctrl-C\)$", said.rstrip())
        assert found, said

        runs = get(int(found[1]), "/api/v1/runs")["runs"]
        data = get(int(found[1]), "/api/v1/runs/r1/data")

        assert [(run["run_id"], run["verdict"], run["live"]) for run in runs] == [("r1", "passed", False)]
        assert (runs[0]["figures"]["latency_ns.p50"], runs[0]["figures"]["cpu_us_per_message"]) == (5000, None)
        documents = get(int(found[1]), "/api/v1/runs/r1/documents")
        assert (documents["result"]["latency_ns"]["p99"], documents["manifest"]) == (7000, {})
        (lag,) = [series for series in data["series"] if series["name"] == SEND_LAG.name]
        assert lag["total"][:4] == [2, 12, 5, 7]
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0
        with pytest.raises(httpx.TransportError):
            get(int(found[1]), "/api/v1/runs")
    finally:
        process.kill()
        process.communicate()
