"""Wrong rules and wrong states in a real job are found, on the shipped workload too; `make mutants` has more."""

from pathlib import Path

import pytest

from tests.mutants.real import OUTPUT, SESSIONS, carried_out

pytestmark = pytest.mark.timeout(330)


def test_wrong_jobs_are_found_on_the_workload_that_ships(tmp_path: Path) -> None:
    (session,) = (session for session in SESSIONS if session.name == "quick")

    results = list(carried_out(session, tmp_path))

    assert len(results) == 1 + 3
    for wrong, result in results:
        if wrong is None:
            assert not OUTPUT & set(result.decisive), result.reasons
        else:
            assert wrong.is_found(result), (wrong.sentence, result.reasons)


def test_wrong_jobs_are_found_and_the_right_one_is_not_blamed(tmp_path: Path) -> None:
    (session,) = (session for session in SESSIONS if session.name == "rules")

    results = list(carried_out(session, tmp_path))

    assert len(results) == 1 + len(session.wrong) > 25
    for wrong, result in results:
        if wrong is None:
            assert not OUTPUT & set(result.decisive), result.reasons
        else:
            assert wrong.is_found(result), (wrong.sentence, result.reasons)
