"""Judges recorded files: quotes, orders, and the ledger of alerts."""

from pathlib import Path

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.wire.layout import NBBO, ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.common.wire.ledger import decode_ledger
from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.loadgen.files.native import map_bytes, read_native
from market_spread.loadgen.oracle.judgement import Judgement
from market_spread.loadgen.oracle.oracle import WHOLE_RUN, Oracle


def check_files(
    nbbo: Path,
    orders: Path,
    alerts: Path,
    *,
    duplicates_allowed: bool = False,
    warm_up_judged: bool = True,
) -> Judgement:
    """Judge the alerts of a ledger by native files of the quotes and orders as they were sent; see `Oracle`.

    duplicates_allowed: of any order, as when a restart was, or how many jobs there were, is not known.
    Without warm_up_judged, orders and alerts of the warm-up are left out, as where its orders were not recorded.
    UsageError if a file cannot be read, or has something that does not belong into it.
    """
    replayed = WHOLE_RUN if duplicates_allowed else ()
    oracle = Oracle(read_ledger(alerts, warm_up_judged=warm_up_judged), replayed=replayed)
    for decoded in read_native(nbbo, NBBO):
        oracle.add_quotes(Quotes.from_decoded(decoded))
    for decoded in read_native(orders, ORDER):
        chunk = Orders.from_decoded(decoded)
        oracle.add_orders(chunk if warm_up_judged else chunk[chunk.order_id < WARM_UP_ORDER_ID_MIN])
    return oracle.judgement()


def read_ledger(path: Path, *, warm_up_judged: bool = True) -> Alerts:
    """The alerts of a ledger in order of receipt; a last line that was cut short is left out.

    UsageError if the file cannot be read or a line is damaged.
    """
    with usage_errors(str(path), kinds=(UsageError,)):
        lines = decode_ledger(map_bytes(path, "a ledger of alerts").data)
        alerts = Alerts.from_rows(lines.rows, lines.received_us)
    return alerts if warm_up_judged else alerts[alerts.order_id < WARM_UP_ORDER_ID_MIN]
