"""What `check` shows of a judgement."""

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from market_spread.controller.analysis.evidence import Verdict
from market_spread.loadgen.oracle.oracle import Judgement


def verdict_of(judgement: Judgement) -> Verdict:
    """Failed if the alerts have a fault, which is certain; else void if the input allows no judgement."""
    if judgement.faulty:
        return Verdict.FAILED
    return Verdict.PASSED if judgement.void_reason is None else Verdict.VOID


def judgement_table(judgement: Judgement) -> RenderableType:
    """The verdict, its counts, and the first faults of each kind."""
    head = [Text(verdict_of(judgement).value.upper(), style="bold")]
    if judgement.void_reason is not None:
        head.append(Text(judgement.void_reason))
    faults = [Text(f"{kind}: {sentence}") for kind, sentences in judgement.sentences.items() for sentence in sentences]
    table = Table("", Column(justify="right"), "", show_header=False, box=None, padding=(0, 2))
    rows = (
        ("orders", judgement.orders, ""),
        ("alerts expected", judgement.expected, "orders that are certainly rejected"),
        ("alerts received", judgement.received, "orders with an alert"),
        ("missing", judgement.missing, "expected, but without an alert"),
        ("unexpected", judgement.unexpected, "alerts for accepted or unknown orders"),
        ("wrong", judgement.wrong, "alerts that contradict the input"),
        ("duplicated", judgement.duplicated, "alerts after the first of their order"),
        ("replayed", judgement.replayed, "the same, where duplicates are allowed"),
        ("disagreeing", judgement.disagreeing, "duplicates that name another quote than the first"),
        ("stale", judgement.stale, "on older quotes than nearby delays allow; a fault above 1% of the alerts"),
        ("undecided", judgement.undecided, f"orders that cannot be decided (delay bound {judgement.delay_us:,} us)"),
    )
    for name, count, meaning in rows:
        table.add_row(name, f"{count:,}", Text(meaning, style="dim"))
    return Group(*head, table, *faults)
