"""All that are measured: Spark in both modes, and the peers; each makes the environment that a run goes through."""

from dataclasses import dataclass
from pathlib import Path

from peer_environment import PeerStack
from peers import PEERS, Peer

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.reading import Overrides, overridden, read_workload
from market_spread.controller.plan.workload import Workload

WORKLOAD = Path(__file__).with_name("peers.yaml")
COMMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Contender:
    """A system. mode: of Spark; peer: what runs in Spark's place, if anything does.

    commit_s: how often it commits, whatever the others do; None: as often as they.
    """

    name: str
    title: str
    mode: str = REAL_TIME
    peer: Peer | None = None
    commit_s: float | None = None

    def workload(self, *, rate_per_s: int, commit_s: float = COMMIT_S, scale: float = 1.0) -> Workload:
        """The one workload, at a rate. scale: of its times; below 1 it is a trial.

        commit_s: from commit to commit; that of micro-batch mode is a batch, whatever is asked. What is measured has a
        commit of each system.
        """
        workload = read_workload(WORKLOAD)
        commit_s = self.commit_s or commit_s
        settle_s, load_s = workload.warm_up.settle_s, workload.load.duration_ns / 1e9
        duration_s = max(load_s, settle_s + commit_s) * scale
        scaled = overridden(workload, Overrides(rate_per_s=rate_per_s, duration_s=duration_s, mode=self.mode))
        warm_up = {"duration_s": max(1.0, workload.warm_up.duration_s * scale), "settle_s": settle_s * scale}
        if self.mode == MICRO_BATCH:
            return scaled.changed(warm_up=warm_up)
        return scaled.changed(warm_up=warm_up, job={"batch_s": commit_s})

    def stack(self, workload: Workload, folder: Path, run_id: str = "", runs_folder: Path | None = None) -> LocalStack:
        """The processes of a run; nothing is started yet."""
        arguments = {
            "folder": folder,
            "java": find_java(java_home()),
            "jars": JarCache(),
            "workload": workload,
            "clock": SystemClock(),
            "run_id": run_id,
            "runs_folder": runs_folder,
        }
        return PeerStack(self.peer, **arguments) if self.peer is not None else LocalStack(**arguments)


CONTENDERS = (
    Contender("spark-real-time", "Spark, real-time", REAL_TIME),
    Contender("spark-as-shipped", "Spark, real-time, a commit a minute", REAL_TIME, commit_s=60.0),
    Contender("spark-micro-batch", "Spark, micro-batch", MICRO_BATCH),
    *(Contender(peer.name, peer.title, peer=peer) for peer in PEERS),
)
NAMES = tuple(contender.name for contender in CONTENDERS)


def contender_of(name: str) -> Contender:
    """The one of that name. KeyError if there is none."""
    return {contender.name: contender for contender in CONTENDERS}[name]
