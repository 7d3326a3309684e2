"""Logs of a process: one event a line, to standard error; as JSON of a service, as text of a command."""

import json
import logging
import sys
from typing import Any

# The library warns of each callback of its event loop that took over 100 ms. On a busy machine that is the wait for a
# core, of which a reader of these logs can neither learn nor mend anything.
_QUIETER = {"kafka": logging.WARNING, "kafka.net.selector": logging.ERROR}


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        event.update(getattr(record, "fields", {}))
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in getattr(record, "fields", {}).items())
        return f"{record.levelname.lower()}: {record.getMessage()}" + (f" ({fields})" if fields else "")


def set_up_logs() -> None:
    """Send every log event of this process to standard error. Call it once, first."""
    _send(logging.INFO, _JsonFormatter())


def show_warnings() -> None:
    """Send warnings of this process to standard error, for a person. Logs that are set up already stay as they are."""
    if not logging.getLogger().handlers:
        _send(logging.WARNING, _TextFormatter())


def _send(level: int, formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name, quieter in _QUIETER.items():
        logging.getLogger(name).setLevel(quieter)


def log_event(logger: logging.Logger, event: str, level: int = logging.INFO, **fields: object) -> None:
    """Log an event (`sender.started`) with its fields."""
    logger.log(level, event, extra={"fields": fields})
