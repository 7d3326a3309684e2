"""Makes the real job a wrong one: Python imports this first where this folder leads PYTHONPATH.

WRONG_JOB names what is exchanged (the list is in `tests/mutants/real.py`). Other processes than the job and its workers
are left as they are.
"""

import importlib
import os
import sys
from typing import Any

_PLANS = "market_spread.streaming.plans"


class _Exchanged:
    """A module as it is, but for some of its names."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module, self._names = module, names

    def __getattr__(self, name: str) -> Any:
        return self._names[name] if name in self._names else getattr(self._module, name)


def _rule(wrong: Any) -> None:
    importlib.import_module("market_spread.streaming.rule").too_wide = wrong  # type: ignore[attr-defined]


def _oldest_quote() -> None:
    module: Any = importlib.import_module(f"{_PLANS}.real_time")
    module.F = _Exchanged(module.F, max=module.F.min)


def _some_lost() -> None:
    application: Any = importlib.import_module("market_spread.streaming.applications.market_spread")
    right = application.is_rejected
    application.is_rejected = lambda order: right(order) & (order.order_id % 20 != 0)


def _emitted_late() -> None:
    module: Any = importlib.import_module(f"{_PLANS}.rows")
    right = module.wall_clock_us
    module.wall_clock_us = lambda: right() + 3_600_000_000


def _as_found() -> None:
    """The job that passed a real run: the oldest quote for ever, 4 cents, and no 5%."""
    _rule(lambda bid, offer: offer - bid >= 400)
    _oldest_quote()


WRONG = {
    "as_found": _as_found,
    "threshold_400": lambda: _rule(lambda b, o: (o - b >= 400) | (40 * (o - b) >= b + o)),
    "threshold_501": lambda: _rule(lambda b, o: (o - b >= 501) | (40 * (o - b) >= b + o)),
    "no_five_percent": lambda: _rule(lambda b, o: o - b >= 500),
    "five_percent_strictly": lambda: _rule(lambda b, o: (o - b >= 500) | (40 * (o - b) > b + o)),
    "oldest_quote": _oldest_quote,
    "some_lost": _some_lost,
    "emitted_late": _emitted_late,
}

if any(word.startswith(("market_spread.streaming.job", "pyspark.")) for word in sys.orig_argv):
    WRONG[os.environ["WRONG_JOB"]]()
