"""The examples in the docstrings of the pipeline API."""

import doctest
from types import ModuleType

import pytest

from market_spread.streaming import messages, pipeline
from market_spread.streaming.operators import stateful as states
from market_spread.streaming.operators import stateless as computations


@pytest.mark.parametrize("module", [computations, messages, pipeline, states], ids=lambda module: module.__name__)
def test_examples_do_what_they_say(module: ModuleType) -> None:
    outcome = doctest.testmod(module)

    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize(
    "step",
    [
        computations.Filter, computations.Map, computations.FlatMap, computations.MapBatches, computations.Sink,
        states.AsOfJoin, states.RunningTotal, states.StatefulMap, states.CountWindow, states.RangeWindow,
        states.SessionWindow, states.IntervalJoin,
    ],
)  # fmt: skip
def test_every_step_has_an_example(step: type) -> None:
    assert ">>> " in (step.__doc__ or "")
