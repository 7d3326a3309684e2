"""The receiver process: `python -m market_spread.receiver`, configured by its environment."""

import sys

from market_spread.common.clock import Clock
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.service import run_service
from market_spread.common.telemetry.recorder import Recorder
from market_spread.receiver.service import ReceiverConfig, ReceiverService


def main() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status."""
    return run_service("Receiver", ReceiverConfig, _receiver)


def _receiver(config: ReceiverConfig, recorder: Recorder, clock: Clock) -> ReceiverService:
    broker = KafkaBroker(config.bootstrap_servers, config.source, config)
    return ReceiverService(broker=broker, folder=config.data_folder, recorder=recorder, clock=clock)


if __name__ == "__main__":
    sys.exit(main())
