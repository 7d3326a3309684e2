"""Wrong rules and wrong states in a real job are found, on the shipped workload too; `make mutants` has more."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from market_spread.controller.analysis.result import Result
from tests.mutants.jobs.variants import INSTEAD, SEQUENCES, TRIED
from tests.mutants.real import HERE, OUTPUT, SESSIONS, Session, Wrong, carried_out
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
@pytest.mark.timeout(500)
def test_wrong_jobs_are_found_and_the_right_one_is_not_blamed(tmp_path: Path) -> None:
    (session,) = (session for session in SESSIONS if session.name == "rules")

    results = _carried_out_in_time(session, tmp_path)

    assert len(results) == 1 + len(session.wrong) > 25
    for wrong, result in results:
        if wrong is not None:
            assert wrong.is_found(result), (wrong.sentence, result.reasons)


def _carried_out_in_time(session: Session, folder: Path) -> list[tuple[Wrong | None, Result]]:
    """The first of three tries whose right job passed. A machine that stands still for seconds holds up all of a run:
    an order may have met any quote of these seconds then, and nothing that a wrong job said can be called wrong.
    """
    told = []
    for number in range(3):
        tried = folder / str(number)
        tried.mkdir()
        results = list(carried_out(session, tried))
        ((_, right),) = (each for each in results if each[0] is None)
        assert not OUTPUT & set(right.decisive), right.reasons
        if session.is_right(right):
            return results
        told.append(right.reasons)
    pytest.fail(f"the right job was late in each of three tries: {told}")
