"""Systems that are not ours, under load by a workload: what is right passes, and each planted fault is told."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import yaml
from click.testing import CliRunner
from kafka import KafkaProducer

from market_spread.common.kafka.client import Consumer, KafkaBroker, Record
from market_spread.controller.cli.main import main
from market_spread.controller.deploy.local.broker import Broker
from tests.support.waiting import eventually

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.timeout(300)

# What a busy machine does is not looked at here.
LENIENT: dict[str, Any] = {
    "limits": {"late_ms": 10000, "late_share": 1, "rise_share": 1000, "stall_ms": 6000},
    "void": {"foreign_share": 1, "stolen_share": 1, "drift_share": 1000, "missing_share": 1, "throttled_share": 1},
}


def market_spread(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "market_spread.controller.cli.main", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope="module")
def as_init_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init")
    made = market_spread("init", "fares", folder=folder)
    assert made.returncode == 0, made.stderr
    return folder / "fares"


@pytest.fixture
def fares(as_init_writes: Path, tmp_path: Path) -> Path:
    """A folder with what `init` has written, changed so that it is short and a slow machine is no matter.

    Its name has what Java's properties and Kafka's lists of folders take for something else.
    """
    folder = tmp_path / "fares, each für sich"
    shutil.copytree(as_init_writes, folder)
    change(folder, load={"profile": "constant", "messages_per_s": 400, "duration_s": 6}, slo={}, **LENIENT)
    change(folder, warm_up={"duration_s": 1})
    return folder


@pytest.fixture
def shared(fares: Path, broker: Broker) -> Path:
    """The same on the broker that tests share, which is warm; its topics are its own."""
    change(fares, kafka={"bootstrap": broker.bootstrap_servers, "prefix": f"{fares.parent.name}."})
    return fares


def change(folder: Path, *, file: str = "workload.yaml", **keys: Any) -> None:
    path = folder / file
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **keys}, sort_keys=False))


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run(folder: Path) -> tuple[int, dict[str, Any], str]:
    """Exit status, result, and what was said."""
    ended = market_spread("run", "workload.yaml", "--json", folder=folder)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {"verdict": ended.stderr}, ended.stderr


def test_what_init_writes_passes_and_its_document_has_the_figures(fares: Path) -> None:
    status, result, said = run(fares)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert result["mode"] == "command"
    assert (result["alerts_expected"], result["alerts_received"], result["messages_sent"]) == (2400, 2400, 2400)
    assert result["conservation"] == {"sent": 2800, "processed": 2800, "invalid": 0, "in_flight": 0}
    assert result["latency_samples"] == 2400
    assert result["stages_ns"]["ingest"]["max"] == 0  # it has no stamps
    assert 0 < result["latency_ns"]["p50"] <= result["latency_ns"]["max"] < 10_000_000_000
    assert result["cpu_us_per_message"] > 0
    (folder,) = (fares / "runs").iterdir()
    for name in ("run.md", "report.html", "metrics.html", "manifest.json", "alerts.ledger", "workload.yaml"):
        assert (folder / name).stat().st_size > 0, name
    document = (folder / "run.md").read_text()
    assert "| outputs missing | holds | no outputs are missing |" in document
    assert "market-spread run workload.yaml" in document
    assert "outputs   " in said
    # The market's words are for the market; said are the progress and the table of the result.
    for text in (said, document.partition("## Machine")[0]):
        assert re.findall(r"\b(?:alert|order|quote)s?\b", text) == []


FAULTS = """
        if trip["trip_id"] == 500:
            continue
        if trip["trip_id"] == 600:
            producer.send(os.environ["MARKET_SPREAD_OUTPUT"], json.dumps(fare).encode())
        if trip["trip_id"] == 700:
            fare["cents"] += 1
        if trip["trip_id"] == 800:
            producer.send(os.environ["MARKET_SPREAD_OUTPUT"], b'{"trip_id": 1000000000}')
