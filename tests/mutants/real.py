"""Wrong jobs on real Kafka and Spark: what each does, and what a run of it must be called, and why."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORKLOAD = HERE.parent / "integration" / "workloads" / "stalls.yaml"
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class WrongJob:
    """A wrong job. decisive: the criteria of which one must have decided the verdict."""

    name: str
    sentence: str
    verdict: str
    decisive: frozenset[str]


_OUTPUT = frozenset({"alerts_missing", "alerts_unexpected", "alerts_wrong"})

WRONG_JOBS = (
    WrongJob("as_found", "the oldest quote for ever, 4 cents, no 5%: it passed once", "failed", _OUTPUT),
    WrongJob("threshold_400", "a spread of 4 cents rejects", "failed", _OUTPUT),
    WrongJob("threshold_501", "a spread of 5 cents is accepted", "failed", _OUTPUT),
    WrongJob("no_five_percent", "the share of the mid does not matter", "failed", _OUTPUT),
    WrongJob("five_percent_strictly", "5% of the mid are accepted", "failed", _OUTPUT),
    WrongJob("oldest_quote", "each symbol's first quote is used for ever", "failed", _OUTPUT),
    WrongJob("some_lost", "each twentieth alert is lost", "failed", _OUTPUT),
    WrongJob("emitted_late", "alerts are stamped an hour late", "void", frozenset({"stamps"})),
)


def run_of(job: WrongJob, folder: Path) -> dict[str, Any]:
    """The result of a real run of the wrong job. AssertionError with what the command said if it has none."""
    command = [str(Path(sys.executable).parent / "market-spread"), "run", str(WORKLOAD), "--duration", "14", "--json"]
    ended = subprocess.run(
        [*command, "--runs-folder", str(folder)],
        env={**os.environ, "PYTHONPATH": str(HERE / "jobs"), "WRONG_JOB": job.name},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert ended.stdout, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def is_found(job: WrongJob, result: dict[str, Any]) -> bool:
    """Whether the verdict is the right one, for a reason that names the fault."""
    return result["verdict"] == job.verdict and bool(job.decisive & set(result["decisive"]))
