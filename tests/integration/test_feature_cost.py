"""The steps of the feature cost run, each to the end of its backlog. What they cost, `make bench-features` measures."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks" / "feature_cost"))

from backlog import Backlog
from measure import Bench
from steps import steps

MESSAGES = 20_000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("feature_cost")) as bench:
        yield bench


# Those that no other test runs: the applications have their own.
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        pytest.param("real-time", "Kafka consumer", marks=pytest.mark.full),
        pytest.param("real-time", "decode", marks=pytest.mark.full),
        ("real-time", "shuffle by key"),
        pytest.param("real-time", "state, not read", marks=pytest.mark.full),
        pytest.param("micro-batch", "pass_through", marks=pytest.mark.full),
        pytest.param("micro-batch", "shuffle by key", marks=pytest.mark.full),
        pytest.param("micro-batch", "metrics", marks=pytest.mark.full),
    ],
)
def test_step_works_its_backlog_off(bench: Bench, mode: str, name: str) -> None:
    (step,) = (step for step in steps(mode) if step.name == name)
    backlog = Backlog.of(messages=MESSAGES)

    drained = bench.drain(step, mode, backlog, state_partitions=1, warm_up=1, rounds=1)

    assert drained.rate_per_s > 0
    assert 0 < drained.cpu_us_per_message < 1_000
