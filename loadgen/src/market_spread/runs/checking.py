"""What `check` shows of a judgement."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from market_spread.loadgen.verdicts import Judgement
from market_spread.runs.result import Verdict


def verdict_of(judgement: Judgement) -> Verdict:
    """Void if the input allows no judgement, else whether the alerts have no fault."""
    if judgement.void_reason is not None:
        return Verdict.VOID
    return Verdict.PASSED if judgement.ok else Verdict.FAILED


def judgement_table(judgement: Judgement) -> RenderableType:
    """The verdict, its counts, and the first faults of each kind."""
    head = [Text(verdict_of(judgement).value.upper(), style="bold")]
    if judgement.void_reason is not None:
        head.append(Text(judgement.void_reason))
    faults = [Text(f"{kind}: {sentence}") for kind, sentences in judgement.sentences.items() for sentence in sentences]
    return Group(*head, _counts(judgement), *faults)


def _counts(judgement: Judgement) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("")
    rows = (
        ("orders", judgement.orders, ""),
        ("alerts expected", judgement.expected, "orders that are rejected for certain"),
        ("alerts received", judgement.received, "orders with an alert"),
        ("missing", judgement.missing, "expected, but without an alert"),
        ("unexpected", judgement.unexpected, "alerts of orders that are accepted, or that the input does not have"),
        ("wrong", judgement.wrong, "alerts that say something else than the input"),
        ("duplicated", judgement.duplicated, "alerts after the first of their order"),
        ("disagreeing", judgement.disagreeing, "duplicates that name another quote than the first"),
        ("undecided", judgement.undecided, f"orders that delays up to {judgement.delay_us:,} us leave open"),
    )
    for name, count, meaning in rows:
        table.add_row(name, f"{count:,}", Text(meaning, style="dim"))
    return table
