"""What the orders' keys have to do with their latency: hot or cold, and the partition of the job's state."""

from collections.abc import Sequence

import numpy as np

from market_spread.controller.analysis.evidence import Criterion, Evidence
from market_spread.controller.analysis.stalls import NO_PART, Groups
from market_spread.controller.plan.plan import RunPlan, universe_of
from market_spread.controller.plan.state_partitions import path_of
from market_spread.loadgen.columns import Alerts, Bools, Texts, symbol_codes
from market_spread.loadgen.oracle.oracle import read_again

ONE_KEY_SHARE_MAX = 0.1
_SAMPLES_MIN = 500
# Of a key that comes rarely, one order that is late tells nothing of the key.
_STALLED_ORDERS_MIN = 5


def by_heat(plan: RunPlan, symbols: Texts) -> dict[str, Bools]:
    """Which symbols are `hot` and which `cold`; a group without any is left out, of a replay both are."""
    if plan.origin.get("source") != "market":
        return {}
    is_hot = universe_of(plan.workload).is_hot(symbols)
    return {name: which for name, which in (("hot", is_hot), ("cold", ~is_hot)) if which.any()}


def parts_of(plan: RunPlan, alerts: Alerts, replays: Sequence[tuple[int, int]] = ()) -> list[Groups]:
    """What of the output may stand still alone, larger parts first: partitions of state and input, their paths, keys.

    Orders of a path come in order, so a key is held against the others of its path, and all else against everything.
    replays: when orders may have been read again, Unix microseconds. An order that was accepted before can be rejected
    then, by a newer quote, and parts catch up one after another: such orders tell of no part, or of no key and path
    where a second job goes on meanwhile.
    """
    job, paths = plan.workload.job, path_of(alerts.symbol, plan.workload)
    of_input, of_state = np.divmod(paths, plan.workload.state_partitions)
    everything = np.zeros(len(alerts), np.int64)
    once = ~read_again(alerts.intended_us, alerts.received_us, replays)
    counted = once | (job.replicas > 1)
    return [
        Groups(
            np.where(counted, of_state, NO_PART), everything,
            lambda at: f"partition {of_state[at]} of the job's state",
        ),
        Groups(np.where(counted, of_input, NO_PART), everything, lambda at: f"partition {of_input[at]} of the input"),
        Groups(
            np.where(once, paths, NO_PART), everything,
            lambda at: f"partition {of_input[at]} of the input on {of_state[at]} of the state",
        ),
        Groups(
            np.where(once, symbol_codes(alerts.symbol), NO_PART), paths,
            lambda at: f"the key {alerts.symbol[at].decode('latin-1').strip()}", _STALLED_ORDERS_MIN,
        ),
    ]  # fmt: skip


def one_key(plan: RunPlan, symbols: Texts) -> Evidence:
    """Whether no key has so many of the samples that the latencies are its own. symbols: of the judged alerts."""
    limit = ONE_KEY_SHARE_MAX
    is_market = plan.origin.get("source") == "market"
    if not is_market or len(symbols) < _SAMPLES_MIN:
        why = f"{len(symbols)} samples" if is_market else "the orders are recorded ones"
        return Evidence(Criterion.ONE_KEY, None, f"not evaluated: {why}", None, limit, "share")
    keys, counts = np.unique(symbol_codes(symbols), return_counts=True)
    share = float(counts.max() / counts.sum())
    text = f"of {counts.sum():,} samples one of {len(keys)} keys has {share:.1%}"
    if share > limit:
        text += f", at most {limit:.0%} may be; the latencies are that key's: have more probes, or a longer load"
    return Evidence(Criterion.ONE_KEY, share <= limit, text, share, limit, "share")
