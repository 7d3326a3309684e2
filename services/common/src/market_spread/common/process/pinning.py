"""Whether this process has CPUs of its own, as the kubelet's static CPU manager gives them to a pinned container.

`python -m market_spread.common.process.pinning` says so and ends with 0 or 1: the readiness probe of a container that
serves no gRPC. A process that the kubelet has not pinned may run on every CPU that no one else owns.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from market_spread.common.config import from_environment
from market_spread.common.errors import MarketSpreadError
from market_spread.common.logs import log_event

CHECK_EVERY_S = 2.0

_log = logging.getLogger(__name__)


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


class PinningWatch:
    """Looks again and again whether the process is pinned, and tells when that changes. `start`, then `stop`."""

    def __init__(self, look: Callable[[], str | None], tell: Callable[[str | None], None]) -> None:
        """look: what is wrong now; tell: called with the first finding, and with every other one."""
        self._look, self._tell = look, tell
        self._told: list[str | None] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pinning", daemon=True)

    def start(self) -> None:
        """Look for the first time, then on a thread of its own."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Look no more. Nothing happens if it was not started."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        problem = self._look()
        if self._told == [problem]:
            return
        self._told = [problem]
        if problem is None:
            log_event(_log, "pinning.right")
        else:
            log_event(_log, "pinning.wrong", logging.WARNING, reason=problem)
        self._tell(problem)

    def _run(self) -> None:
        while not self._stopping.wait(CHECK_EVERY_S):
            self.look()


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
