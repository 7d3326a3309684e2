"""What a kill -9 costs: the silence at the receiver, and what was lost or came twice."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from contenders import Contender
from rig import CLOCK, rig

RATE_PER_S = 20_000
_KILL_AFTER_S = 20.0


@dataclass(frozen=True, slots=True)
class Recovered:
    """After a kill in the midst of a load.

    silence_s: the longest time without an alert from the kill on; lost: rejected orders without an alert; doubled:
    alerts after an order's first; wrong: what else the oracle finds.
    """

    silence_s: float
    lost: int
    doubled: int
    wrong: int


def recovered(contender: Contender, *, scale: float = 1.0) -> Recovered:
    """Kill it once, have it started again at once, and let it finish the load."""
    workload = contender.workload(rate_per_s=RATE_PER_S, scale=scale)
    with tempfile.TemporaryDirectory() as folder, rig(contender, workload, Path(folder)) as running:
        # Verdicts that do not change are certain however long a system was away, so what is lost is counted exactly.
        running.begin(running.plan.measured.with_parameters(tight_share=0))
        running.wait_for_alerts(1)
        CLOCK.sleep_ns(round(_KILL_AFTER_S * scale * 1e9))
        killed_us = running.kill()
        running.finish()
        running.drain()
        judgement, received_us = running.judgement(), running.received_us()
    return Recovered(
        silence_s=longest_silence_us(received_us, killed_us) / 1e6,
        lost=judgement.missing,
        doubled=judgement.replayed,
        wrong=judgement.wrong + judgement.unexpected,
    )


def longest_silence_us(received_us: npt.NDArray[np.int64], since_us: int) -> int:
    """The longest time between two receipts, or from `since_us` to the first one after it. 0 if none came after it."""
    after = received_us[received_us > since_us]
    return int(np.diff(np.concatenate([[since_us], after])).max()) if len(after) else 0
