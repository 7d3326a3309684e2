"""The run document: its schema and its JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.evidence import Cause, Verdict
from market_spread.controller.analysis.result import SCHEMA_VERSION, Result

NONE = {"p50": None, "p95": None, "p99": None, "p99.9": None, "p99.99": None, "max": None}
LATENCY = {"p50": 6_900_000, "p95": 9_000_000, "p99": 22_000_000, "p99.9": None, "p99.99": None, "max": 31_000_000}

# What the first version of the schema promises.
PROMISED = [
    "verdict",
    "reasons",
    "messages_sent",
    "orders_sent",
    "alerts_expected",
    "alerts_received",
    "alerts_missing",
    "alerts_unexpected",
    "alerts_duplicated",
    "invalid_records",
    "offered_rate_per_s",
    "achieved_rate_per_s",
    "latency_ns",
    "cpu_us_per_message",
]


@pytest.fixture
def result() -> Result:
    return Result(
        run_id="20261121-144301-quick",
        workload="quick",
        verdict=Verdict.FAILED,
        cause=Cause.SYSTEM,
        latencies_void=False,
        decisive=(),
        reasons=("2 alerts are missing",),
        faults={"missing": ("order 7 (AAPL): it is rejected, but has no alert",), "wrong": ()},
        started="2026-11-21T14:43:01+00:00",
        duration_s=60.0,
        mode="real-time",
        messages_sent=1_200_000,
        quotes_sent=600_000,
        orders_sent=600_000,
        messages_processed=1_200_000,
        alerts_expected=12_009,
        alerts_received=12_007,
        alerts_missing=2,
        alerts_unexpected=0,
        alerts_duplicated=0,
        alerts_wrong=0,
        alerts_undecided=0,
        alerts_disagreeing=0,
        invalid_records=0,
        offered_rate_per_s=20_000.0,
        achieved_rate_per_s=19_990.5,
        latency_ns=LATENCY,
        latency_samples=11_000,
        latency_between_boundaries_ns=LATENCY,
        service_time_ns=LATENCY,
        stages_ns={"send_lag": LATENCY, "ingest": LATENCY, "compute": NONE, "delivery": LATENCY},
        send_lag_ns=LATENCY,
        frame_delay_ns=LATENCY,
        frames_sent=55_795,
        frames_late=3,
        messages_failed=0,
        boundaries=5,
        boundary_gap_ns_median=210_000_000,
        boundary_gap_ns_max=480_000_000,
        batch_duration_ns_median=480_000_000,
        batch_duration_ns_max=480_000_000,
        negative_latencies=0,
        job_restarts=0,
        cpu_us_per_message=3.25,
        broker_cpu_us_per_message=None,
        stolen_cpu_share=0.01,
        time_to_first_order_s=33.5,
        machine={"cores": 2, "cpu_model": "A CPU"},
        settings={"seed": 1},
    )


def parsed(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.to_json())
    return document


@pytest.mark.parametrize("key", PROMISED)
def test_schema_has_every_promised_key(result: Result, key: str) -> None:
    assert key in parsed(result)


def test_schema_is_versioned(result: Result) -> None:
    assert parsed(result)["schema_version"] == SCHEMA_VERSION == 4


def test_document_says_what_the_result_says(result: Result) -> None:
    document = parsed(result)

    assert document["verdict"] == "failed"
    assert document["reasons"] == ["2 alerts are missing"]
    assert document["faults"] == {"missing": ["order 7 (AAPL): it is rejected, but has no alert"], "wrong": []}
    assert document["latency_ns"] == {
        "p50": 6_900_000,
        "p95": 9_000_000,
        "p99": 22_000_000,
        "p99.9": None,
        "p99.99": None,
        "max": 31_000_000,
    }
    assert document["stages_ns"]["compute"]["p50"] is None
    assert document["broker_cpu_us_per_message"] is None
    assert document["cpu_us_per_message"] == 3.25


def test_document_makes_the_same_result_again(result: Result) -> None:
    document = parsed(result)
    document["verdict"], document["cause"] = Verdict(document["verdict"]), Cause(document["cause"])
    document["decisive"], document["planned_faults"] = tuple(document["decisive"]), tuple(document["planned_faults"])
    document["reasons"], document["steps"] = tuple(document["reasons"]), tuple(document["steps"])
    document["latency_sparkline_ns"] = tuple(document["latency_sparkline_ns"])
    document["faults"] = {kind: tuple(sentences) for kind, sentences in document["faults"].items()}

    assert Result(**document) == result


def test_document_ends_with_a_line_break(result: Result) -> None:
    assert result.to_json().endswith("}\n")


def test_written_document_is_the_json_and_nothing_else_is_left(result: Result, tmp_path: Path) -> None:
    path = result.write(tmp_path)

    assert path == tmp_path / "result.json"
    assert path.read_text() == result.to_json()
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_document_that_cannot_be_written_is_one_sentence(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        result.write(tmp_path / "missing")

    path = tmp_path / "missing" / "result.json"
    assert str(raised.value) == f"the result cannot be written to {path}: No such file or directory"
