"""The sender process: `python -m market_spread.sender`, configured by its environment."""

import gc
import sys

from market_spread.common.clock import Clock
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.service import run_service
from market_spread.common.telemetry.recorder import Recorder
from market_spread.sender.service import SenderConfig, SenderService

# Python's default of 5 ms is most of the 10 ms that a frame may be late.
_SWITCH_INTERVAL_S = 0.000_5


def main() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status."""
    return run_service("Sender", SenderConfig, _sender)


def _sender(config: SenderConfig, recorder: Recorder, clock: Clock) -> SenderService:
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # What the imports made is left out of garbage collection: a full one took 25 ms, with every thread waiting.
    gc.collect()
    gc.freeze()
    broker, bytes_max = KafkaBroker(config.bootstrap_servers, config.source, config), config.unacknowledged_bytes_max
    return SenderService(broker=broker, recorder=recorder, clock=clock, unacknowledged_bytes_max=bytes_max)


if __name__ == "__main__":
    sys.exit(main())
