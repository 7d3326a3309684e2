"""Whether this process has CPUs of its own, as the kubelet's static CPU manager gives them to a pinned container.

`python -m market_spread.common.process.pinning` says so and ends with 0 or 1: the readiness probe of a container that
serves no gRPC. A process that the kubelet has not pinned may run on every CPU that no one else owns.
"""

import os
import sys
from dataclasses import dataclass

from market_spread.common.config import from_environment
from market_spread.common.errors import MarketSpreadError


@dataclass(frozen=True, slots=True, kw_only=True)
class PinningConfig:
    """Environment of the probe. exclusive_cpus: how many CPUs the container was promised; none if absent."""

    exclusive_cpus: int | None = None

    def __post_init__(self) -> None:
        if self.exclusive_cpus is not None and self.exclusive_cpus < 1:
            raise ValueError(f"exclusive_cpus={self.exclusive_cpus}; use 1 or more, or leave it out")


def pinning_problem(exclusive_cpus: int | None, *, allowed: int, of_node: int) -> str | None:
    """Why a process does not have so many CPUs for itself, a sentence; None if it has, or was promised none.

    allowed: how many CPUs it may run on; of_node: how many there are.
    """
    if exclusive_cpus is None or (allowed == exclusive_cpus and allowed < of_node):
        return None
    if allowed == exclusive_cpus:
        return (
            f"all {of_node} CPUs of the node are allowed, so none is exclusive; "
            "ask for fewer, and run the kubelet with the static CPU manager"
        )
    return (
        f"{allowed} of the node's {of_node} CPUs are allowed instead of {exclusive_cpus} exclusive ones; "
        f"the pod must be Guaranteed with cpu: {exclusive_cpus}, on a node whose kubelet has the static CPU manager"
    )


def own_problem(exclusive_cpus: int | None) -> str | None:
    """The same, of this process now."""
    return pinning_problem(exclusive_cpus, allowed=len(os.sched_getaffinity(0)), of_node=os.cpu_count() or 1)


def main() -> int:
    """Print whether this process is pinned as it was promised; the exit status."""
    try:
        problem = own_problem(from_environment(PinningConfig).exclusive_cpus)
    except MarketSpreadError as error:
        print(error)
        return error.exit_status
    print(problem or "pinned, or not to be")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
