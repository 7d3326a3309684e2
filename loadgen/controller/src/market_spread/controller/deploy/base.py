"""Where a run takes place: the processes of one machine, or a release in a cluster, seen alike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from market_spread.common.job_contract import REAL_TIME, slots_needed
from market_spread.controller.clients.services import Addresses
from market_spread.controller.host.facts import Host
from market_spread.controller.plan.faults import Fault
from market_spread.controller.plan.workload import Workload
from market_spread.controller.run_folder import Section


def slots_of(workload: Workload) -> int:
    """Tasks that run at the same time, in either mode as many as Real-Time Mode needs for both topics."""
    return slots_needed(REAL_TIME, 2 * workload.market.partitions, workload.state_partitions)


class Environment(Protocol):
    """The processes that a run goes through. `start`, then `stop`, also after a failed start.

    Where nothing is said, they are elsewhere, and neither started nor ended for the run.

    It tells whether they live, the CPU time that they and their neighbours use, and what the run's document says of the
    place: machine, settings, logs.

    is_new: whether `start` makes empty topics and a new job; otherwise the run continues after earlier messages.
    job_restarts: how often a process of the job was started again since `start`. job_outage_s: how long the job may not
    answer because someone starts its driver again; 0 if no one does.
    """

    is_new: bool
    job_restarts: int
    job_outage_s: float

    def start(self) -> Addresses:
        """Have everything there and answering. UsageError with the reason of the first that is not."""

    def check_alive(self) -> None:
        """Raise if a process has ended by itself: RunFailedError for the job, RunVoidError for the others."""

    def broker_cpu_us(self) -> int | None:
        """CPU time of the broker so far, microseconds; None if it cannot be told."""

    def executors_cpu_us(self) -> int | None:
        """CPU time of executors that the job does not count itself, microseconds; None if it cannot be told."""

    def stolen_cpu_s(self) -> float | None:
        """CPU seconds that neighbours took from the machine since it started; None if it cannot be told."""
        return None

    def host(self) -> Host | None:
        """The machine that all the run's processes are on, to be looked at; None if they are elsewhere."""
        return None

    def process_ids(self) -> Mapping[str, int]:
        """The run's processes on this machine, by the names of the components; none of those that are elsewhere."""
        return {}

    def capture(self, logs: Path) -> None:
        """Put the log of each process into the folder, as `<component>.log`; the JVMs' as `<component>.gc.log`."""

    def sections(self, addresses: Addresses) -> Mapping[str, Section]:
        """What the run's manifest says of the place: settings as they are in effect, jars or images."""

    def evidence(self) -> Mapping[str, Any]:
        """What is known of the place, for the run's document: JSON."""

    def how_to_watch(self, folder: Path, addresses: Addresses) -> str | None:
        """A hint on how to monitor the run, or None; may write into the run's folder."""
        return None

    def strike(self, fault: Fault) -> None:
        """Begin a planned fault of a process of the run, or of a link; as `heal`, from any thread. Raises nothing."""
        return

    def heal(self, fault: Fault) -> int:
        """End it, and have the next `check_alive` start again what it ended; how many connections it has reset."""
        return 0

    def stop_all_but_aggregator(self) -> None:
        """Stop everything the run started except the aggregator, which keeps serving its measurements."""
        return

    def stop(self) -> None:
        """End all that the run has started. Nothing happens the second time."""