"""


def test_lost_doubled_wrong_and_invented_outputs_fail_the_run_each_by_its_name(shared: Path) -> None:
    system = shared / "system.py"
    place = '        producer.send(os.environ["MARKET_SPREAD_OUTPUT"]'
    text = system.read_text()
    assert place in text
    system.write_text(text.replace(place, FAULTS.lstrip("\n") + place))
    status, result, said = run(shared)
    assert (status, result["verdict"], result["cause"]) == (1, "failed", "system"), said
    counts = {name: result[f"alerts_{name}"] for name in ("missing", "duplicated", "wrong", "unexpected")}
    assert counts == {"missing": 1, "duplicated": 1, "wrong": 1, "unexpected": 0}
    # The warm-up took the first 400 trips.
    assert result["faults"]["missing"][0].startswith("message 100 lacks the output")
    assert result["faults"]["duplicated"][0].startswith("message 200 has the output")
    assert result["faults"]["wrong"][0].startswith("message 300 has the output")
    assert any("1 outputs name no message" in reason for reason in result["reasons"])


def test_without_a_check_loss_and_doubles_are_found_and_values_are_not_looked_at(shared: Path) -> None:
    system = shared / "system.py"
    place = '        producer.send(os.environ["MARKET_SPREAD_OUTPUT"]'
    only = FAULTS.replace("600", "1500").partition('        if trip["trip_id"] == 800')[0]
    system.write_text(system.read_text().replace(place, only.lstrip("\n") + place))
    workload = yaml.safe_load((shared / "workload.yaml").read_text())
    del workload["check"]
    (shared / "workload.yaml").write_text(yaml.safe_dump(workload))
    status, result, said = run(shared)
    assert status == 1, said
    counts = {name: result[f"alerts_{name}"] for name in ("missing", "duplicated", "wrong", "unexpected")}
    assert counts == {"missing": 1, "duplicated": 1, "wrong": 0, "unexpected": 0}
    assert result["faults"]["missing"] == ["message 100 has no output"]


PROTOBUF = """
import fares_pb2

TRIP, FARE = fares_pb2.Trip, fares_pb2.Fare


def encoded(kind, value):
    return kind(**value).SerializeToString()


def decoded(kind, data):
    read = kind.FromString(data)
    return {field.name: getattr(read, field.name) for field in kind.DESCRIPTOR.fields}


def trip_id(record):
    return decoded(TRIP, record.value)["trip_id"]


def fare_id(record):
    return decoded(FARE, record.value)["trip_id"]


def fare(data):
    return decoded(FARE, data)
"""
UNREADABLE = """

def fare(data):
    if (value := decoded(FARE, data))["trip_id"] == 900:
        print("no result")
        raise SystemExit("no fare")
    return value
"""
PROTO = """
syntax = "proto3";
message Trip { int64 trip_id = 1; string city = 2; int32 km = 3; }
message Fare { int64 trip_id = 1; int32 cents = 2; }
"""


def of_the_page(fares: Path) -> str:
    """What the documentation has for Avro."""
    (code,) = re.findall(r"```python\n(.*?formats\.py.*?)```", (DOCS / "your-system.md").read_text(), re.DOTALL)
    return str(code)


def in_protobuf(fares: Path) -> str:
    (fares / "fares.proto").write_text(PROTO)
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=.", "fares.proto"]
    subprocess.run(command, cwd=fares, check=True, timeout=60)
    return PROTOBUF


SENT_ON = '        producer.send(os.environ["MARKET_SPREAD_OUTPUT"], json.dumps(fare).encode())\n'
TWO_OUTPUTS = """        fares_topic, receipts_topic = os.environ["MARKET_SPREAD_OUTPUT"].split(",")
        producer.send(fares_topic, encoded(FARE, fare))
        producer.send(receipts_topic, b"trip %d" % trip["trip_id"], headers=[("trip", b"%d" % trip["trip_id"])])
