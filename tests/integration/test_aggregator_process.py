"""The metrics-aggregator as a process: real gRPC in, real HTTP out, killed and restarted."""

import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from hdrh.histogram import HdrHistogram
from prometheus_client.parser import text_string_to_metric_families

from market_spread.common.clock import SystemClock
from market_spread.common.grpc.calls import channel_to
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import MESSAGES_DUE, SEND_LAG
from market_spread.common.telemetry.pusher import PushStream, StreamEndedError
from market_spread.common.telemetry.recorder import Recorder
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.v1.metrics_pb2 import NoteRequest, PushRequest
from market_spread.v1.metrics_pb2_grpc import MetricsStub
from tests.support.aggregators import (
    DEADLINE_S,
    Aggregator,
    Launch,
    data_of,
    histogram_of,
    lag_count,
    launcher,
    push_to,
    pusher_of,
    recorder_of,
    spawn,
    taken,
)
from tests.support.waiting import eventually


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    with launcher(tmp_path) as launched:
        yield launched


def test_what_is_read_back_equals_the_packages_merge(launch: Launch) -> None:
    aggregator = launch()
    random = np.random.default_rng(11)
    expected = HdrHistogram(1, 3_600_000_000, 3, word_size=8, b64_wrap=False)
    values: list[int] = []
    for number in range(2):
        recorder = recorder_of(f"sender-{number}")
        pusher = pusher_of(recorder, aggregator)
        pusher.start()
        for _ in range(8):
            batch = np.clip(random.lognormal(8.0, 2.5, 2_500), 0, 3.6e9).astype(np.int64)
            recorder.histogram(SEND_LAG).record_us(batch)
            recorder.counter(MESSAGES_DUE).add(len(batch))
            values += batch.tolist()
            time.sleep(0.03)
        pusher.stop()
    for value in values:
        assert expected.record_value(value)

    series = [item for item in data_of(aggregator)["series"] if item["name"] == SEND_LAG.name]

    merged = HdrCounts()
    for item in series:
        merged.merge(histogram_of(item["total"]))
    assert merged.counts.tolist() == np.frombuffer(expected.counts, np.int64).tolist()
    assert (merged.sum_us, merged.min_us, merged.max_us) == (sum(values), min(values), max(values))
    assert sum(interval[2] for item in series for interval in item["intervals"]) == 40_000
    scraped = {
        (sample.name, sample.labels.get("source"), sample.labels.get("le")): sample.value
        for family in text_string_to_metric_families(aggregator.get("/metrics").text)
        for sample in family.samples
    }
    sources = ("sender-0", "sender-1")
    assert sum(scraped[f"{SEND_LAG.name}_bucket", source, "+Inf"] for source in sources) == 40_000
    assert sum(scraped[f"{SEND_LAG.name}_bucket", source, "0.008191"] for source in sources) == np.count_nonzero(
        np.array(values) < 8_192
    )
    assert sum(scraped[MESSAGES_DUE.name, source, None] for source in sources) == 40_000


def test_a_killed_aggregator_gets_what_was_kept_when_it_is_back(launch: Launch) -> None:
    first = launch()
    recorder = recorder_of("sender-0")
    lag = recorder.histogram(SEND_LAG)
    pusher = pusher_of(recorder, first)
    pusher.start()
    lag.record_us(np.full(100, 5))
    eventually("the first push is merged", lambda: lag_count(first) == 100)
    eventually("the first push is acknowledged", lambda: pusher.delivery.pending == 0)
    first.kill()
    for _ in range(3):
        kept = pusher.delivery.pending
        lag.record_us(np.full(10, 7))
        eventually("the push is kept", lambda kept=kept: pusher.delivery.pending > kept)  # type: ignore[misc]

    second = launch(first.grpc_port, first.http_port)
    eventually("everything kept is delivered", lambda: lag_count(second) == 30)
    pusher.stop()

    (series,) = [each for each in data_of(second)["series"] if each["name"] == SEND_LAG.name]
    assert (histogram_of(series["total"]).counts[7], series["total"][0]) == (30, 30)
    (source,) = data_of(second)["sources"]
    assert (source["pushes"], source["missing"], source["pushes_dropped"]) == (3, 1, 0)
    assert pusher.delivery.pending == 0


