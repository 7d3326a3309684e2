"""How a JVM is started so that the log of its collections and safepoints can be read."""

import re
from pathlib import Path

# What a JVM is started with so that `read` understands its log: Unix milliseconds before each line.
LOG_OPTION = "-Xlog:gc,safepoint:file={path}:tm:filecount=0"


def log_option(path: Path) -> str | None:
    """The JVM's option for a log there; None if the path has what an option cannot have."""
    return None if re.search(r"[\s:,\"']", str(path)) else LOG_OPTION.format(path=path)
