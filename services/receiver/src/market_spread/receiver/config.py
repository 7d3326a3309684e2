"""The receiver's configuration, from its environment."""

from dataclasses import dataclass
from pathlib import Path

from market_spread.common.process.service import ServiceConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverConfig(ServiceConfig):
    """Environment of the receiver. data_folder: where the runs' ledgers are."""

    data_folder: Path
    source: str = "receiver"