def test_killed_in_mid_push_it_has_all_that_it_acknowledged_and_nothing_twice(launch: Launch, tmp_path: Path) -> None:
    aggregator = launch(runs_folder=tmp_path / "runs")
    sources = [f"sender-{number}" for number in range(3)]
    acknowledged = dict.fromkeys(sources, 0)
    pushed: dict[str, list[PushRequest]] = {source: [] for source in sources}
    ended = threading.Event()

    def push_on(source: str) -> None:
        recorder = recorder_of(source)
        with channel_to(aggregator.address) as channel:
            stream = PushStream(channel)
            while not ended.is_set():
                recorder.histogram(SEND_LAG).record_us(np.arange(1, 2_000, 7))
                recorder.counter(MESSAGES_DUE).add(286)
                push = taken(recorder)
                pushed[source].append(push)
                stream.send(push)
                try:
                    answer = stream.answer(DEADLINE_S)
                except StreamEndedError:
                    return
                assert answer is not None
                acknowledged[source] = answer.sequence

    threads = [threading.Thread(target=push_on, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    eventually("each has pushed", lambda: min(acknowledged.values()) > 20)
    aggregator.kill()
    ended.set()
    for thread in threads:
        thread.join()

    second = launch(aggregator.grpc_port, aggregator.http_port, runs_folder=tmp_path / "runs")
    found = {source["source"]: source for source in data_of(second)["sources"]}
    for source in sources:
        assert acknowledged[source] <= found[source]["pushes"] <= len(pushed[source])
        assert found[source]["missing"] == 0
        push_to(second.address, *pushed[source][acknowledged[source] :])

    number = sum(map(len, pushed.values()))
    (run,) = [second.json("/api/v1/runs/r1/data?points=3000")]
    by_name = {(each["name"], each["labels"]["source"]): each for each in run["series"]}
    lags = [by_name[SEND_LAG.name, source] for source in sources]
    assert sum(lag["total"][0] for lag in lags) == number * 286
    assert sum(interval[2] for lag in lags for interval in lag["intervals"]) == number * 286
    assert sum(by_name[MESSAGES_DUE.name, source]["total"] for source in sources) == number * 286


def test_notes_and_pushes_are_there_after_a_restart_and_in_the_run_of_another_process(
    launch: Launch, tmp_path: Path
) -> None:
    first = launch(runs_folder=tmp_path / "runs")
    recorder = recorder_of("sender-0")
    recorder.histogram(SEND_LAG).record_us(np.array([5, 7]))
    note = NoteRequest(run_id="r1", unix_ns=SystemClock().unix_ns(), kind="phase", name="measuring")
    with channel_to(first.address) as channel:
        for _ in range(2):
            MetricsStub(channel).Note(note, timeout=5)
    push_to(first.address, taken(recorder))
    expected = first.json("/api/v1/runs/r1/data")
    first.kill()

    restarted = launch(runs_folder=tmp_path / "runs").json("/api/v1/runs/r1/data")
    viewer = launch(runs_folder=tmp_path / "runs", takes_pushes=False)

    assert [each["name"] for each in expected["notes"]] == ["measuring"]
    for part in ("series", "notes", "sources", "range"):
        assert restarted[part] == viewer.json("/api/v1/runs/r1/data")[part] == expected[part]
    assert [run["run_id"] for run in viewer.json("/api/v1/runs")["runs"]] == ["r1"]
    recorder.histogram(SEND_LAG).record_us(np.array([5]))
    with pytest.raises(grpc.RpcError) as refused:
        push_to(viewer.address, taken(recorder))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def test_what_cannot_be_written_is_refused_for_now_and_taken_later(launch: Launch, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.write_text("a file where the folder should be")
    aggregator = launch(runs_folder=runs)
    recorder = recorder_of("sender-0")
    recorder.histogram(SEND_LAG).record_us(np.array([5]))
    push = taken(recorder)

    with pytest.raises(grpc.RpcError) as refused:
        push_to(aggregator.address, push)
    runs.unlink()
    push_to(aggregator.address, push)

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "metrics.hlog cannot be written: Not a directory" in str(refused.value.details())
    assert lag_count(aggregator) == 1
    assert aggregator.json("/api/v1/runs/r1/data")["aggregator"]["unwritten"] == 1
    assert (runs / "r1" / "metrics.hlog").exists()


@dataclass
class Events:
    """A stream of events on a socket of its own, so that a test can leave it unread."""

    connection: socket.socket
    text: bytes = b""

    @staticmethod
    def open(aggregator: Aggregator, last_event_id: int | None = None) -> "Events":
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(DEADLINE_S)
        connection.connect(("127.0.0.1", aggregator.http_port))
        header = f"Last-Event-ID: {last_event_id}\r\n" if last_event_id is not None else ""
        request = f"GET /api/v1/runs/r1/events HTTP/1.1\r\nHost: localhost\r\n{header}\r\n"
        connection.sendall(request.encode())
        return Events(connection)

    def read_until(self, mark: bytes) -> None:
        while mark not in self.text:
            piece = self.connection.recv(65_536)
            assert piece, "the stream has ended"
            self.text += piece

    def whole(self) -> list[tuple[str, int, Any]]:
        """Event, id and data of each that is complete."""
        found = []
        body = self.text.partition(b"\r\n\r\n")[2]
        joined, rest = b"", body
        while rest:  # HTTP's chunks
            size, _, rest = rest.partition(b"\r\n")
            joined, rest = joined + rest[: int(size or b"0", 16)], rest[int(size or b"0", 16) + 2 :]
        for part in joined.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
            if fields:
                found.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
        return found


def push_one(aggregator: Aggregator, recorder: Recorder, values: "np.ndarray[Any, np.dtype[np.int64]]") -> None:
    recorder.histogram(SEND_LAG).record_us(values)
    push_to(aggregator.address, taken(recorder))


def test_last_event_id_resumes_without_a_gap(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    push_one(aggregator, recorder, np.array([1]))
    tick = aggregator.json("/api/v1/runs/r1/data")["tick"]
    first = Events.open(aggregator, tick)
    push_one(aggregator, recorder, np.array([2]))
    first.read_until(b"event: data")
    first.read_until(b"\n\n\r\n")
    first.connection.close()
    seen = [each for each in first.whole() if each[0] == "data"]
    for value in (3, 4):
        push_one(aggregator, recorder, np.array([value]))
        aggregator.json("/api/v1/runs/r1/data")  # makes a tick of its own

    second = Events.open(aggregator, seen[-1][1])
    push_one(aggregator, recorder, np.array([5]))

    def is_told() -> bool:
        second.read_until(b"event: data")
        return newest_of(second) == 5

    eventually("the newest value is told", is_told)

    told = seen + second.whole()
    assert [number for _, number, _ in told] == list(range(tick + 1, tick + 1 + len(told)))
    values = [interval[4] for _, _, data in told for each in data["series"] for interval in each["intervals"]]
    assert values == [2, 3, 4, 5]
    second.connection.close()


def newest_of(events: Events) -> int:
    events.text += events.connection.recv(65_536) if len(events.whole()) < 3 else b""
    (series,) = events.whole()[-1][2]["series"]
    newest: int = series["intervals"][-1][4]
    return newest


def test_a_slow_client_gets_a_reset_and_costs_no_memory(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    wide = np.unique(np.geomspace(1, 3_000_000_000, 9_000).astype(np.int64))
    push_one(aggregator, recorder, wide)
    slow = Events.open(aggregator)
    slow.read_until(b": market-spread")
    for _ in range(60):
        push_one(aggregator, recorder, wide)
        aggregator.json("/api/v1/runs/r1/data?points=10")

    slow.read_until(b"event: reset")

    assert aggregator.json("/api/v1/runs/r1/data?points=10")["aggregator"]["clients"] == 1
    assert len(slow.text) < 3_000_000
    slow.connection.close()


def test_duplicates_merge_once_and_gaps_are_counted(launch: Launch) -> None:
    aggregator = launch()
    recorder = recorder_of("sender-0")
    pushes: list[PushRequest] = []
    for _ in range(4):
        recorder.histogram(SEND_LAG).record_us(np.array([9]))
        pushes.append(taken(recorder))

    answers = push_to(aggregator.address, *(pushes[index] for index in (0, 0, 3, 3, 2)))

    assert [(answer.sequence, answer.refusal) for answer in answers] == [(1, ""), (1, ""), (4, ""), (4, ""), (3, "")]
    assert lag_count(aggregator) == 2
    (source,) = data_of(aggregator)["sources"]
    assert (source["pushes"], source["duplicates"], source["missing"]) == (2, 3, 2)
    assert data_of(aggregator)["aggregator"]["missing"] == 2


def test_health_and_reflection_answer(launch: Launch) -> None:
    aggregator = launch()
    with channel_to(aggregator.address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)

        statuses = [
            health.Check(health_pb2.HealthCheckRequest(service=service), timeout=5).status
            for service in ("", "market_spread.v1.Metrics")
        ]
        listed = next(
            reflection.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=5)
        )

    assert statuses == [health_pb2.HealthCheckResponse.SERVING] * 2
    assert "market_spread.v1.Metrics" in [service.name for service in listed.list_services_response.service]
    assert aggregator.get("/healthz").text == "ok\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(launch: Launch, number: signal.Signals) -> None:
    aggregator = launch()

    aggregator.process.send_signal(number)

    _, errors = aggregator.process.communicate(timeout=DEADLINE_S)
    assert aggregator.process.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize("which", ["grpc_port", "http_port"])
def test_a_port_in_use_is_one_line_and_exit_status_2(launch: Launch, which: str) -> None:
    aggregator = launch()
    port = getattr(aggregator, which)

    second = spawn(AggregatorConfig(**{which: port}))
    _, errors = second.communicate(timeout=DEADLINE_S)

    assert second.returncode == 2
    assert errors == f"127.0.0.1:{port} cannot be bound: Address already in use; choose another port or 0\n"


def test_nine_hundred_half_open_requests_do_not_starve_the_page(launch: Launch) -> None:
    aggregator = launch()
    half_open: list[socket.socket] = []
    try:
        for _ in range(900):
            half_open.append(socket.create_connection(("127.0.0.1", aggregator.http_port), DEADLINE_S))
            half_open[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")

        answers = [aggregator.get(path).status_code for path in ("/healthz", "/", "/api/v1/runs", "/metrics")]

        assert answers == [200] * 4
        held = psutil.Process(aggregator.process.pid).net_connections("tcp")
        assert sum(it.status == "ESTABLISHED" and it.laddr.port == aggregator.http_port for it in held) <= 260
    finally:
        for connection in half_open:
            connection.close()


def test_calls_beyond_a_bound_are_refused_until_others_have_ended(launch: Launch) -> None:
    aggregator = launch()
    with channel_to(aggregator.address) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch  # type: ignore[attr-defined]
        open_calls = [watch(health_pb2.HealthCheckRequest(), timeout=DEADLINE_S) for _ in range(600)]

        eventually("some are refused", lambda: any(call.done() for call in open_calls))
        refused = [call for call in open_calls if call.done()]
        assert {call.code() for call in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        for call in open_calls:
            call.cancel()

        note = NoteRequest(run_id="r1", unix_ns=time.time_ns(), kind="phase", name="measuring")
        eventually("a note is taken", lambda: MetricsStub(channel).Note(note, wait_for_ready=True, timeout=DEADLINE_S))
