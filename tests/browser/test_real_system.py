"""The page and the report of systems that are not ours: real runs, one of them with a partition that is slow."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page

from tests.browser.conftest import Open
from tests.browser.page_fixtures import Table, blank_canvases, table

PAGES = ("overview", "pipeline", "workers", "workers/job", "workers/receiver", "computations", "computations/compute")
OF_OURS = re.compile(r"\b(alerts?|orders?|quotes?|nbbo)\b", re.IGNORECASE)
LENIENT = {
    "limits": {"late_ms": 10000, "late_share": 1, "rise_share": 1000, "stall_ms": 6000},
    "void": {"foreign_share": 1, "stolen_share": 1, "drift_share": 1000, "missing_share": 1, "throttled_share": 1},
    "slo": {},
}
# A thread for each partition; that of partition 1 does 125 messages a second, and 200 come.
SLOW_SYSTEM = """
import json
import os
import threading
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

SERVERS = os.environ["MARKET_SPREAD_BOOTSTRAP_SERVERS"]


def work(partition):
    consumer = KafkaConsumer(
        bootstrap_servers=SERVERS,
        group_id=os.environ["MARKET_SPREAD_GROUP"],
        auto_offset_reset="earliest",
        auto_commit_interval_ms=500,
        max_poll_records=20,
    )
    consumer.assign([TopicPartition(os.environ["MARKET_SPREAD_INPUT"], partition)])
    producer = KafkaProducer(bootstrap_servers=SERVERS)
    for record in consumer:
        if partition == 1:
            time.sleep(0.008)
        trip = json.loads(record.value)
        fare = {"trip_id": trip["trip_id"], "cents": 300 + 180 * trip["km"]}
        producer.send(os.environ["MARKET_SPREAD_OUTPUT"], json.dumps(fare).encode())


threads = [threading.Thread(target=work, args=(partition,)) for partition in (0, 1)]
for each in threads:
    each.start()
"""

pytestmark = pytest.mark.timeout(300)


def market_spread(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "market_spread.controller.cli.main", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


def run_of(folder: Path, template: str, *, system: str = "", **keys: Any) -> Path:
    """The folder of a run of what `init` writes, made short and lenient."""
    made = market_spread("init", template, "--template", template, folder=folder)
    assert made.returncode == 0, made.stderr
    at = folder / template
    workload = yaml.safe_load((at / "workload.yaml").read_text()) | LENIENT | keys
    (at / "workload.yaml").write_text(yaml.safe_dump(workload))
    if system:
        (at / "system.py").write_text(system)
    ended = market_spread("run", "workload.yaml", folder=at)
    assert ended.returncode == 0, ended.stderr
    (run,) = (at / "runs").iterdir()
    return run


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a system whose partition 1 is slow. Its messages have no key, so that the partitions take turns."""
    source = {"topic": "trips", "from": {"generator": "load.py:trips"}, "partitions": 2}
    load = {"profile": "constant", "messages_per_s": 400, "duration_s": 10}
    return run_of(
        tmp_path_factory.mktemp("slow"), "loop", system=SLOW_SYSTEM, input=[source], load=load,
        warm_up={"duration_s": 2, "settle_s": 1},
    )  # fmt: skip


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    load = {"profile": "constant", "messages_per_s": 300, "duration_s": 8}
    return run_of(
        tmp_path_factory.mktemp("pipeline"),
        "word_count",
        load=load,
        warm_up={"duration_s": 2, "settle_s": 1, "batches": 2},
    )


def page_of(run: Path, watched: Open, name: str, part: str = "whole") -> Page:
    return watched().open(
        (run / "metrics.html").as_uri() + f"#/{name}?range={part}", until="main canvas:visible, main table:visible"
    )


def number(text: str) -> float:
    return float(text.replace(",", ""))


