"""A mode says what it does not run, instead of running it as something else."""

import pytest

from market_spread.streaming import PipelineError
from market_spread.streaming.applications.market_spread import market_spread
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.support import check, check_partitions
from tests.support.pipelines import sequence_window


def test_real_time_compiles_no_state_that_it_does_not_run() -> None:
    with pytest.raises(TypeError, match="'window' is not for real-time"):
        real_time.compile_pipeline(sequence_window(), {}, {})


def test_what_is_not_compiled_is_refused_before() -> None:
    with pytest.raises(PipelineError, match="'window' is Python, which real-time does not run"):
        check(sequence_window(), "real-time")


def test_a_topic_of_more_partitions_than_the_join_keeps_apart_is_refused() -> None:
    check_partitions(market_spread(), "micro-batch", {"nbbo": 1_024, "orders": 1_024})

    with pytest.raises(PipelineError) as raised:
        check_partitions(market_spread(), "micro-batch", {"nbbo": 4, "orders-7": 1_025})

    assert str(raised.value) == (
        "market_spread: the topic 'orders-7' has 1,025 partitions, and 'newest quote' takes at most 1,024 in "
        "micro-batch; use fewer, or real-time"
    )


@pytest.mark.parametrize("mode", ["real-time", "micro-batch"])
def test_a_pipeline_without_a_join_takes_any_number_of_partitions(mode: str) -> None:
    check_partitions(sequence_window(), mode, {"numbers": 5_000})
