"""The logs of the run's processes, gathered in one folder."""

import os
import shutil
from pathlib import Path


def gather(processes: Path, logs: Path) -> None:
    """Every log below the folder of the processes. Hard links where the file system has them: nothing is copied."""
    logs.mkdir(parents=True, exist_ok=True)
    for path in (*processes.glob("*.log"), *processes.glob("broker/*.log")):
        target = logs / path.name
        target.unlink(missing_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)