def check_slow_partition(inputs: Table, latencies: Table, messages: int) -> None:
    """messages: how many were measured."""
    quick, slow = inputs["trips/0"], inputs["trips/1"]
    assert all(150 < number(row["sent/s"]) < 210 for row in (quick, slow))  # the phase is longer than the load
    assert number(quick["behind at most"]) * 3 < number(slow["behind at most"])
    assert 300 < number(slow["behind at most"]) < 1500
    assert (quick["behind at the end"], slow["behind at the end"]) == ("0", "0")
    assert number(latencies["fares"]["n"]) == messages
    assert [number(latencies[f"fares, of trips/{at}"]["n"]) for at in (0, 1)] == [messages / 2, messages / 2]
    assert number(latencies["fares, of trips/0"]["p50"]) * 3 < number(latencies["fares, of trips/1"]["p50"])


CAPTIONS = ("Input by topic and partition", "Latency by output topic, and by the partition of the message")


def test_the_slow_partition_is_named_with_its_backlog_and_its_latency(slow: Path, watched: Open) -> None:
    page = page_of(slow, watched, "pipeline")

    check_slow_partition(*(table(page, caption) for caption in CAPTIONS), messages=4000)
    said = page.locator("section", has_text="Partitions").locator("p.summary").last.inner_text()
    assert re.search(r"trips/1 was [\d,]+ messages behind at 0:\d\d, no other partition more than \d+ messages?", said)
    assert re.search(r"trips/1 is slow: its outputs have a p50 of [\d.,]+ m?s, all others [\d.,]+ ms\.", said)
    overview = page_of(slow, watched, "overview")
    assert any("trips/1 was" in text for text in overview.locator(".findings li").all_inner_texts())


def test_the_report_names_it_too(slow: Path, watched: Open) -> None:
    page = watched().open((slow / "report.html").as_uri(), until="canvas")

    assert page.get_by_text("trips/1 is slow").is_visible()
    assert number(table(page, CAPTIONS[0])["trips/1"]["behind at most"]) > 300
    assert not OF_OURS.search(page.locator("main").inner_text())


def test_each_process_is_a_worker_with_cpu_memory_and_rate(slow: Path, watched: Open) -> None:
    workers = table(page_of(slow, watched, "workers"), "The processes of this run")

    assert sorted(workers) == ["job", "receiver", "sender-0"]
    assert workers["job"]["what it does"] == "runs your system, and watches it"
    for row in workers.values():
        assert number(row["messages/s"]) > 100
        assert number(row["CPU cores"]) > 0
        assert row["memory"].endswith("MiB")


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_a_system_speak_of_messages_and_outputs(slow: Path, watched: Open, name: str) -> None:
    watching = watched()

    page = watching.open(
        (slow / "metrics.html").as_uri() + f"#/{name}", until="main canvas:visible, main table:visible"
    )

    assert not OF_OURS.search(page.locator("main").inner_text())
    assert "output" in page.locator("main").inner_text().lower()
    assert blank_canvases(page) == []
    assert watching.complaints == []


@pytest.mark.full
def test_steps_of_a_pipeline_have_the_names_of_its_user(pipeline: Path, watched: Open) -> None:
    steps = table(page_of(pipeline, watched, "computations"), "Steps of the pipeline")

    assert {name: row["timed in"] for name, row in steps.items()} == {
        "source words": "Broker and read",
        "key by word": "Computation",
        "running total count": "Computation",
        "sink counts": "Sink and delivery",
    }
    assert 200 < number(steps["source words"]["messages/s in"]) < 315
    assert 200 < number(steps["sink counts"]["messages/s out"]) < 400
    assert {row["messages/s in"] for name, row in steps.items() if not name.startswith("source")} == {"–"}


@pytest.mark.full
def test_partitions_of_a_pipeline_are_told_by_its_commits(pipeline: Path, watched: Open) -> None:
    result = json.loads((pipeline / "result.json").read_text())
    page = page_of(pipeline, watched, "pipeline")

    inputs, latencies = (table(page, caption) for caption in CAPTIONS)
    assert {name: row["behind at the end"] for name, row in inputs.items()} == dict.fromkeys(inputs, "0")
    assert number(latencies["counts"]["n"]) == result["alerts_received"] == 2400
    assert page.get_by_text("Spark commits at the end of a batch").is_visible()
    assert "runs your pipeline in Spark" in page.locator("main").inner_text()
