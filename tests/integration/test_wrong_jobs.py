"""The real job, made wrong, is called so; `make mutants` has more of them."""

from pathlib import Path

import pytest

from tests.mutants.real import TIMEOUT_S, WRONG_JOBS, is_found, run_of

pytestmark = pytest.mark.timeout(TIMEOUT_S + 30)


@pytest.mark.parametrize("name", ["as_found", "five_percent_strictly"])
def test_a_wrong_job_is_found(name: str, tmp_path: Path) -> None:
    (job,) = (job for job in WRONG_JOBS if job.name == name)

    result = run_of(job, tmp_path)

    assert is_found(job, result), (result["verdict"], result["reasons"])