"""
WITH_FAULTS = """        fares_topic, receipts_topic = os.environ["MARKET_SPREAD_OUTPUT"].split(",")
        fare["cents"] += trip["trip_id"] == 700
        if trip["trip_id"] != 500:
            producer.send(fares_topic, encoded(FARE, fare))
        for _ in range(1 + (trip["trip_id"] == 600)):
            producer.send(receipts_topic, b"trip %d" % trip["trip_id"], headers=[("trip", b"%d" % trip["trip_id"])])
"""
RECEIPTS = """

def with_receipts(messages):
    for message, fare in check(messages):
        yield message, fare, "fares"
        yield message, f"trip {fare['trip_id']}", "receipts"
"""


@pytest.mark.parametrize("code_of", [of_the_page, pytest.param(in_protobuf, marks=pytest.mark.full)])
def test_messages_in_avro_and_protobuf_and_several_outputs_are_sent_found_and_compared(
    code_of: Callable[[Path], str], shared: Path
) -> None:
    (shared / "formats.py").write_text(code_of(shared))
    own = "from formats import FARE, TRIP, decoded, encoded\nimport json"
    for name in ("load.py", "check.py", "system.py"):
        text = (shared / name).read_text()
        (shared / name).write_text(
            text.replace("import json" if "import json" in text else "import random", own + "\nimport random", 1)
        )
    edit(shared / "load.py", 'yield {"trip_id"', 'yield encoded(TRIP, {"trip_id"')
    edit(shared / "load.py", "draw.randint(1, 40)}", "draw.randint(1, 40)})")
    edit(shared / "check.py", "json.loads(message.value)", "decoded(TRIP, message.value)")
    (shared / "check.py").write_text((shared / "check.py").read_text() + RECEIPTS)
    edit(shared / "system.py", "json.loads(record.value)", "decoded(TRIP, record.value)")
    edit(shared / "system.py", SENT_ON, TWO_OUTPUTS)
    source = {"topic": "trips", "from": {"generator": "load.py:trips"}, "id": {"function": "formats.py:trip_id"}}
    fares = {"topic": "fares", "finds": {"function": "formats.py:fare_id"}, "reads": "formats.py:fare"}
    receipts = {"topic": "receipts", "finds": {"header": "trip"}}
    change(shared, input=[source], output=[fares, receipts], check="check.py:with_receipts")

    status, result, said = run(shared)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert (result["alerts_expected"], result["alerts_received"], result["latency_samples"]) == (4800, 4800, 4800)

    edit(shared / "system.py", TWO_OUTPUTS, WITH_FAULTS)
    with (shared / "formats.py").open("a") as code:
        code.write(UNREADABLE)
    status, result, said = run(shared)
    assert status == 1, said
    assert [result[f"alerts_{name}"] for name in ("missing", "duplicated", "wrong")] == [1, 1, 2]
    assert result["faults"]["missing"][0].endswith("in fares")
    assert result["faults"]["duplicated"][0].endswith("in receipts once more than is right")
    value, unread = result["faults"]["wrong"]
    assert value.startswith('message 300 has the output {"cents":')
    assert unread.startswith("message 500 has the output that raises SystemExit (no fare) at formats.py:")


FINDS = """

def find(record):
    fare = json.loads(record.value)
    if WHICH:
        raise ValueError("no trip")
    return fare["trip_id"]
