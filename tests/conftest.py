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
        "your_system", "applications", "messages_of_pipelines", "prometheus", "columns", "counting", "compare",
        "kafka_security", "avro_messages", "run_document", "run", "modes_agree", "decisions", "replay",
        "continuous_integration", "wrong_jobs", "recovery", "second_run", "snippets", "feature_cost", "sender_receiver",
        "early_end", "peers", "up_down",
    )
)  # fmt: skip
# How many tests are left to `make test-full`: counted where they are collected, said where the session is reported.
LEFT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--not-full", action="store_true", help="leave tests marked `full` out, and say how many")


@pytest.hookimpl(trylast=True)  # after those that -m and folders leave out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first, in an order that all workers agree on; within a file, as it is written."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(f"{item.path.parent.name}/{item.path.stem}", len(places)))
    if not config.getoption("--not-full"):
        return
    left = [item for item in items if item.get_closest_marker("full")]
    config.stash[LEFT] = len(left)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells who reports; all of them collect the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_to_full"] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    told = getattr(node, "workeroutput", {}).get("left_to_full", 0)
    node.config.stash[LEFT] = told  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(LEFT, 0):
        terminalreporter.write_line(f"{left} tests marked `full` are left to make test-full")


@pytest.fixture(scope="session")
def golden_run(tmp_path_factory: pytest.TempPathFactory) -> GoldenRun:
    """A real run that has passed; only to be read."""
    own = tmp_path_factory.getbasetemp()
    # Of several processes that run tests, each has a folder of its own, side by side.
    together = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return golden_run_in(together / "golden-run")
