"""The processes of a run whose job is a peer: an `Environment` as any other, but for what is started as the job."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peers import GROUP, Peer, Place
from sidecar import SidecarConfig

from market_spread.common.config import inherited_environment
from market_spread.common.errors import UsageError
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.run_folder import Section

HERE = Path(__file__).parent


class PeerStack(LocalStack):
    """All processes of a run on this machine, with a peer in place of the Spark job."""

    job_waits_for_topics = False

    def __init__(self, peer: Peer, **arguments: Any) -> None:
        """arguments: those of `LocalStack`; of its workload a peer gets the partitions, and how often to commit."""
        super().__init__(**arguments)
        self.peer = peer

    def sections(self, addresses: Addresses) -> Mapping[str, Section]:
        return {**super().sections(addresses), "peer": {"name": self.peer.name}}

    def _start_job(self, replica: int, port: int = 0) -> None:
        folder = self.folder / "peer"
        place = Place(
            self.broker.bootstrap_servers,
            self.workload.market.partitions,
            folder.resolve(),
            self.java,
            commit_s=self.workload.job.batch_s,
        )
        command = self.peer.command(place)
        if not folder.exists():
            folder.mkdir(parents=True)
            if command.before:
                (folder / "recovery").mkdir()
                _run_once([str(word) for word in command.before], command.environment)
        config = SidecarConfig(
            bootstrap_servers=self.broker.bootstrap_servers,
            grpc_port=port,
            aggregator_address=self._pushing,
            run_id=self.run_id,
            ports_file=self._services.ports_file("job"),
            peer=self.peer.name,
            command=json.dumps([str(word) for word in command.words]),
            environment=json.dumps(dict(command.environment)),
            commits_to=self.peer.commits_to,
            group=GROUP,
            store=folder / "recovery",
            log=self.folder / "peer.log",
            partitions=self.workload.market.partitions,
        )
        path = {"PYTHONPATH": str(HERE)}
        self._services.start("job", "sidecar", config, environment=path)


def _run_once(words: list[str], environment: Mapping[str, str]) -> None:
    whole = {**inherited_environment(), **environment}
    ended = subprocess.run(words, env=whole, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        raise UsageError(f"the peer's store cannot be made: {ended.stderr.strip()[-300:]}")