"""


@pytest.mark.parametrize(
    ("which", "unread", "missing", "has_check"),
    [('fare["trip_id"] == 900', 1, 1, True), pytest.param("True", 2800, 2400, False, marks=pytest.mark.full)],
)
def test_outputs_that_a_function_cannot_read_fail_the_run_with_the_line(
    shared: Path, which: str, unread: int, missing: int, has_check: bool
) -> None:
    """With a check and without one; and if it is all of them, those of the warm-up too."""
    with (shared / "check.py").open("a") as code:
        code.write(FINDS.replace("WHICH", which))
    keys = yaml.safe_load((shared / "workload.yaml").read_text())
    output = {"topic": "fares", "finds": {"function": "check.py:find"}}
    change(shared, input=[keys["input"][0] | {"id": {"field": "trip_id"}}], output=[output])
    if not has_check:
        change(shared, check=None)

    status, result, said = run(shared)

    assert (status, result["verdict"], result["cause"]) == (1, "failed", "system"), said
    (reason,) = (each for each in result["reasons"] if "cannot be read" in each)
    assert reason.startswith(f"{unread:,} output")
    assert re.search(r"check\.py:\d+: .*check\.py:find raised ValueError: no trip; mend it there$", reason)
    assert result["alerts_missing"] == missing
    assert result["conservation"]["processed"] == 2800
    (folder,) = (shared / "runs").iterdir()
    assert "no trip" in (folder / "run.md").read_text()


# Ends at once, and leaves a daemon: a child of nobody, in a session of its own.
LEAVES_A_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if (pid := os.fork()) == 0:
        time.sleep(600)
    open("pid", "w").write(str(pid))
    os._exit(0)
os.wait()
raise SystemExit("no licence on this machine")
"""


def test_a_system_that_ends_fails_the_run_with_its_last_words_and_leaves_nothing_behind(fares: Path) -> None:
    (fares / "system.py").write_text(LEAVES_A_DAEMON)
    status, _, said = run(fares)
    assert status == 1
    assert "it ended with status 1 by itself: no licence on this machine (log: " in " ".join(said.split())
    assert "Traceback" not in said
    assert not psutil.pid_exists(int((fares / "pid").read_text()))


