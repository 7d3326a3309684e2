"""Faults that a workload plans, in real processes: what comes back passes, a job that loses messages fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from market_spread.common.clock import SystemClock
from market_spread.controller.plan.faults import FaultKeys, RandomFaults
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.run_folder import RunFolder
from market_spread.controller.views.report import pushed
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


def planned(tmp_path: Path, *, loses: bool, **faults: Any) -> Path:
    """The workload of a system of ours with these faults, which loses messages at its restart or does some again."""
    command("init", "fares", folder=tmp_path)
    folder = tmp_path / "fares"
    (folder / "system.py").write_text(SYSTEM.replace("LOSES", str(loses)))
    workload = yaml.safe_load((folder / "workload.yaml").read_text()) | LENIENT
    workload |= {"load": {"profile": "constant", "messages_per_s": 400, "duration_s": 30}, "warm_up": {"duration_s": 1}}
    (folder / "workload.yaml").write_text(yaml.safe_dump({**workload, "slo": {}, "faults": faults}))
    return folder / "workload.yaml"


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "market_spread.controller.cli.main", *words]
    return subprocess.run(whole, cwd=folder, capture_output=True, text=True, timeout=280, check=False)


def test_a_system_that_does_some_again_after_its_restart_passes(tmp_path: Path) -> None:
    kill = {"at_s": 6, "do": "kill", "target": "job", "for_s": 2}
    workload = planned(tmp_path, loses=False, recovers_within_s=22, schedule=[kill])

    ended = command("run", str(workload), "--json", folder=workload.parent)

    assert ended.returncode == 0, ended.stderr
    assert "after fault 1: kill of the job for 2 s" in ended.stderr  # while it ran
    result = json.loads(ended.stdout)
    (folder,) = (workload.parent / "runs").glob("2*")
    noted = json.loads(pushed(RunFolder(folder), SystemClock()) or "{}")["notes"]
    (begun,) = [note for note in noted if note["kind"] == "event" and note["name"] == "planned fault"]
    (known,) = [event for event in result["causes"]["events"] if event["kind"] == "fault"]
    assert (begun["text"], begun["unix_ms"]) == (
        "kill of the job for 2 s",
        pytest.approx(known["begin_unix_ms"], abs=1),
    )
    (fault,) = result["planned_faults"]
    assert fault["text"] == "kill of the job for 2 s"
    assert fault["silence_s"] >= 2
    assert result["job_restarts"] == 1
    assert result["verdicts"]["survives"]["holds"]
    assert (result["alerts_missing"], result["alerts_wrong"]) == (0, 0)


def test_a_torture_finds_a_system_that_loses_messages_at_its_restart(tmp_path: Path) -> None:
    # The one fault that this seed draws is a kill of the job.
    workload = planned(tmp_path, loses=True, recovers_within_s=10, random={"per_minute": 3, "of": ["kill"]})

    words = ("torture", str(workload), "--hours", "0.0001", "--seed", "1", "--runs-folder", "runs", "--json")
    ended = command(*words, folder=tmp_path)

    assert ended.returncode == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert [each["verdict"] for each in found["seeds"]] == ["failed"]
    (kill,) = found["faults"]["kill of the job"]
    assert kill["lost"] > 50
    run = tmp_path / "runs" / "seeds" / "1" / found["seeds"][0]["run_id"]
    assert "loses" in json.loads((run / "result.json").read_text())["decisive"]
    assert read_workload(run.parent / "workload.yaml").faults == FaultKeys(
        seed=1, recovers_within_s=10, random=RandomFaults(per_minute=3, of=("kill",))
    )


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
