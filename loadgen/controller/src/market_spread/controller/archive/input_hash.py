"""A hash of what a run's loads send, so that two runs can be seen to have had the same input."""

import hashlib

from market_spread.controller.plan.plan import PlannedLoad, RunPlan
from market_spread.controller.run_folder.manifest import Scalar

MESSAGES_MAX = 200_000


def data_section(plan: RunPlan) -> dict[str, Scalar]:
    """For each load its source, its messages, and the SHA-256 of its first 200,000, as sent at the epoch's begin."""
    section: dict[str, Scalar] = {}
    for name in ("initial", "warm_up", "measured"):
        load: PlannedLoad | None = getattr(plan, name)
        if load is not None:
            section[f"{name}.source"] = load.source
            section[f"{name}.sha256"] = _hash(load)
    return section


def _hash(planned: PlannedLoad) -> str:
    digest = hashlib.sha256()
    messages = 0
    for block in planned.open(0).blocks():
        for stream in (block.quotes, block.orders):
            digest.update(stream.rows.tobytes())
            digest.update(stream.buckets.tobytes())
            messages += len(stream)
        if messages >= MESSAGES_MAX:
            break
    return digest.hexdigest()
