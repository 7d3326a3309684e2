"""Run with recorded input files, which are checked before anything starts."""

from pathlib import Path

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
from market_spread.common.wire.layout import NBBO, ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.controller.analysis.result import Result
from market_spread.controller.plan.objectives import DRIFT_SHARE_MAX, MS_MAX, Limits, VoidLimits
from market_spread.controller.plan.plan import PlannedLoad, RunPlan
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from market_spread.controller.session.execute import carry_out
from market_spread.loadgen.columns import Orders, Quotes, symbol_codes


def replay(*, nbbo: Path, orders: Path, rate_per_s: int, runs_folder: Path, as_json: bool) -> Result:
    """Carry out a run on files of messages: all quotes, and when they are committed all orders, each at the rate.

    UsageError if there is nothing to replay, or not as it stands.
    """
    if not 1 <= rate_per_s <= RATE_PER_S_MAX:
        raise UsageError(f"--rate {rate_per_s}; use 1 to {RATE_PER_S_MAX}")
    return carry_out(plan_of_files(nbbo, orders, rate_per_s=rate_per_s), runs_folder=runs_folder, as_json=as_json)


def plan_of_files(nbbo: Path, orders: Path, *, rate_per_s: int) -> RunPlan:
    """The plan of a replay. UsageError if a file has nothing, or something that cannot be replayed."""
    symbols = np.empty(0, np.int64)
    for quotes in Quotes.from_file(nbbo):
        symbols = np.union1d(symbols, symbol_codes(quotes.symbol))
    order_ids = np.concatenate([np.empty(0, np.int64), *(part.order_id for part in Orders.from_file(orders))])
    for path, count, what in ((nbbo, len(symbols), "quote"), (orders, len(order_ids), "order")):
        if not count:
            raise UsageError(f"{path} has no {what} to replay; name a file that has")
    if order_ids.max() >= WARM_UP_ORDER_ID_MIN:
        raise UsageError(
            f"{orders} has the order id {order_ids.max()}; ids from {WARM_UP_ORDER_ID_MIN} on are those of a warm-up, "
            "give its orders lower ones"
        )
    order_ids.sort()
    repeated = np.flatnonzero(order_ids[1:] == order_ids[:-1])
    if len(repeated):
        raise UsageError(
            f"{orders} has the order id {order_ids[repeated[0]]} more than once; give each order an id of its own"
        )
    workload = DEFAULT_WORKLOAD.changed(
        name="replay",
        load=Constant.of_messages(len(order_ids), rate_per_s=rate_per_s),
        market={"symbols": len(symbols)},
        warm_up={"duration_s": 0, "settle_s": 0},
        # A late frame or a busy machine makes latencies worse, but no alert wrong; and a file may last a second.
        limits=Limits(late_share=1, stall_ms=MS_MAX, rise_share=DRIFT_SHARE_MAX),
        void=VoidLimits(
            stolen_share=1, foreign_share=1, throttled_share=1, missing_share=1, drift_share=DRIFT_SHARE_MAX
        ),
    )
    how = {"buckets": workload.market.partitions, "messages_per_s": rate_per_s}
    return RunPlan(
        workload=workload,
        initial=PlannedLoad("recorded", {"file": str(nbbo.resolve()), "layout": NBBO.name, **how}),
        warm_up=None,
        measured=PlannedLoad("recorded", {"file": str(orders.resolve()), "layout": ORDER.name, **how}),
        probe_symbols=frozenset(),
        origin={"source": "recorded", "nbbo": str(nbbo), "orders": str(orders)},
    )
