"""A mode says what it does not run, instead of running it as something else."""

import pytest

from market_spread.streaming import PipelineError
from market_spread.streaming.applications.sequence_window import sequence_window
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.support import check


def test_real_time_compiles_no_state_that_it_does_not_run() -> None:
    with pytest.raises(TypeError, match="'window' is not for real-time"):
        real_time.compile_pipeline(sequence_window(), {}, {})


def test_what_is_not_compiled_is_refused_before() -> None:
    with pytest.raises(PipelineError, match="'window' is Python, which real-time does not run"):
        check(sequence_window(), "real-time")
