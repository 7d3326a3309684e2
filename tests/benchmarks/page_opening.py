"""How heavy the metrics page of a long run is: `python -m tests.benchmarks.page_opening`, a table.

An aggregator is given a made run: 200 alerts and 20,000 messages a second from the 25th second on, every stage, and a
batch boundary every ten seconds. Its intervals are as long as those that the aggregator keeps of that age, so that a
day need not be pushed second by second. A real browser opens the page, each time with an empty cache, and looks at
its last tenth.
"""

import argparse
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from socket import socket

import httpx
import numpy as np
import uvicorn
from playwright.sync_api import Browser

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.http.app import web_app
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.metrics_pb2 import IntervalHistogram, NoteRequest, PushRequest, Sample, SeriesKey
from tests.browser.pictures import chromium
from tests.support.clock import ManualClock

RUN_ID = "20251124-160000-long"
BEGIN_S = 1_764_000_000
STAGES = ("send_lag", "ingest", "compute", "delivery")
SECONDS = {"1 min": 60, "1 h": 3_600, "24 h": 86_400}
# By age in seconds, how long the intervals are that the aggregator keeps; the oldest first.
AGES_S = ((86_400, 60), (10_800, 10), (900, 1))
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
ONLY, FINE = "&only=market_spread_receiver_end_to_end_seconds", "&fine=market_spread_receiver_end_to_end_seconds"
DIGIT = re.compile(r"\d")
TIMES, VARIANTS = 5, 7


@dataclass(frozen=True)
class Opened:
    """What an opening took: bytes on the wire and milliseconds since the navigation began."""

    page_bytes: int
    first_bytes: int
    finer_bytes: int
    painted_ms: float
    figures_ms: float
    range_ms: float


def spans(seconds: int) -> Iterator[tuple[int, int]]:
    """The intervals of such a run, as seconds since its begin."""
    at = 0
    while at < seconds:
        width = next((width for age, width in reversed(AGES_S) if seconds - at <= age), AGES_S[0][1])
        yield at, min(seconds, at + width)
        at += width


@cache
def drawn(median_us: float, count: int, variant: int) -> HdrCounts:
    """So many values; a few variants stand for all intervals of a length, as drawing takes longest."""
    made = HdrCounts()
    made.record(np.random.default_rng(variant).lognormal(np.log(median_us), 0.6, count).astype(np.int64))
    return made


def histogram(name: str, median_us: float, count: int, variant: int, **labels: str) -> IntervalHistogram:
    made = drawn(median_us, count, variant)
    key = SeriesKey(name=f"market_spread_{name}_seconds", labels=labels)
    return IntervalHistogram(
        key=key, encoded=made.encode(), count=made.count, sum=made.sum_us, min=made.min_us, max=made.max_us
    )


def counter(name: str, value: float, **labels: str) -> Sample:
    return Sample(key=SeriesKey(name=f"market_spread_{name}_total", labels=labels), value=value)


