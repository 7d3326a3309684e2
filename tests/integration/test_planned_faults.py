"""Faults that a workload plans, in real processes: what comes back passes, a job that loses messages fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(300)

# What a busy machine does is not looked at here.
LENIENT: dict[str, Any] = {
    "limits": {"late_ms": 10000, "late_share": 1, "rise_share": 1000, "stall_ms": 10000},
    "void": {"foreign_share": 1, "stolen_share": 1, "drift_share": 1000, "missing_share": 1, "throttled_share": 1},
}
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


def fares(folder: Path, system: str, *faults: dict[str, Any]) -> Path:
    """A workload of 400 trips a second for half a minute, with these faults; its file."""
    command = [sys.executable, "-m", "market_spread.controller.cli.main", "init", "fares"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    (folder / "fares" / "system.py").write_text(system)
    path = folder / "fares" / "workload.yaml"
    workload = yaml.safe_load(path.read_text()) | LENIENT
    workload |= {"load": {"profile": "constant", "messages_per_s": 400, "duration_s": 30}, "warm_up": {"duration_s": 1}}
    workload |= {"slo": {}, "faults": {"recovers_within_s": 6, "schedule": list(faults)}}
    path.write_text(yaml.safe_dump(workload))
    return path


@pytest.mark.alone
def test_faults_of_links_cost_what_they_plan_and_lose_nothing(tmp_path: Path) -> None:
    sender, job, receiver = ["sender", "broker"], ["job", "broker"], ["receiver", "broker"]
    workload = fares(
        tmp_path,
        SYSTEM.replace("LOSES", "False"),
        {"at_s": 4, "do": "lose_acks", "between": sender, "for_s": 3, "share": 0.05},
        {"at_s": 8, "do": "partition", "between": job, "for_s": 5},
        {"at_s": 14, "do": "lose_acks", "between": job, "for_s": 2, "share": 0.05},
        {"at_s": 17, "do": "link", "between": receiver, "for_s": 2, "reset_share": 0.05},
        {"at_s": 20.5, "do": "link", "between": sender, "for_s": 3, "delay_ms": 50},
    )

    status, result, said = run(workload.parent, workload)

    assert status == 0, said
    lost_sent, parted, lost_answers, reset, delayed = result["planned_faults"]
    assert delayed["text"] == "link (delay_ms 50) between sender and broker for 3 s"
    assert 0.035 <= delayed["slower_s"] <= 0.25
    assert 4.5 <= parted["silence_s"] <= 6.5
    assert min(each["resets"] for each in (lost_sent, lost_answers, reset)) > 0
    assert [each["resets"] for each in (delayed, parted)] == [0, 0]
    counts = [(each["lost"], each["doubled"]) for each in result["planned_faults"]]
    assert counts == [(0, 0)] * 5
    assert (result["messages_sent"], result["alerts_received"]) == (12000, 12000)
    assert result["verdicts"]["survives"]["holds"]


# What a producer must not do on a link that may break, and what the verdict calls it.
@pytest.mark.parametrize(
    ("producer", "fault", "wrong"),
    [
        ("retries=0, enable_idempotence=False", {"do": "link", "reset_share": 0.1}, "missing"),
        ("enable_idempotence=False", {"do": "lose_acks", "share": 0.1}, "duplicated"),
    ],
)
def test_a_system_that_writes_without_care_on_a_link_that_breaks_fails(
    tmp_path: Path, producer: str, fault: dict[str, Any], wrong: str
) -> None:
    system = "from contextlib import suppress\nfrom kafka.errors import KafkaError\n" + SYSTEM.replace("LOSES", "False")
    system = system.replace("KafkaProducer(bootstrap", f"KafkaProducer({producer}, bootstrap")
    system = system.replace(
        "    consumer.commit()", "    with suppress(KafkaError):  # the next one has it\n        consumer.commit()"
    )
    workload = fares(tmp_path, system, {**fault, "at_s": 5, "for_s": 10, "between": ["job", "broker"]})

    status, result, said = run(workload.parent, workload)

    assert status == 1, said
    assert result["planned_faults"][0]["resets"] > 0
    assert result[f"alerts_{wrong}"] > 0, result["faults"]
    assert result["verdict"] == "failed"


@pytest.mark.parametrize("loses", [False, True])
def test_a_system_that_loses_messages_at_its_restart_fails_and_one_that_does_some_again_passes(
    tmp_path: Path, loses: bool
) -> None:
    command = [sys.executable, "-m", "market_spread.controller.cli.main", "init", "fares"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    folder = tmp_path / "fares"
    (folder / "system.py").write_text(SYSTEM.replace("LOSES", str(loses)))
    workload = yaml.safe_load((folder / "workload.yaml").read_text()) | LENIENT
    workload |= {"load": {"profile": "constant", "messages_per_s": 400, "duration_s": 30}, "warm_up": {"duration_s": 1}}
    faults = {"recovers_within_s": 22, "schedule": [{"at_s": 6, "do": "kill", "target": "job", "for_s": 2}]}
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


# Starts a child, suspends it, and is killed before that may go on.
SUSPENDS = """
import os, signal, sys
from pathlib import Path
from market_spread.controller.deploy.local.services import Child

inner = "import time; print(1, flush=True); time.sleep(60)"
child = Child.start("x", [sys.executable, "-c", inner], environment=dict(os.environ), log=Path("log"))
while not Path("log").read_text():
    pass
go_on = child.suspend()
print(child.pid, flush=True)
KILLED and os.kill(os.getpid(), signal.SIGKILL)
go_on()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_what_is_suspended_goes_on_when_it_is_told_to_or_the_controller_is_killed(tmp_path: Path, killed: bool) -> None:
    said = subprocess.run(
        [sys.executable, "-c", SUSPENDS.replace("KILLED", str(killed))],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    # Either way its parent has ended, and the kernel has told it: who is suspended cannot hear that.
    pid = int(said.stdout)
    assert said.returncode == (-9 if killed else 0), said.stderr
    eventually("it has ended", lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")
