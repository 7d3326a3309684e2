"""The receiver process: `python -m market_spread.receiver`, configured by its environment."""

import sys

from market_spread.common.clock import SystemClock
from market_spread.common.config import from_environment
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.service import run_main, serving
from market_spread.common.processes import stop_event_on_signals
from market_spread.common.telemetry.recorder import Recorder
from market_spread.receiver.config import ReceiverConfig
from market_spread.receiver.service import ReceiverService


def main() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status."""
    return run_main(_serve, ReceiverConfig)


def _serve() -> None:
    config = from_environment(ReceiverConfig)
    clock = SystemClock()
    recorder = Recorder(source=config.source, clock=clock)
    service = ReceiverService(
        broker=KafkaBroker(config.bootstrap_servers, config.source, config),
        folder=config.data_folder,
        recorder=recorder,
        clock=clock,
    )

    stop = stop_event_on_signals()
    with serving(config, "Receiver", service, recorder=recorder, clock=clock):
        stop.wait()
        service.close()


if __name__ == "__main__":
    sys.exit(main())
