"""The generator's own queue, told apart from the job: how long frames waited for the broker."""

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.evidence import Criterion, Evidence
from market_spread.v1.limits_pb2 import RunLimits


def generator_queue(acknowledge: HdrCounts, age_us_max: int, limits: RunLimits) -> Evidence:
    """Whether the load reached the broker soon after it was handed over: else stage `ingest` has the rig's own wait.

    acknowledge: from handing a frame over to its acknowledgement, so producer and broker; age_us_max: of the oldest
    frame without one, also of those that never got it.
    """
    if not acknowledge.count:
        return Evidence(Criterion.GENERATOR_QUEUE, None, "no frame was acknowledged", unit="ms")
    p99_ms, age_ms = acknowledge.percentile(99) / 1000, age_us_max / 1000
    p99_ms_max, age_ms_max = limits.acknowledge_p99_us_max / 1000, limits.unacknowledged_us_max / 1000
    found = f"99% of the frames were acknowledged within {p99_ms:,.1f} ms, and the oldest one waited {age_ms:,.1f} ms"
    value, limit = (age_ms, age_ms_max) if age_ms > age_ms_max else (p99_ms, p99_ms_max)
    holds = value <= limit
    text = (
        found
        if holds
        else (
            f"the load waited in the generator or for the broker, not for the job: {found}; at most "
            f"{p99_ms_max:,.0f} and {age_ms_max:,.0f} ms may be; "
            "give broker and sender cores of their own"
        )
    )
    return Evidence(Criterion.GENERATOR_QUEUE, holds, text, value, limit, "ms")
