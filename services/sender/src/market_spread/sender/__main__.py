"""The sender process: `python -m market_spread.sender`, configured by its environment."""

import gc
import sys

from market_spread.common.clock import SystemClock
from market_spread.common.config import from_environment
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.service import run_main, serving
from market_spread.common.processes import stop_event_on_signals
from market_spread.common.telemetry.recorder import Recorder
from market_spread.sender.config import SenderConfig
from market_spread.sender.service import SenderService

# Python's default of 5 ms is most of the 10 ms that a frame may be late.
_SWITCH_INTERVAL_S = 0.000_5


def main() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status."""
    return run_main(_serve, SenderConfig)


def _serve() -> None:
    config = from_environment(SenderConfig)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # What the imports made is left out of garbage collection: a full one took 25 ms, with every thread waiting.
    gc.collect()
    gc.freeze()
    clock = SystemClock()
    recorder = Recorder(source=config.source, clock=clock)
    service = SenderService(
        broker=KafkaBroker(config.bootstrap_servers, config.source, config),
        recorder=recorder,
        clock=clock,
        unacknowledged_bytes_max=config.unacknowledged_bytes_max,
    )

    stop = stop_event_on_signals()
    with serving(config, "Sender", service, recorder=recorder, clock=clock):
        stop.wait()
        service.close()


if __name__ == "__main__":
    sys.exit(main())
