"""Wrong rules and wrong states in a real job are found, on the shipped workload too; `make mutants` has more."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.jobs.variants import INSTEAD, SEQUENCES, TRIED
from tests.mutants.real import HERE, OUTPUT, SESSIONS, carried_out
from tests.support.paths import QUICK

_PATH = os.pathsep.join([str(HERE / "jobs"), str(HERE.parents[1])])

pytestmark = pytest.mark.timeout(330)


@pytest.mark.full
@pytest.mark.parametrize(
    "variant", [pytest.param("no_five_percent", id="rule"), pytest.param("oldest_for_ever", id="state")]
)
def test_run_of_the_workload_that_ships_fails_with_a_wrong_job(tmp_path: Path, variant: str) -> None:
    """The job's rule or state is exchanged in its own process; the command is the one that everybody uses."""
    wrong_job = {INSTEAD: variant, TRIED: variant, SEQUENCES: "0,0", "WRONG": "variants", "PYTHONPATH": _PATH}
    command = [str(Path(sys.executable).parent / "market-spread"), "run", str(QUICK), "--duration", "15", "--json"]

    ended = subprocess.run(
        [*command, "--runs-folder", str(tmp_path)],
        env=os.environ | wrong_job,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert ended.returncode == 1, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["verdict"], result["cause"]) == ("failed", "system"), result["reasons"]
    assert OUTPUT & set(result["decisive"]), result["reasons"]
    assert re.match(r"[0-9,]+ alerts ", result["reasons"][0]), result["reasons"]
    assert "Traceback" not in ended.stderr


@pytest.mark.alone  # thirty receivers in one process: what an order may have met depends on their delays
def test_wrong_jobs_are_found_and_the_right_one_is_not_blamed(tmp_path: Path) -> None:
    (session,) = (session for session in SESSIONS if session.name == "rules")

    results = list(carried_out(session, tmp_path))

    assert len(results) == 1 + len(session.wrong) > 25
    for wrong, result in results:
        if wrong is None:
            assert not OUTPUT & set(result.decisive), result.reasons
        else:
            assert wrong.is_found(result), (wrong.sentence, result.reasons)
