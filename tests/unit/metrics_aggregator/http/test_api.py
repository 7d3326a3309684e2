"""The runs, their data and what is new in them, as the page gets them; without a network."""

import asyncio
import json
import re
import threading
from base64 import b64decode
from binascii import crc32
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.types import ASGIApp, Message

from market_spread.common.errors import UsageError
from market_spread.common.hdr.codec import Buckets, encoded_of
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import ALERTS, END_TO_END, JOB_BATCH
from market_spread.common.telemetry.recorder import Recorder, interval_histogram
from market_spread.metrics_aggregator.http.app import web_app
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.updates import BEHIND_MAX, RING_TICKS, Feeds
from market_spread.metrics_aggregator.model.run import RunState
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import IntervalHistogram, Judgement, NoteRequest, SeriesKey
from tests.support.clock import ManualClock

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


class Client:
    """One who watches: what it was sent, and whether it takes any more."""

    def __init__(self) -> None:
        self.sent = b""
        self.status = 0
        self.stuck = asyncio.Event()
        self.stuck.set()
        self._gone = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.stuck.wait()
        self.status = message.get("status", self.status)
        self.sent += message.get("body", b"")

    async def receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def go(self) -> None:
        self._gone.set()

    def events(self) -> list[dict[str, Any]]:
        found = []
        for part in self.sent.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
            if fields:
                found.append({**fields, "data": json.loads(fields["data"])})
        return found


