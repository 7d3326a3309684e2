"""What holds for all tests."""

import os

import pytest
from hypothesis import settings

from tests.support.golden import GoldenRun, golden_run_in

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("market_spread", deadline=None, print_blob=True)
settings.load_profile("market_spread")


@pytest.fixture(scope="session")
def golden_run(tmp_path_factory: pytest.TempPathFactory) -> GoldenRun:
    """A real run that has passed; only to be read."""
    own = tmp_path_factory.getbasetemp()
    # Of several processes that run tests, each has a folder of its own, side by side.
    together = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return golden_run_in(together / "golden-run")
