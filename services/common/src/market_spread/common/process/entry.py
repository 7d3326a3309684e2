"""Begin and end of a process: errors for people, the ports that it took."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from market_spread.common.config import environment_help
from market_spread.common.documents import write_whole
from market_spread.common.errors import MarketSpreadError, usage_errors
from market_spread.common.logs import set_up_logs


def run_main(body: Callable[[], None], config_class: type[Any] | None = None) -> int:
    """Run the body; its exit status. An error that is meant for a person is one line on standard error.

    config_class: what the body reads from its environment, which `--help` shows instead.
    """
    if config_class is not None and not {"-h", "--help"}.isdisjoint(sys.argv[1:]):
        print(environment_help(config_class))
        return 0
    set_up_logs()
    try:
        body()
    except MarketSpreadError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def write_ports(path: Path | None, **ports: int) -> None:
    """Write the bound ports, if asked, so that a reader sees all of them or no file. UsageError if that fails."""
    if path is not None:
        with usage_errors(f"the ports file {path} cannot be written"):
            write_whole(path, json.dumps(ports))
