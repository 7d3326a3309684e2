"""The errors that the processes of Market Spread raise on purpose.

Each has its exit status here, and its gRPC status in `grpc.calls.status_of`. A message is one sentence with the value
and the remedy; it is shown to a person as it is, without a traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class MarketSpreadError(Exception):
    """Base of the errors that are raised on purpose."""

    exit_status: ClassVar[int] = 1


class UsageError(MarketSpreadError):
    """The user can mend it: arguments, configuration, a missing program."""

    exit_status = 2


class RunFailedError(MarketSpreadError):
    """The system under test did not do its work."""


class RunVoidError(MarketSpreadError):
    """The run says nothing: generator, clock, broker or machine spoiled it."""

    exit_status = 3


class WrongStateError(MarketSpreadError):
    """The call is right, but not in the state that the process is in."""


class DeadlineError(MarketSpreadError):
    """Something did not happen within its time."""


class UnavailableError(MarketSpreadError):
    """The call is right, but cannot be done for now, as on a full disk; it may be tried again."""


class BrokerAwayError(RunVoidError, UnavailableError):
    """Kafka cannot be used. That spoils a run, but the call may be tried again."""


@contextmanager
def usage_errors(
    what: str, remedy: str = "", kinds: tuple[type[Exception], ...] = (OSError, UnicodeDecodeError)
) -> Iterator[None]:
    """Have errors of these kinds be a UsageError: what cannot be done, why, without Java's stack, and the remedy."""
    try:
        yield
    except kinds as error:
        reason = "it is no text" if isinstance(error, UnicodeDecodeError) else str(error).partition("\n\tat ")[0]
        reason = (error.strerror or reason) if isinstance(error, OSError) else reason
        raise UsageError(f"{what}: {reason}; {remedy}" if remedy else f"{what}: {reason}") from error
