"""How a command ends: what went wrong is one sentence on standard error, and an exit status that scripts can use."""

import errno
import sys
from typing import Any

import click

from market_spread.common.errors import MarketSpreadError, RunVoidError, UsageError
from market_spread.common.processes import call_on_signals


class Commands(click.Group):
    """Commands that end with a sentence where another program would show a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MarketSpreadError as error:
            sentence, status = str(error), error.exit_status
        except KeyboardInterrupt:
            sentence, status = "interrupted", RunVoidError.exit_status
        except OSError as error:
            if error.errno == errno.EPIPE:  # who read the output has gone; click knows what to do
                raise
            sentence, status = sentence_of(error), UsageError.exit_status
        click.echo(f"market-spread: {sentence}", err=True)
        sys.exit(status)


def interrupt_once() -> None:
    """The first SIGINT or SIGTERM interrupts the command; later ones are ignored while it cleans up."""

    def handle() -> None:
        call_on_signals(lambda: None)
        raise KeyboardInterrupt

    call_on_signals(handle)


def sentence_of(error: OSError) -> str:
    """What the operating system refused, and for which file."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {error.filename}" if error.filename else reason
