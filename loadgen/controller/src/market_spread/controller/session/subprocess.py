"""Runs made one after the other: each is a process of its own, `market-spread run`, which ends with this one."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from market_spread.common.errors import RunFailedError, UsageError
from market_spread.common.processes import call_on_signals
from market_spread.controller.deploy.local.services import ending_with_parent

_STANDARD_ERROR = 2


class CarryOut(Protocol):
    """Carries out a run of a workload, whose folder is then below runs_folder. Its verdict is in its document.

    UsageError if no run could be made, KeyboardInterrupt after one that the user ended early.
    """

    def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None: ...


class RunProcess:
    """Carries out runs by the command, with some options more. Use it from the main thread."""

    def __init__(
        self, options: Sequence[str] = (), *, quiet: bool = False, checkout: Path | None = None, name: str = ""
    ) -> None:
        """quiet: neither their progress nor their results are shown; otherwise both are on standard error.

        checkout: the working tree whose own command makes them, if it has one in its environment; name: of the workload
        there, which is run instead of a copy: another version may not know all that this one writes.
        """
        self._workload = None if checkout is None else checkout / name
        own = None if checkout is None else (checkout / ".venv" / "bin" / "market-spread").absolute()
        is_there = own is not None and own.exists()
        self._command = [str(own)] if is_there else [sys.executable, "-m", "market_spread.controller.cli.main"]
        self._options = tuple(options)
        self._quiet = quiet
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupted = False

    def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        call_on_signals(self._interrupt)
        command = [*self._command, *(["--quiet"] if self._quiet else [])]
        command += ["run", str(self._workload or workload), "--runs-folder", str(runs_folder), *options, *self._options]
        # A session of its own, so that Ctrl-C reaches the run once, through here.
        output = subprocess.DEVNULL if self._quiet else _STANDARD_ERROR  # the other one is for what is said of all runs
        self._process = subprocess.Popen(
            [*ending_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
        )
        status = self._process.wait()
        if self._interrupted:
            raise KeyboardInterrupt
        if status == UsageError.exit_status:
            raise UsageError("no run could be made, as said above; fix that, then run the same command again")
        if status < 0:
            raise RunFailedError(
                f"the run's process was ended by {signal.Signals(-status).name}; run the same command again"
            )

    def _interrupt(self) -> None:
        self._interrupted = True
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
