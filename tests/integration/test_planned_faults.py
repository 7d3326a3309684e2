"""Faults that a workload plans, in real processes: what comes back passes, a job that loses messages fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.timeout(300), pytest.mark.alone]

# What a busy machine does is not looked at here.
LENIENT: dict[str, Any] = {
    "limits": {"late_ms": 10000, "late_share": 1, "rise_share": 1000, "stall_ms": 10000},
    "void": {"foreign_share": 1, "stolen_share": 1, "drift_share": 1000, "missing_share": 1, "throttled_share": 1},
}
SMALL = Path(__file__).parent / "workloads" / "small.yaml"
# It commits what has its fare; its consumer waits for no one's session to end.
SYSTEM = """
import json, os
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

servers = os.environ["MARKET_SPREAD_BOOTSTRAP_SERVERS"]
consumer = KafkaConsumer(
    bootstrap_servers=servers, group_id=os.environ["MARKET_SPREAD_GROUP"], enable_auto_commit=False,
    auto_offset_reset="earliest",
)
consumer.assign([TopicPartition(os.environ["MARKET_SPREAD_INPUT"], partition) for partition in (0, 1)])
producer = KafkaProducer(bootstrap_servers=servers)
if os.path.exists("ran") and LOSES:
    consumer.seek_to_end()
open("ran", "w").close()
while True:
    for records in consumer.poll(timeout_ms=50).values():
        for record in records:
            trip = json.loads(record.value)
            fare = {"trip_id": trip["trip_id"], "cents": 300 + 180 * trip["km"]}
            producer.send(os.environ["MARKET_SPREAD_OUTPUT"], json.dumps(fare).encode())
    producer.flush()
    consumer.commit()
"""


def run(folder: Path, workload: Path) -> tuple[int, dict[str, Any], str]:
    """Exit status, result, and what was said."""
    command = [sys.executable, "-m", "market_spread.controller.cli.main", "run", str(workload), "--json"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


@pytest.mark.parametrize("loses", [False, True])
def test_a_system_that_loses_messages_at_its_restart_fails_and_one_that_does_some_again_passes(
    tmp_path: Path, loses: bool
) -> None:
    command = [sys.executable, "-m", "market_spread.controller.cli.main", "init", "fares"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    folder = tmp_path / "fares"
    (folder / "system.py").write_text(SYSTEM.replace("LOSES", str(loses)))
    workload = yaml.safe_load((folder / "workload.yaml").read_text()) | LENIENT
    workload |= {"load": {"profile": "constant", "messages_per_s": 400, "duration_s": 45}, "warm_up": {"duration_s": 1}}
    faults = {"recovers_within_s": 35, "schedule": [{"at_s": 6, "do": "kill", "target": "job", "down_s": 2}]}
    (folder / "workload.yaml").write_text(yaml.safe_dump({**workload, "slo": {}, "faults": faults}))

    status, result, said = run(folder, folder / "workload.yaml")

    assert status == (1 if loses else 0), said
    (fault,) = result["planned_faults"]
    assert fault["text"] == "kill of the job for 2 s"
    assert fault["silence_s"] >= 2
    assert result["job_restarts"] == 1
    assert result["verdicts"]["survives"]["holds"] is not loses
    assert ("loses" in result["decisive"], result["alerts_missing"] > 100) == (loses, loses)
    assert result["alerts_wrong"] == 0


def test_our_own_job_survives_a_stop_a_kill_and_the_kill_of_its_receiver(tmp_path: Path) -> None:
    workload = yaml.safe_load(SMALL.read_text()) | LENIENT
    workload["load"]["duration_s"] = 55
    schedule = [
        {"at_s": 4, "do": "stop", "target": "job", "for_s": 3},
        {"at_s": 9, "do": "kill", "target": "receiver"},
        {"at_s": 14, "do": "kill", "target": "job"},
    ]
    path = tmp_path / "workload.yaml"
    path.write_text(yaml.safe_dump({**workload, "faults": {"recovers_within_s": 40, "schedule": schedule}}))

    status, result, said = run(tmp_path, path)

    assert status == 0, said
    stopped, receiver, killed = result["planned_faults"]
    assert 2.9 <= stopped["silence_s"] < 5
    assert receiver["lost"] == stopped["lost"] == killed["lost"] == result["alerts_missing"] == 0
    assert killed["silence_s"] > 3  # a JVM starts
    assert result["job_restarts"] == 1
    assert result["verdicts"]["survives"]["holds"] is True
    assert [each["kind"] for each in result["causes"]["events"]].count("fault") == 3
