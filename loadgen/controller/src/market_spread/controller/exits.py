"""What a command says beside its result, and how it ends: one sentence on standard error, and a status for scripts."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unicodedata import category

import click

from market_spread.common.errors import MarketSpreadError, RunVoidError, UsageError
from market_spread.common.processes import call_on_signals

# Besides a result, how a command ends that has no bug.
ENDINGS = (click.UsageError, MarketSpreadError, KeyboardInterrupt, OSError)


class Commands(click.Group):
    """Commands that end with a sentence where another program would show a traceback or several lines of usage."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _ended_by_a_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _ended_by_a_sentence():
            return super().invoke(ctx)


@contextmanager
def _ended_by_a_sentence() -> Iterator[None]:
    try:
        yield
    except ENDINGS as error:
        # Click shows help where that is asked for, and knows what to do if who read the output has gone.
        if isinstance(error, click.exceptions.NoArgsIsHelpError) or getattr(error, "errno", None) == errno.EPIPE:
            raise
        sentence, status = ending_of(error)
        click.echo(printable(f"market-spread: {sentence}"), err=True)
        sys.exit(status)


def ending_of(error: BaseException) -> tuple[str, int]:
    """The sentence and the exit status with which one of `ENDINGS` ends a command."""
    match error:
        case click.UsageError():
            return _usage_sentence(error), error.exit_code
        case MarketSpreadError():
            return str(error), error.exit_status
        case OSError():
            return sentence_of(error), UsageError.exit_status
    return "interrupted", RunVoidError.exit_status


def printable(text: str) -> str:
    """The text with � for what a terminal would obey or hide, and XML cannot have: escapes and the like."""
    return "".join("\ufffd" if category(each)[0] == "C" and each not in "\n\t" else each for each in text)


def is_quiet() -> bool:
    """Whether the user wants results and errors alone: `market-spread --quiet`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def say(line: object) -> None:
    """Something for a person who waits, which is no part of the result."""
    if not is_quiet():
        click.echo(printable(str(line)), err=True)


def interrupt_once() -> None:
    """The first SIGINT or SIGTERM interrupts the command; later ones are ignored while it cleans up."""

    def handle() -> None:
        call_on_signals(lambda: None)
        raise KeyboardInterrupt

    call_on_signals(handle)


def _usage_sentence(error: click.UsageError) -> str:
    """What click refuses, in one line, and where to read what the command takes."""
    said = " ".join(error.format_message().split()).removesuffix(".").replace(". (", " (")
    names = error.ctx.command_path.removeprefix(error.ctx.find_root().command_path) if error.ctx else ""
    return f"{said[:1].lower()}{said[1:]}; see market-spread{names} --help"


def sentence_of(error: OSError) -> str:
    """What the operating system refused, and for which file."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {error.filename}" if error.filename else reason
