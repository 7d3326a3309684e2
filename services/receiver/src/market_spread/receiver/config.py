"""The receiver's configuration, from its environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from market_spread.common.process.service import ServiceConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverConfig(ServiceConfig):
    """Environment of the receiver."""

    data_folder: Annotated[Path, "Where the ledgers of the runs are."]
    source: Annotated[str, "Its name in metrics."] = "receiver"