class Rig:
    def __init__(self, folder: Path | None = None, ping_s: float = 15) -> None:
        self.clock = ManualClock(START)
        self.files = RunFiles(folder) if folder is not None else None
        self.store = Store(clock=self.clock, log=self.files)
        self.feeds = Feeds(self.store, self.clock)
        archive = Archive(folder, clock=self.clock, history_bytes_max=10**7) if folder is not None else None
        self.app: ASGIApp = web_app(self.store, self.clock, feeds=self.feeds, archive=archive, ping_s=ping_s)
        self.receiver = Recorder(source="receiver-0", clock=self.clock, run_id="r1")

    def push(self, *values_us: int) -> None:
        """A second in which these were measured."""
        self.receiver.histogram(END_TO_END, phase="measured").record_us(np.array(values_us, np.int64))
        self.receiver.counter(ALERTS, phase="measured").add(len(values_us))
        self.receiver.gauge(JOB_BATCH).set(len(values_us))
        self.clock.advance_ns(SECOND)
        (push,) = self.receiver.take()
        self.store.push(push)

    def note(self, kind: str, name: str, text: str = "", **parts: Any) -> None:
        request = NoteRequest(run_id="r1", unix_ns=self.clock.unix_ns(), kind=kind, name=name, text=text, **parts)
        self.store.note(request)

    def get(self, path: str, **headers: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://aggregator") as client:
                return await client.get(path, headers=headers)

        return asyncio.run(ask())

    def data(self, query: str = "") -> Any:
        answer = self.get(f"/api/v1/runs/r1/data{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def watched(self, act: "Callable[[Watching], Awaitable[None]]") -> None:
        """Do what has to do with watchers in one loop, and end them."""

        async def whole() -> None:
            watching = Watching(self.app)
            try:
                async with asyncio.timeout(10):
                    await act(watching)
            finally:
                await watching.end()

        asyncio.run(whole())


class Watching:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._all: list[tuple[Client, Awaitable[None]]] = []

    async def watch(self, last_event_id: int | None = None, query: str = "") -> Client:
        client = Client()
        headers = [(b"accept-encoding", b"gzip")]  # a stream is not compressed: what is held back comes too late
        headers += [(b"last-event-id", str(last_event_id).encode())] if last_event_id is not None else []
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/runs/r1/events",
            "query_string": query.encode(),
            "headers": headers,
        }
        task = asyncio.ensure_future(self._app(scope, client.receive, client.send))
        self._all.append((client, task))
        await settle()
        return client

    async def end(self) -> None:
        for client, task in self._all:
            client.stuck.set()
            client.go()
            await task


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def series(view: Any, name: str) -> Any:
    (found,) = [each for each in view["series"] if each["name"] == name]
    return found


def counts(text: str) -> dict[int, int]:
    found = Buckets.decode(encoded_of(b64decode(text))).counts
    return {int(index): int(found[index]) for index in np.flatnonzero(found)}


def of_result(*values_us: int, **labels: str) -> IntervalHistogram:
    values = HdrCounts()
    values.record(np.array(values_us, np.int64))
    return interval_histogram(END_TO_END, values, **labels)


def test_data_have_what_the_run_is_judged_by_and_what_it_came_to(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.push(5, 7)
    rig.note("limits", "quick", limits=RunLimits(late_us=0, late_share_max=0.01, latency_us_max={"p99": 9, "max": 20}))
    failed = FailedCheck(check="missing", text="3 alerts are missing", cause="system")
    judgement = Judgement(
        cause="system",
        outcome="failed (system)",
        failed=[failed],
        histograms=[of_result(7, phase="measured")],
        from_unix_ns=START,
        to_unix_ns=START + SECOND,
    )
    rig.note("verdict", "failed", "3 alerts are missing", judgement=judgement)

    limits, verdict = rig.data()["notes"]

    assert limits["limits"] == {"late_us": 0, "late_share_max": 0.01, "latency_us_max": {"p99": 9, "max": 20}}
    assert verdict["outcome"] == "failed (system)"
    assert verdict["failed"] == [{"check": "missing", "text": "3 alerts are missing", "cause": "system"}]
    judged = verdict["judged"]
    (histogram,) = judged["series"]
    assert (judged["from_unix_ms"], judged["to_unix_ms"]) == (START / 1e6, (START + SECOND) / 1e6)
    assert (histogram["name"], histogram["labels"]) == (END_TO_END.name, {"phase": "measured"})
    assert histogram["total"][:6] == [1, 7, 7, 7, 0, 0]
    assert counts(histogram["total"][6]) == {7: 1}
    assert rig.files is not None
    rig.files.close()
    again = Rig(tmp_path)  # another aggregator, which has the log alone
    assert again.data()["notes"] == [limits, verdict]
    archived = Archive(tmp_path, clock=again.clock, history_bytes_max=10**6).heads()
    assert [(head["verdict"], head["outcome"]) for head in archived] == [("failed", "failed (system)")]


def test_data_have_how_long_phases_are_to_last(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.note("plan", "quick", phases_ms={"warming up": 12_000, "measuring": 60_000})
    rig.note("phase", "measuring")

    phase, plan = rig.data()["notes"]

    assert (plan["kind"], plan["phases_ms"]) == ("plan", {"warming up": 12_000, "measuring": 60_000})
    assert "phases_ms" not in phase
    assert rig.files is not None
    rig.files.close()
    assert Rig(tmp_path).data()["notes"] == [phase, plan]  # from the log


@pytest.mark.parametrize(
    ("kind", "parts", "reason"),
    [
        ("limits", {}, "a note of the kind limits has limits if and only if it is of the kind limits"),
        ("phase", {"limits": RunLimits()}, "a note of the kind phase has limits if and only if"),
        ("limits", {"limits": RunLimits(late_share_max=1.5)}, "late_share_max=1.5; use a share from 0 to 1"),
        ("limits", {"limits": RunLimits(rate_share_min=float("nan"))}, "rate_share_min=nan; use a share from 0 to 1"),
        ("limits", {"limits": RunLimits(latency_us_max={"p98": 1})}, "latency_us_max has 'p98'; use p50, p95"),
        ("event", {"text": "x" * 2_001}, "text has 2001 characters"),
        ("result", {"text": "x" * 1_000_001}, "text has 1000001 characters"),
        ("phase", {"judgement": Judgement()}, "a note of the kind phase has a judgement; only a verdict has one"),
        ("verdict", {"judgement": Judgement(failed=[FailedCheck()] * 101)}, "101 failed checks; send at most 100"),
        ("verdict", {"judgement": Judgement(failed=[FailedCheck(text="x" * 2001)])}, "text has 2001 characters"),
        ("verdict", {"judgement": Judgement(from_unix_ns=2, to_unix_ns=1)}, "what is judged ends before it begins"),
        (
            "verdict",
            {"judgement": Judgement(histograms=[IntervalHistogram(key=SeriesKey(name="x"))])},
            "'x' is no registered metric",
        ),
    ],
)
def test_note_that_makes_no_sense_is_refused(rig: Rig, kind: str, parts: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        rig.note(kind, "a name", **parts)

    assert rig.store.refused == 1


def test_a_result_is_noted_whole(rig: Rig) -> None:
    document = json.dumps({"causes": {"events": ["boundary"] * 50_000}})

    rig.note("result", "passed", document)
    rig.push(5)

    assert rig.data()["notes"][0]["text"] == document
    assert rig.store.refused == 0


def test_answers_are_compressed_for_who_takes_that(rig: Rig) -> None:
    rig.note("result", "passed", "x" * 100_000)
    rig.push(5)
    packed, plain = (rig.get("/api/v1/runs/r1/data", **{"accept-encoding": name}) for name in ("gzip", "identity"))

    assert packed.json()["notes"] == plain.json()["notes"]
    assert (packed.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert int(packed.headers["content-length"]) * 20 < int(plain.headers["content-length"])
    assert packed.headers["content-security-policy"] == plain.headers["content-security-policy"]


def test_data_have_every_interval_and_the_total(rig: Rig) -> None:
    rig.note("title", "quick: 20,000 messages/s")
    rig.note("phase", "measuring")
    rig.push(5, 7)
    rig.push(7, 4_000_000_000)

    data = rig.data()

    assert (data["format"], data["run_id"], data["title"]) == (1, "r1", "quick: 20,000 messages/s")
    assert (data["live"], data["phase"], data["verdict"]) == (True, "measuring", "")
    first, end = START / 1e6, (START + 2 * SECOND) / 1e6
    assert data["range"] == {"from_unix_ms": first, "to_unix_ms": end}
    assert data["notes"] == [{"unix_ms": first, "kind": "phase", "name": "measuring", "text": ""}]
    histogram = series(data, END_TO_END.name)
    assert histogram["labels"] == {"phase": "measured", "source": "receiver-0"}
    assert histogram["total"][:6] == [4, 4_000_000_019, 5, 4_000_000_000, 1, 0]
    assert [interval[:8] for interval in histogram["intervals"]] == [
        [first, first + 1000, 2, 12, 5, 7, 0, 0],
        [first + 1000, end, 2, 4_000_000_007, 7, 4_000_000_000, 1, 0],
    ]
    assert counts(histogram["intervals"][0][8]) == {5: 1, 7: 1}
    assert sum(counts(histogram["total"][6]).values()) == 4
    assert series(data, ALERTS.name)["total"] == 4
    assert series(data, ALERTS.name)["intervals"] == [[first, first + 1000, 2.0], [first + 1000, end, 2.0]]
    assert data["metrics"][ALERTS.name] == {"kind": "counter", "meaning": ALERTS.meaning, "labels": ["phase"]}
    (source,) = data["sources"]
    assert (source["source"], source["pushes"], source["end_unix_ms"]) == ("receiver-0", 2, end)
    assert data["aggregator"]["pushes"] == 2
    assert {"push_us_p50", "merge_us_p99", "lag_seconds", "memory_bytes", "history_limit_bytes"} <= data[
        "aggregator"
    ].keys()


def test_more_intervals_than_points_are_merged_exactly_and_alike(rig: Rig) -> None:
    for second in range(100):
        rig.push(*range(second + 1))

    data = rig.data("?points=10")

    for name in (END_TO_END.name, ALERTS.name, JOB_BATCH.name):
        assert 5 <= len(series(data, name)["intervals"]) <= 10
    spans = [{(start, end) for start, end, *_ in each["intervals"]} for each in data["series"]]
    assert spans[0] == spans[1] == spans[2]
    assert sum(interval[2] for interval in series(data, END_TO_END.name)["intervals"]) == 5_050
    assert sum(interval[2] for interval in series(data, ALERTS.name)["intervals"]) == 5_050
    assert series(data, JOB_BATCH.name)["intervals"][-1][2] == 100


def test_one_histogram_may_be_finer_than_the_others(rig: Rig) -> None:
    for second in range(100):
        rig.push(*range(second + 1))

    fine, coarse = rig.data(f"?points=50&fine={END_TO_END.name}"), rig.data("?points=50&fine=another")

    lengths = [len(series(of, END_TO_END.name)["intervals"]) for of in (fine, coarse)]
    assert 20 <= lengths[0] <= 50
    assert 4 <= lengths[1] <= 8
    assert all(20 <= len(series(of, ALERTS.name)["intervals"]) <= 50 for of in (fine, coarse))
    assert sum(interval[2] for interval in series(coarse, END_TO_END.name)["intervals"]) == 5_050


def test_the_other_histograms_may_be_left_out_but_for_their_totals(rig: Rig) -> None:
    for second in range(100):
        rig.push(*range(second + 1))

    with_it, without = rig.data(f"?points=50&only={END_TO_END.name}"), rig.data("?points=50&only=another")

    assert 20 <= len(series(with_it, END_TO_END.name)["intervals"]) <= 50
    assert series(without, END_TO_END.name)["intervals"] == []
    assert series(without, END_TO_END.name)["total"] == series(with_it, END_TO_END.name)["total"]
    assert all(20 <= len(series(of, ALERTS.name)["intervals"]) <= 50 for of in (with_it, without))


def test_a_range_has_what_lies_in_it(rig: Rig) -> None:
    for _ in range(10):
        rig.push(5)
    begin = START / 1e6

    data = rig.data(f"?from_unix_ms={begin + 3000}&to_unix_ms={begin + 5000}")

    assert [interval[0] - begin for interval in series(data, ALERTS.name)["intervals"]] == [3000, 4000]
    assert series(data, ALERTS.name)["total"] == 10
    assert data["range"] == {"from_unix_ms": begin + 3000, "to_unix_ms": begin + 5000}


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/api/v1/runs/r2/data", 404, "there is no run 'r2'; /api/v1/runs lists those that there are"),
        ("/api/v1/runs/r2/events", 404, "there is no run 'r2'; /api/v1/runs lists those that there are"),
        ("/api/v1/runs/%2e%2e/data", 404, "there is no run '..'; /api/v1/runs lists those that there are"),
        ("/api/v1/runs/r1/data?points=9", 400, "points=9; use 10 to 3000"),
        ("/api/v1/runs/r1/data?points=x", 400, "points='x' is no number"),
        ("/api/v1/runs/r1/data?from_unix_ms=nan", 400, "from_unix_ms='nan' is no time in milliseconds, nor a number"),
        ("/api/v1/runs/r1/data?from_unix_ms=5&to_unix_ms=5", 400, "from_unix_ms=5 is not before to_unix_ms=5"),
    ],
)
def test_wrong_questions_are_answered_with_a_sentence(rig: Rig, path: str, status: int, sentence: str) -> None:
    rig.push(5)

    answer = rig.get(path)

    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)


def test_watchers_get_what_is_new_once_a_tick(rig: Rig) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        client = await watching.watch()
        rig.push(6, 7)
        rig.note("phase", "measuring")
        rig.feeds.tick()
        await settle()
        rig.feeds.tick()
        await settle()

        (event,) = client.events()
        data = event["data"]
        assert (event["event"], int(event["id"])) == ("data", data["tick"])
        assert (data["phase"], data["live"]) == ("measuring", True)
        assert [interval[2] for interval in series(data, END_TO_END.name)["intervals"]] == [2]
        assert series(data, END_TO_END.name)["total"][0] == 3
        assert [note["name"] for note in data["notes"]] == ["measuring"]
        assert [source["pushes"] for source in data["sources"]] == [2]
        assert data["aggregator"]["clients"] == 1

    rig.watched(act)
    assert rig.store.clients == 0


def test_data_and_the_events_after_their_tick_have_everything_once(rig: Rig) -> None:
    rig.push(5)
    rig.data()
    rig.push(6)
    rig.push(7)
    data = rig.data()
    rig.push(8)
    rig.push(9)

    async def act(watching: Watching) -> None:
        client = await watching.watch(query=f"after={data['tick']}")
        rig.feeds.tick()
        await settle()

        told = [
            interval[4] for event in client.events() for interval in series(event["data"], END_TO_END.name)["intervals"]
        ]
        assert [interval[4] for interval in series(data, END_TO_END.name)["intervals"]] + told == [5, 6, 7, 8, 9]

    rig.watched(act)


def test_last_event_id_resumes_without_a_gap(rig: Rig) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        first = await watching.watch()
        for value in (6, 7):
            rig.push(value)
            rig.feeds.tick()
        await settle()
        first.go()
        await settle()
        for value in (8, 9, 10):
            rig.push(value)
            rig.feeds.tick()
        seen = int(first.events()[-1]["id"])

        second = await watching.watch(last_event_id=seen)

        events = second.events()
        assert [int(event["id"]) for event in events] == [seen + 1, seen + 2, seen + 3]
        assert [series(event["data"], END_TO_END.name)["intervals"][0][4] for event in events] == [8, 9, 10]

    rig.watched(act)


@pytest.mark.parametrize("seen", [0, 17, 10**18])
def test_an_id_that_is_not_kept_is_answered_with_a_reset(rig: Rig, seen: int) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        client = await watching.watch(last_event_id=seen)
        rig.push(6)
        rig.feeds.tick()
        await settle()

        reset, then = client.events()
        assert (reset["event"], then["event"]) == ("reset", "data")
        assert reset["data"] == {"reason": "what was new since your last event is not kept any more"}
        assert int(then["id"]) == int(reset["id"]) + 1

    rig.watched(act)


def test_the_ring_keeps_the_last_ticks_alone(rig: Rig) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        first = await watching.watch()
        rig.push(6)
        rig.feeds.tick()
        await settle()
        first.go()
        await settle()
        seen = int(first.events()[0]["id"])
        for value in range(RING_TICKS):
            rig.push(value)
            rig.feeds.tick()

        in_time = await watching.watch(last_event_id=seen)
        too_late = await watching.watch(last_event_id=seen - 1)

        assert len(in_time.events()) == RING_TICKS
        assert [event["event"] for event in too_late.events()] == ["reset"]

    rig.watched(act)


def test_a_slow_client_is_brought_to_the_newest_by_a_reset(rig: Rig) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        slow, quick = await watching.watch(), await watching.watch()
        slow.stuck.clear()
        for value in range(BEHIND_MAX + 3):
            rig.push(value)
            rig.feeds.tick()
            await settle()
        slow.stuck.set()
        await settle()
        rig.push(77)
        rig.feeds.tick()
        await settle()

        assert len(quick.events()) == BEHIND_MAX + 4
        events = slow.events()
        assert [event["event"] for event in events] == ["data", "reset", "data"]
        assert events[1]["data"] == {"reason": f"you are more than {BEHIND_MAX} events behind"}
        assert int(events[2]["id"]) == int(quick.events()[-1]["id"])

    rig.watched(act)


def test_silence_is_broken_by_pings() -> None:
    rig = Rig(ping_s=0.01)

    async def act(watching: Watching) -> None:
        rig.push(5)
        client = await watching.watch()
        await asyncio.sleep(0.1)

        assert b": ping\n\n" in client.sent

    rig.watched(act)


def test_the_hundred_and_first_page_is_turned_away(rig: Rig) -> None:
    rig.push(5)
    rig.store.clients = 100

    answer = rig.get("/api/v1/runs/r1/events")

    assert answer.status_code == 503
    assert answer.json() == {"error": "100 pages are watching already; close one of them"}


def test_a_tick_that_fails_ends_the_stream_of_its_run_alone(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        client = await watching.watch()
        rig.push(6)
        run = rig.store.run("r1")
        assert run is not None
        monkeypatch.setattr(run, "series", {}.fromkeys(run.series, None))
        rig.feeds.tick()
        monkeypatch.undo()
        await settle()

        assert [event["event"] for event in client.events()] == ["reset"]

    rig.watched(act)


def test_streams_end_when_the_feeds_do(rig: Rig) -> None:
    async def act(watching: Watching) -> None:
        rig.push(5)
        client = await watching.watch()
        rig.feeds.close()
        await settle()

        assert [event["event"] for event in client.events()] == ["reset"]

    rig.watched(act)


def test_nothing_is_collected_for_a_run_that_nobody_watches(rig: Rig) -> None:
    rig.push(5)
    run = rig.store.run("r1")
    assert run is not None
    collected = [run.news]
    rig.data()
    collected.append(run.news)

    rig.clock.advance_ns(151 * SECOND)
    rig.feeds.tick()

    collected.append(run.news)
    assert [news is None for news in collected] == [True, False, True]


def test_runs_are_those_in_memory_and_on_disk_newest_first(tmp_path: Path) -> None:
    earlier = Rig(tmp_path)
    earlier.note("title", "an earlier one")
    earlier.push(5)
    earlier.note("phase", "draining")
    earlier.note("verdict", "passed", "all is right")
    assert earlier.files is not None
    earlier.files.close()
    (tmp_path / "r1").rename(tmp_path / "r0")
    rig = Rig(tmp_path)
    rig.clock.advance_ns(100 * SECOND)
    rig.push(5)

    runs = rig.get("/api/v1/runs").json()["runs"]

    assert [run["run_id"] for run in runs] == ["r1", "r0"]
    assert [run["live"] for run in runs] == [True, False]
    assert runs[1] == {
        "run_id": "r0",
        "begin_unix_ms": START / 1e6,
        "end_unix_ms": (START + SECOND) / 1e6,
        "live": False,
        "phase": "draining",
        "verdict": "passed",
        "outcome": "passed",
        "title": "an earlier one",
        "figures": {"achieved_rate_per_s": None, "cpu_us_per_message": None},
    }


def test_a_finished_run_is_read_from_its_log(tmp_path: Path) -> None:
    earlier = Rig(tmp_path)
    earlier.push(5, 7)
    earlier.push(9)
    earlier.note("verdict", "failed", "1 alert is missing")
    expected = earlier.data()
    rig = Rig(tmp_path)
    rig.clock.advance_ns(60 * SECOND)

    data = rig.data()

    assert (data["live"], data["tick"], data["verdict"]) == (False, 0, "failed")
    for part in ("series", "range", "notes", "sources", "metrics"):
        assert data[part] == expected[part]
    assert rig.store.run("r1") is None
    earlier.push(11)
    assert series(rig.data(), END_TO_END.name)["total"][0] == 4


def test_events_of_a_run_that_is_read_from_its_log_are_pings_until_it_goes_on(tmp_path: Path) -> None:
    writer, reader = Rig(tmp_path), Rig(tmp_path, ping_s=0.02)
    writer.push(5)

    async def act(watching: Watching) -> None:
        client = await watching.watch(last_event_id=0)
        await asyncio.sleep(0.1)
        assert client.sent.count(b": ping") >= 2
        assert client.events() == []

        writer.push(6)
        await asyncio.sleep(0.1)

        assert [event["data"] for event in client.events()] == [{"reason": "the run goes on"}]

    reader.watched(act)
    assert reader.store.clients == 0


def test_few_finished_runs_are_held_open(tmp_path: Path) -> None:
    writer = Rig(tmp_path)
    writer.push(5)
    for number in range(5):
        (tmp_path / f"copy-{number}").mkdir()
        (tmp_path / f"copy-{number}" / "metrics.hlog").write_bytes((tmp_path / "r1" / "metrics.hlog").read_bytes())
    archive = Archive(tmp_path, clock=writer.clock, history_bytes_max=10**7)

    opened = [archive.open(f"copy-{number}") for number in (0, 1, 0, 2, 3, 0, 1)]

    assert opened[0] is opened[2] is opened[5]
    assert opened[1] is not opened[6]
    assert archive.open("none") is None
    assert archive.open("../r1") is None
    assert len(archive.heads()) == 6


def test_the_list_has_the_figures_of_results_as_they_are_now(tmp_path: Path) -> None:
    writer = Rig(tmp_path)
    writer.push(5)
    (tmp_path / "r2").mkdir()
    (tmp_path / "r2" / "metrics.hlog").write_bytes((tmp_path / "r1" / "metrics.hlog").read_bytes())
    archive = Archive(tmp_path, clock=writer.clock, history_bytes_max=10**7)
    before = archive.heads()
    latencies = '"latency_ns": {"p50": 5, "p99": 9}, "latency_clusters": {"latency_ns": {"p50": 2, "p99": 9}}'
    (tmp_path / "r1" / "result.json").write_text(f'{{{latencies}, "cpu_us_per_message": 26.5}}')
    (tmp_path / "r2" / "result.json").write_text('{"latency_ns": "of another version", "cpu_us_per_message": NaN}')

    after = {head["run_id"]: head["figures"] for head in archive.heads()}

    unknown = {"achieved_rate_per_s": None, "cpu_us_per_message": None}
    assert [head["figures"] for head in before] == [unknown, unknown]
    found = {"latency_ns.p50": 5, "latency_ns.p99": None, "achieved_rate_per_s": None, "cpu_us_per_message": 26.5}
    # A tail of nine moments is not shown; of ten it is.
    assert after == {"r1": found, "r2": unknown}
    (tmp_path / "r1" / "result.json").write_text("{" + latencies.replace('"p99": 9}}', '"p99": 10}}') + "}")
    assert archive.heads()[-1]["figures"]["latency_ns.p99"] == 9


def test_the_list_has_the_sparkline_of_a_run_and_no_more_of_a_strangers(tmp_path: Path) -> None:
    writer = Rig(tmp_path)
    writer.push(5)
    archive = Archive(tmp_path, clock=writer.clock, history_bytes_max=10**7)

    def sparkline(text: str) -> object:
        latencies = '"latency_ns": {"p50": 5, "p99": 9}, "latency_clusters": {"latency_ns": {"p99": 9}}'
        (tmp_path / "r1" / "result.json").write_text(f'{{{latencies}, "latency_sparkline_ns": {text}}}')
        return archive.heads()[0]["figures"].get("latency_sparkline_ns")

    assert sparkline("[4000, null, 900]") == [4000, None, 900]
    assert sparkline('["much", {"a": 1}, [7], true, 5]') == [None, None, None, None, 5]
    assert sparkline(f"[{'1,' * 4999}10]") == [1] * 100
    assert [sparkline(text) for text in ("7", "null", '{"a": 1}')] == [None] * 3


def test_documents_of_a_run_are_what_is_beside_its_log(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "runs")
    rig.push(5)
    (tmp_path / "runs" / "r1" / "result.json").write_text('{"run_id": "r1"}')
    (tmp_path / "result.json").write_text('{"secret": 1}')

    assert rig.get("/api/v1/runs/r1/documents").json() == {"result": {"run_id": "r1"}, "manifest": {}}
    assert rig.get("/api/v1/runs/nothing/documents").json() == {"result": {}, "manifest": {}}
    assert "secret" not in rig.get("/api/v1/runs/../documents").text
    assert "secret" not in rig.get("/api/v1/runs/%2E%2E/documents").text
    assert Rig().get("/api/v1/runs/r1/documents").json() == {}


def test_a_large_log_that_is_read_holds_up_neither_the_list_nor_an_open_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Rig(tmp_path)
    writer.push(5)
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "metrics.hlog").write_bytes((tmp_path / "r1" / "metrics.hlog").read_bytes())
    archive = Archive(tmp_path, clock=writer.clock, history_bytes_max=10**7)
    run = archive.open("r1")
    restore, reads, may_end = Store.restore, threading.Event(), threading.Event()

    def slowly(store: Store, run_id: str) -> RunState:
        reads.set()
        assert may_end.wait(10)
        return restore(store, run_id)

    monkeypatch.setattr(Store, "restore", slowly)
    with ThreadPoolExecutor() as threads:
        opening = threads.submit(archive.open, "large")
        assert reads.wait(10)
        try:
            assert len(threads.submit(archive.heads).result(5)) == 2
            assert threads.submit(archive.open, "r1").result(5) is run
            assert not threads.submit(archive.has_changed, "r1").result(5)
        finally:
            may_end.set()
        assert opening.result(10) is not None


@pytest.mark.parametrize(
    "head",
    [b"#push []", b"#push \xff", b'#note {"kind": 1}', b'#push {"sequence": 1}', b"#note null", b"#push {",
     b"#note " + b"[" * 100_000, b'#push {"start_unix_ns": ' + b"9" * 400 + b', "end_unix_ns": 5}',
     b'#note {"kind": "verdict", "name": "\\ud800"}'],
    ids=range(9),
)  # fmt: skip
def test_a_log_of_nonsense_hides_no_other_run(tmp_path: Path, head: bytes) -> None:
    """Its blocks are whole by their check sums: whoever wrote them, it was not this version."""
    writer = Rig(tmp_path)
    writer.push(5)
    (tmp_path / "nonsense").mkdir()
    block = head + b"\n"
    (tmp_path / "nonsense" / "metrics.hlog").write_bytes(block + b"#end %08x\n" % crc32(block))
    (tmp_path / "folder" / "metrics.hlog").mkdir(parents=True)
    archive = Archive(tmp_path, clock=writer.clock, history_bytes_max=10**7)

    assert [each["run_id"] for each in archive.heads()] == ["r1", "nonsense", "folder"]
    assert {each["run_id"] for each in Rig(tmp_path).get("/api/v1/runs").json()["runs"]} == {"r1", "nonsense", "folder"}
    assert archive.open("nonsense") is not None
    opened = archive.open("r1")
    assert opened is not None
    assert opened.series


def test_a_head_asked_for_has_no_body_and_ends(rig: Rig) -> None:
    rig.push(5)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(rig.app), base_url="http://aggregator") as client:
            return await client.head("/api/v1/runs/r1/events")

    answer = asyncio.run(ask())

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_what_is_pushed_outside_a_run_has_a_place_too(rig: Rig) -> None:
    rig.receiver.run_id = ""
    rig.push(5)

    assert [run["run_id"] for run in rig.get("/api/v1/runs").json()["runs"]] == ["-"]
    assert rig.get("/api/v1/runs/-/data").json()["run_id"] == "-"


def test_export_is_one_file_to_keep(rig: Rig) -> None:
    rig.push(5)

    answer = rig.get("/api/v1/runs/r1/export")

    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="r1.html"'
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert 'id="run-data"' in answer.text


def test_no_name_in_the_data_can_end_a_script_element(rig: Rig) -> None:
    rig.note("title", "</script><b>")
    rig.push(5)

    answer = rig.get("/api/v1/runs/r1/data")

    assert "<" not in answer.text
    assert answer.json()["title"] == "</script><b>"