def pushes(number: int, begin: int, end: int, variant: int) -> Iterator[PushRequest]:
    """What the three processes push for that time."""
    phase, alerts, messages = "measured" if begin >= 25 else "warm_up", 200 * (end - begin), 20_000 * (end - begin)
    latencies = [
        histogram("receiver_end_to_end", 9_000, alerts, variant, phase=phase),
        histogram("receiver_service", 7_500, alerts, variant, phase=phase),
        *(histogram("receiver_stage", 2_000, alerts, variant, phase=phase, stage=stage) for stage in STAGES),
    ]
    sent = [
        histogram("sender_send_lag", 1_500, messages, variant),
        histogram("sender_frame_delay", 300, messages // 20, variant),
        histogram("sender_acknowledge", 2_000, messages // 20, variant),
    ]
    counts = {
        "receiver": [counter("receiver_alerts", 200 * end, phase=phase)],
        "sender": [
            counter("sender_messages_due", 20_000 * end),
            *(
                counter("sender_messages_sent", 10_000 * end, topic=topic, partition="0")
                for topic in ("nbbo", "orders")
            ),
        ],
        "job": [counter("job_messages_processed", 20_000 * end), counter("job_records_read", 1_000 * end)],
    }
    for source, counters in counts.items():
        yield PushRequest(
            source=source, run_id=RUN_ID, epoch_unix_ns=BEGIN_S * 10**9, sequence=number + 1, host="host-1",
            start_unix_ns=(BEGIN_S + begin) * 10**9, end_unix_ns=(BEGIN_S + end) * 10**9,
            histograms={"receiver": latencies, "sender": sent}.get(source, []),
            counters=[*counters, counter("process_cpu_seconds", 0.4 * end)],
        )  # fmt: skip


def filled(seconds: int) -> tuple[Store, ManualClock]:
    """A store with the run, and a clock at its end."""
    clock = ManualClock(unix_ns=(BEGIN_S + seconds) * 10**9)
    store = Store(clock=clock)
    for number, (begin, end) in enumerate(spans(seconds)):
        for request in pushes(number, begin, end, number % VARIANTS):
            store.push(request)
    for at, name in ((0, "starting"), (25, "measuring")):
        store.note(NoteRequest(run_id=RUN_ID, unix_ns=(BEGIN_S + at) * 10**9, kind="phase", name=name))
    return store, clock


def opened(browser: Browser, url: str, seconds: int) -> Opened:
    """Open the run's overview, then look at a tenth of it."""
    page = browser.new_context().new_page()
    begun = time.monotonic()
    page.goto(f"{url}#/overview?run={RUN_ID}")
    page.locator(".figures b", has_text=DIGIT).first.wait_for()
    figures_ms = (time.monotonic() - begun) * 1000
    painted_ms = page.evaluate(PAINTED)
    before = page.locator(".range .length").first.inner_text()
    end_ms = (BEGIN_S + seconds) * 1000
    begun = time.monotonic()
    page.evaluate(f"location.hash = '#/overview?run={RUN_ID}&range={end_ms - seconds * 100}-{end_ms}'")
    page.wait_for_function("before => document.querySelector('.range .length').textContent !== before", arg=before)
    range_ms = (time.monotonic() - begun) * 1000
    page.context.close()
    headers = {"accept-encoding": "gzip"}
    files = [
        url,
        *(
            f"{url}static/{name}"
            for name in ("app.js", "style.css", "vendor/uPlot.iife.min.js", "vendor/uPlot.min.css")
        ),
    ]
    data, is_long = f"{url}api/v1/runs/{RUN_ID}/data", seconds > 600
    *sizes, first, finer = (
        wire_bytes(each, headers)
        for each in (*files, *((f"{data}?points=60{ONLY}", f"{data}?points=240{FINE}") if is_long else (data, data)))
    )
    return Opened(sum(sizes), first, finer if is_long else 0, painted_ms, figures_ms, range_ms)


def wire_bytes(url: str, headers: dict[str, str]) -> int:
    with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
        answer.raise_for_status()
        return sum(map(len, answer.iter_raw()))


def measured(browser: Browser, seconds: int) -> list[Opened]:
    store, clock = filled(seconds)
    listening = socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = uvicorn.Server(uvicorn.Config(web_app(store, clock), log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    found = [opened(browser, f"http://127.0.0.1:{listening.getsockname()[1]}/", seconds) for _ in range(TIMES)]
    server.should_exit = True
    return found


def main() -> None:
    """Print the table: medians of so many openings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", action="append", choices=SECONDS)
    lengths = parser.parse_args().length or list(SECONDS)
    print(
        "| run | page, kB | data it opens with, kB | finer data then, kB "
        "| first paint, ms | figures, ms | a tenth of it, ms |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with chromium() as browser:
        for length in lengths:
            found = measured(browser, SECONDS[length])
            rows = [
                (
                    *(size / 1000 for size in (each.page_bytes, each.first_bytes, each.finer_bytes)),
                    each.painted_ms,
                    each.figures_ms,
                    each.range_ms,
                )
                for each in found
            ]
            print(f"| {length} | " + " | ".join(f"{value:,.0f}" for value in np.median(rows, axis=0)) + " |")


if __name__ == "__main__":
    main()
