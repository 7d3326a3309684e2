"""What holds for all tests."""

import os

import pytest
from hypothesis import settings

from tests.support.golden import GoldenRun, golden_run_in

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("market_spread", deadline=None, print_blob=True)
settings.load_profile("market_spread")

# The files that take longest, the longest first: workers that begin with them end together.
LONGEST = tuple(
    f"integration/test_{name}"
    for name in (
        "applications", "your_system", "compare", "peers", "run", "wrong_jobs", "columns", "kafka_security", "replay",
        "decisions", "prometheus", "counting", "run_document", "feature_cost", "recovery", "snippets", "over_kafka",
        "continuous_integration", "wheels", "second_run", "sender_receiver", "up_down",
    )
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, in an order that all workers agree on; within a file, as it is written."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(f"{item.path.parent.name}/{item.path.stem}", len(places)))


@pytest.fixture(scope="session")
def golden_run(tmp_path_factory: pytest.TempPathFactory) -> GoldenRun:
    """A real run that has passed; only to be read."""
    own = tmp_path_factory.getbasetemp()
    # Of several processes that run tests, each has a folder of its own, side by side.
    together = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return golden_run_in(together / "golden-run")