def refusal(folder: Path) -> tuple[int, str]:
    """Exit status of a run that is refused before anything starts, and what it says: here, where PySpark is read in."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with chdir(folder):
        ended = CliRunner().invoke(main, ["run", "workload.yaml", "--json"])
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert isinstance(ended.exception, SystemExit)
    assert ended.stdout == ""
    return ended.exit_code, " ".join(ended.stderr.split())


def of_template(folder: Path, template: str, **keys: Any) -> Path:
    """What `init` writes for it, made short and lenient."""
    made = market_spread("init", template, "--template", template, folder=folder)
    assert made.returncode == 0, made.stderr
    load = {"profile": "constant", "messages_per_s": 400, "duration_s": 6}
    change(
        folder / template, **{"load": load, "slo": {}, "warm_up": {"duration_s": 2, "batches": 2}, **LENIENT, **keys}
    )
    return folder / template


def test_a_pipeline_in_real_time_passes(tmp_path: Path) -> None:
    pipeline = of_template(tmp_path, "word_count")
    status, result, said = run(pipeline)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert (result["mode"], result["alerts_received"], result["alerts_missing"]) == ("real-time", 2400, 0)
    assert result["conservation"] == {"sent": 3200, "processed": 3200, "invalid": 0, "in_flight": 0}
    # Batches of real time take a minute: what it has done is seen while one runs.
    assert result["backlog"]["messages_max"] < 1600
    # Its records have stamps in their headers, so reading and working are told apart.
    assert {stage: result["stages_ns"][stage]["p50"] > 0 for stage in ("ingest", "compute")} == {
        "ingest": True, "compute": True,
    }  # fmt: skip
    assert result["cpu_us_per_message"] > 0


@pytest.mark.full
def test_what_a_pipeline_in_real_time_does_wrong_is_found(tmp_path: Path) -> None:
    pipeline = of_template(tmp_path, "word_count")
    edit(pipeline / "pipeline.py", "import Json, ", "import Json, Map, ")
    wrong = 'Map("wrong", {"count": lambda row: row.count + (row.id == 1500).cast("int")})'
    edit(pipeline / "pipeline.py", 'into="count"))', f'into="count")).to({wrong})')
    status, result, said = run(pipeline)
    assert status == 1, said
    assert {name: result[f"alerts_{name}"] for name in ("missing", "wrong")} == {"missing": 0, "wrong": 1}


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "mode", "file"),
    [("market_spread", "micro-batch", "pipeline.py"), ("kafka_streams", "command", "MarketSpread.java")],
)
def test_the_rule_of_the_market_passes_and_a_wrong_limit_is_told_with_the_order(
    tmp_path: Path, name: str, mode: str, file: str
) -> None:
    load = {"profile": "constant", "messages_per_s": 500, "duration_s": 8}
    market = of_template(tmp_path, name, load=load, warm_up={"duration_s": 5, "batches": 0})
    status, result, said = run(market)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert result["mode"] == mode
    assert result["conservation"] == {"sent": 6500, "processed": 6500, "invalid": 0, "in_flight": 0}
    # Of 3,500 orders; once all markets have been too wide, some are not.
    assert 2500 < result["alerts_received"] == result["alerts_expected"] < 3300

    edit(market / file, "LIMIT = 500", "LIMIT = 501")
    status, result, said = run(market)
    assert (status, result["verdict"], result["cause"]) == (1, "failed", "system"), said
    assert result["alerts_missing"] > 10
    assert (result["alerts_wrong"], result["alerts_duplicated"], result["alerts_unexpected"]) == (0, 0, 0)
    assert result["faults"]["missing"][0].startswith("message ")
    assert '"symbol"' in result["faults"]["missing"][0]


# So slow that a machine with more to do keeps up: each word of a batch is a call of Python.
SLOW = {"profile": "constant", "messages_per_s": 100}


def test_a_script_of_pyspark_passes(tmp_path: Path) -> None:
    # So long that some batches end within it: CPU is counted from one to the next, and workers of Python take long.
    spark = of_template(tmp_path, "structured_streaming", load=SLOW | {"duration_s": 16})
    status, result, said = run(spark)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert (result["mode"], result["alerts_received"], result["alerts_missing"]) == ("spark", 1600, 0)
    assert result["conservation"] == {"sent": 1800, "processed": 1800, "invalid": 0, "in_flight": 0}
    assert result["cpu_us_per_message"] > 0


@pytest.mark.full
def test_what_a_script_of_pyspark_loses_is_found(tmp_path: Path) -> None:
    spark = of_template(tmp_path, "structured_streaming", load=SLOW | {"duration_s": 8})
    rows = "rows.assign(count=before + 1 + rows.index)"
    edit(spark / "job.py", rows, f"{rows}.query('id % 1000 != 999')")
    status, result, said = run(spark)
    assert status == 1, said
    assert (result["alerts_missing"], result["alerts_wrong"]) == (1, 0)


def test_a_recorded_day_is_sent_at_ten_times_its_speed(shared: Path) -> None:
    day = 1_790_000_000_000
    with (shared / "day.csv").open("w") as file:
        file.write("trip_id,city,km,at\n")
        for trip in range(2000):
            file.write(f"{trip},Oslo,{trip % 40},{day + 40 * trip}\n")  # 80 s, 25 a second
    workload = yaml.safe_load((shared / "workload.yaml").read_text())
    workload["load"] = {"profile": "recorded", "speed": 10.0, "until": str(day + 70_000)}
    source = {"file": "day.csv", "format": "csv", "time": "at", "time_unit": "ms"}
    workload["input"][0] |= {"from": source}
    (shared / "workload.yaml").write_text(yaml.safe_dump(workload))
    for name in ("system.py", "check.py"):
        text = (shared / name).read_text()
        assert 'trip["km"]' in text
        text = text.replace('trip["km"]', 'int(trip["km"])').replace(
            '{"trip_id": trip["trip_id"]', '{"trip_id": int(trip["trip_id"])'
        )
        (shared / name).write_text(text)

    status, result, said = run(shared)

    assert (status, result["verdict"]) == (0, "passed"), said
    # Of 70 s the first second, at ten times the speed, is the warm-up: 250 messages.
    assert (result["messages_sent"], result["alerts_received"]) == (1500, 1500)
    (folder,) = (shared / "runs").iterdir()
    written = yaml.safe_load((folder / "workload.yaml").read_text())
    assert written["load"]["profile"] == "recorded"
    assert "messages" not in written["load"]


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"job": {"mode": "real-time", "standby": 1}}, "a pipeline under load is one job"),
        ({"system": {"pipeline": "pipeline.py:nothing"}}, "has no function 'nothing'"),
        ({"system": {"pipeline": "none.py:word_count"}}, "names no Python file and function that are there"),
        ({"output": [{"topic": "costs", "finds": {"field": "id"}}]}, "output: word_count has no sink 'costs'; it has"),
        ({"system": {"spark": {"script": "none.py"}}, "job": None}, "is no file; name the script"),
        ({"load": {"profile": "recorded"}}, "words is to be sent at recorded times; name a file, its time"),
    ],
)
def test_a_pipeline_that_does_not_fit_is_refused_before_anything_starts(
    tmp_path: Path, keys: dict[str, Any], sentence: str
) -> None:
    pipeline = of_template(tmp_path, "word_count")
    workload = yaml.safe_load((pipeline / "workload.yaml").read_text()) | keys
    (pipeline / "workload.yaml").write_text(yaml.safe_dump({k: v for k, v in workload.items() if v is not None}))
    status, said = refusal(pipeline)
    assert status == 2
    assert sentence in said


@pytest.fixture
def attached(fares: Path, broker: Broker) -> Iterator[tuple[Path, "subprocess.Popen[bytes]", KafkaBroker]]:
    """A system that runs on a broker of its own, and has worked there before."""
    kafka = KafkaBroker(broker.bootstrap_servers)
    kafka.create_topics({"own-trips": 2, "own-fares": 1})
    kafka.write({"own-trips": [b'{"trip_id": 3, "km": 1}'] * 5}, within_s=10)
    environment = {
        **os.environ, "MARKET_SPREAD_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "MARKET_SPREAD_GROUP": "own-app",
        "MARKET_SPREAD_INPUT": "own-trips", "MARKET_SPREAD_OUTPUT": "own-fares",
    }  # fmt: skip
    process = subprocess.Popen([sys.executable, fares / "system.py"], env=environment)
    workload = yaml.safe_load((fares / "workload.yaml").read_text())
    workload["input"][0]["topic"], workload["output"][0]["topic"] = "own-trips", "own-fares"
    workload |= {"system": {"attached": {"group": "own-app"}}, "kafka": {"bootstrap": broker.bootstrap_servers}}
    (fares / "workload.yaml").write_text(yaml.safe_dump(workload))
    yield fares, process, kafka
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def test_a_system_that_runs_already_is_loaded_judged_and_left_alone(
    attached: tuple[Path, "subprocess.Popen[bytes]", KafkaBroker],
) -> None:
    folder, process, kafka = attached
    status, result, said = run(folder)
    assert status == 0, said
    assert (result["mode"], result["alerts_received"], result["alerts_missing"]) == ("attached", 2400, 0)
    assert result["cpu_us_per_message"] is None
    assert process.poll() is None
    before = sum(kafka.end_offsets(["own-trips"]).values())
    assert before == 5 + 2800

    # Once more, behind what is there; and now it stands still for good in the middle.
    change(folder, load={"profile": "constant", "messages_per_s": 400, "duration_s": 15})
    ended = subprocess.Popen(
        [sys.executable, "-m", "market_spread.controller.cli.main", "run", "workload.yaml", "--json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(600):
        if sum(kafka.end_offsets(["own-trips"]).values()) > before + 3000:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGSTOP)
    time.sleep(8)
    process.send_signal(signal.SIGCONT)
    output, said = ended.communicate(timeout=120)
    assert ended.returncode == 1, said
    stalled = json.loads(output)
    assert "stalled" in stalled["decisive"], stalled["reasons"]
    assert stalled["alerts_missing"] == 0


def test_a_recorded_topic_is_sent_again_at_its_times(fares: Path, broker: Broker) -> None:
    kafka = KafkaBroker(broker.bootstrap_servers)
    kafka.create_topics({"monday": 2})
    # Written by transactions, whose ends are records of no message; and now and then by a clock that is behind.
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="recorder")
    producer.init_transactions()
    begin_ms = time.time_ns() // 1_000_000
    for trip in range(300):
        if trip % 150 == 0:
            producer.begin_transaction()
        value = json.dumps({"trip_id": trip, "km": trip % 40}).encode()
        headers, at_ms = [("of", b"x"), ("message_id", b"7")], begin_ms + 10 * trip - 25 * (trip % 50 == 49)
        producer.send("monday", value, key=b"a key", headers=headers, partition=trip % 2, timestamp_ms=at_ms)
        if trip % 150 == 149:
            producer.commit_transaction()
    producer.close(10)
    source = {"topic": "trips", "from": {"topic": "monday"}, "partitions": 2}
    change(fares, load={"profile": "recorded"}, input=[source])
    change(fares, kafka={"bootstrap": broker.bootstrap_servers, "prefix": "again."})

    status, result, said = run(fares)

    assert (status, result["verdict"]) == (0, "passed"), said
    # The first of its 3 s are the warm-up.
    assert 120 < result["messages_sent"] < 280
    assert result["conservation"] == {"sent": 300, "processed": 300, "invalid": 0, "in_flight": 0}
    assert sum(kafka.end_offsets(["monday"]).values()) == 300 + 4  # two partitions, two ends of transactions
    with closing(kafka.consumer()) as consumer:
        consumer.assign(dict.fromkeys(kafka.end_offsets(["again.trips"]), 0))
        records: list[Record] = []
        eventually("all are read", lambda: len(read_on(consumer, records)) == 300)
    assert {record.key for record in records} == {b"a key"}
    headers = [dict(record.headers) for record in records]
    assert {tuple(sorted(each)) for each in headers} == {("intended_us", "message_id", "of", "sent_us")}
    assert len({each["message_id"] for each in headers}) == 300  # those of this run
    assert 2.5e6 < np.ptp([int(each["sent_us"]) for each in headers]) < 10e6


def read_on(consumer: Consumer, records: list[Record]) -> list[Record]:
    """The records with those that have come since."""
    for found in consumer.poll(0.2).values():
        records += found
    return records


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"system": {"attached": {"group": "g"}}, "kafka": {"bootstrap": "broker-1.example:9092"}},
            "the load would go to broker-1.example, which is not this machine; allow it with --yes-load",
        ),
        ({"check": "none.py:check"}, "names no Python file and function that are there"),
        ({"market": {"symbols": 350, "partitions": 2}}, "market is our own application's; leave it out"),
        ({"system": {}}, "system.command, pipeline, spark, attached; give exactly one of them"),
        ({"output": [{"topic": "trips"}]}, "the topic trips stands twice; name each once"),
        (
            {"input": [{"topic": "trips", "from": {"topic": "trips"}}], "kafka": {"bootstrap": "localhost:1"}},
            "trips is read for what it holds, and written to; name another topic",
        ),
        ({"input": [{"topic": "trips", "from": {"topic": "old"}}]}, "from.topic is on a broker of yours; name it in"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence_before_anything_starts(
    fares: Path, keys: dict[str, Any], sentence: str
) -> None:
    change(fares, **keys)
    status, said = refusal(fares)
    assert status == 2
    assert sentence in said


def test_a_refusal_is_one_sentence_of_the_command(fares: Path) -> None:
    change(fares, system={})
    status, _, said = run(fares)
    assert status == 2
    sentence = (
        r"market-spread: workload\.yaml:\d+: system\.command, pipeline, spark, attached; give exactly one of them\n"
    )
    assert re.fullmatch(sentence, said)


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("check.py", "def check(messages):\n    return [1 / 0]\n", "check.py:2: "),
        ("load.py", "def trips(seed):\n    yield {'trip_id': 1}\n", "has no field 'city' to be its key"),
    ],
)
def test_a_function_that_raises_is_told_with_its_line(shared: Path, file: str, text: str, sentence: str) -> None:
    (shared / file).write_text(text)
    status, _, said = run(shared)
    assert status == 2
    assert sentence in " ".join(said.split())
    assert "Traceback" not in said
