"""The sender's configuration, from its environment."""

from dataclasses import dataclass
from typing import Annotated

from market_spread.common.process.service import ServiceConfig
from market_spread.sender.publisher import UNACKNOWLEDGED_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderConfig(ServiceConfig):
    """Environment of the sender."""

    source: Annotated[str, "Its name in metrics."] = "sender-0"
    unacknowledged_bytes_max: Annotated[int, "Held for a broker that is behind."] = UNACKNOWLEDGED_BYTES_MAX

    def errors(self) -> list[str]:
        errors = ServiceConfig.errors(self)
        if self.unacknowledged_bytes_max <= 0:
            errors.append(f"unacknowledged_bytes_max={self.unacknowledged_bytes_max}; use a positive number")
        return errors
