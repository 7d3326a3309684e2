"""What judging and reporting a long run takes of memory: `python tests/benchmarks/long_run.py`, a table.

30 minutes at 3,000,000 messages a second are simulated by what matters of them. Messages that no judgement depends
on (quotes and orders of symbols that accept) are left out: the book and the oracle drop those at once, chunk by chunk.
What is drawn is every quote of the symbols that reject, 15 of 350, every order on them, and every alert.
"""

import argparse
import dataclasses
import json
import multiprocessing
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from market_spread.common.clock import SystemClock
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.latency import latencies_of
from market_spread.controller.archive import histograms
from market_spread.controller.host.timeline import Sampler, Timeline, write
from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.loadgen.oracle.oracle import Oracle
from tests.support.judging import is_right

MESSAGES_PER_S = 3_000_000
QUOTES_PER_S = MESSAGES_PER_S // 2 * 15 // 350
ALERTS_PER_S = 200 + MESSAGES_PER_S // 2 // 70_000
BEGIN_US = 1_700_000_000_000_000
SYMBOLS = np.array([f"R{number:<5}".encode() for number in range(15)], "S6")
LEDGER_LINE_BYTES = 175


def quotes(minutes: int) -> Iterator[Quotes]:
    """Every quote of the symbols that reject, a chunk for each second."""
    for second in range(60 * minutes):
        numbers = np.arange(second * QUOTES_PER_S, (second + 1) * QUOTES_PER_S)
        bid = 1_000_000 + numbers % 1000
        yield Quotes(
            SYMBOLS[numbers % 15], bid, bid + 10_000, numbers // 15 + 1, BEGIN_US + numbers * 1_000_000 // QUOTES_PER_S
        )


def alerts(minutes: int) -> Alerts:
    """An alert for each order on those symbols, that names the newest quote of a millisecond before."""
    count = 60 * minutes * ALERTS_PER_S - 10
    order_id = np.arange(1, count + 1)
    intended_us = BEGIN_US + 10_000 + order_id * 1_000_000 // ALERTS_PER_S
    newest = (intended_us - 1_000 - BEGIN_US) * QUOTES_PER_S // 1_000_000
    numbers = newest - (newest - order_id) % 15
    bid = 1_000_000 + numbers % 1000
    return Alerts(
        order_id, SYMBOLS[numbers % 15], np.full(count, ord("B"), np.uint8), np.full(count, 57), np.full(count, 640),
        np.full(count, 1_000_000), intended_us, bid, bid + 10_000, numbers // 15 + 1,
        intended_us + 100, intended_us + 500, intended_us + 1_000, intended_us + 1_500,
    )  # fmt: skip


def judge(minutes: int) -> dict[str, float]:
    """Judge such a run; the oracle takes the input as it comes."""
    theirs = alerts(minutes)
    oracle = Oracle(theirs)
    for chunk in quotes(minutes):
        oracle.add_quotes(chunk)
    orders = Orders(*(getattr(theirs, field.name) for field in dataclasses.fields(Orders)))
    for begin in range(0, len(orders), 1_000_000):
        oracle.add_orders(orders[begin : begin + 1_000_000])
    judgement = oracle.judgement()
    assert is_right(judgement), judgement
    latencies = latencies_of(theirs, [], batch_s=0, from_us=0)
    with TemporaryDirectory() as folder:
        log = histograms.write(
            Path(folder) / "latency.hlog",
            histograms.by_second(theirs.intended_us, theirs.received_us - theirs.intended_us),
        )
        hlog_bytes = log.stat().st_size
    return {
        "alerts": len(theirs),
        "ledger_mb": len(theirs) * LEDGER_LINE_BYTES / 1e6,
        "histogram_kb": HdrCounts(latencies.alerts.received_us - latencies.alerts.intended_us).counts.nbytes / 1e3,
        "hlog_mb": hlog_bytes / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def timeline(minutes: int) -> dict[str, float]:
    """Sample so many seconds at once, of this machine, and read the timeline back."""
    clock = SystemClock()
    with TemporaryDirectory() as folder:
        sampler = Sampler(Path(folder) / "samples", clock=clock, processes=dict)
        sampler.start()
        cpu_ns, seconds = time.process_time_ns(), 60 * minutes
        for _ in range(seconds):
            sampler.sample()
        cpu_us = (time.process_time_ns() - cpu_ns) / 1000 / seconds
        sampler.close()
        path = write(Path(folder) / "samples", Path(folder) / "timeline.parquet", [])
        Timeline.read(path)
        return {"timeline_mb": path.stat().st_size / 1e6, "sample_us": cpu_us}


def measured(minutes: int) -> dict[str, float]:
    """Both, each in a process of its own, so that a peak is that of its length."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        begun = time.monotonic()
        found = pool.apply(judge, (minutes,))
        found |= {"judged_s": time.monotonic() - begun}
        return {"minutes": minutes, **found, **pool.apply(timeline, (minutes,))}


def main() -> None:
    """Print a table, and JSON if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, nargs="+", default=[1, 5, 15, 30])
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    asked = parser.parse_args()
    assert HdrCounts().counts.nbytes < 200_000
    rows = [measured(minutes) for minutes in asked.minutes]
    print("| " + " | ".join(rows[0]) + " |\n" + "|---" * len(rows[0]) + "|")
    for row in rows:
        print("| " + " | ".join(f"{value:,.0f}" if value >= 100 else f"{value:,.2f}" for value in row.values()) + " |")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
