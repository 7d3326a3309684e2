"""Writes the messages of a workload to native files."""

from itertools import chain
from pathlib import Path

from market_spread.common.errors import UsageError
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.files.native import write_native

# The largest market has its initial quotes in 2 s.
INITIAL_BEFORE_NS = 10 * 10**9
_START_UNIX_NS_MAX = 9 * 10**18


def generate(workload: Workload, *, nbbo: Path, orders: Path, start_unix_ns: int) -> tuple[int, int, int]:
    """Write initial and measured quotes to one file, measured orders to another; what is there is replaced.

    Returns how many initial quotes, quotes with the initial ones, and orders were written.
    start_unix_ns: intended time of the first measured message; the initial quotes begin 10 s before. The same workload
    and start give the same bytes. UsageError if a file cannot be written, or there is no such start.
    """
    if nbbo.resolve() == orders.resolve():
        raise UsageError(f"quotes and orders would both go to {nbbo}; name two files")
    if not INITIAL_BEFORE_NS <= start_unix_ns <= _START_UNIX_NS_MAX:
        raise UsageError(f"--start {start_unix_ns}; use {INITIAL_BEFORE_NS} to {_START_UNIX_NS_MAX}, Unix nanoseconds")
    plan = plan_of_workload(workload)
    initial = plan.initial.open(start_unix_ns - INITIAL_BEFORE_NS)
    measured = plan.measured.open(start_unix_ns)
    quote_blocks = chain(initial.blocks(), measured.blocks())
    quote_count = write_native(nbbo, (block.quotes.rows for block in quote_blocks))
    order_count = write_native(orders, (block.orders.rows for block in measured.blocks()))
    return initial.messages, quote_count, order_count
