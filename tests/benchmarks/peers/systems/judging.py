"""Market Spread in plain Python: the newest quote of each symbol, and the alerts of a frame of orders.

The newest is the one of the highest sequence, not the one that came last: a quote that is repeated or late changes
nothing. The loop and the Bytewax flow share it. It needs the layout alone, so it runs in any peer's environment.
"""

from struct import Struct

from market_spread.common.wire.layout import NBBO, ORDER, Layout

Quote = tuple[bytes, bytes, bytes]

_NO_QUOTE: Quote = (b"0" * 10, b"0" * 10, b"0" * 12)


def _struct(layout: Layout) -> Struct:
    return Struct("".join(f"{field.width}s" for field in layout.fields))


_QUOTES, _ORDERS = _struct(NBBO), _struct(ORDER)


class Judge:
    """The state, bid, offer and sequence by symbol, and what is done with a frame. Not thread-safe."""

    def __init__(self, newest: dict[bytes, Quote] | None = None) -> None:
        self.newest = newest or {}

    def take_quotes(self, frame: bytes) -> None:
        """Remember the newest quotes of a frame. Of two with one sequence the first stays."""
        newest = self.newest
        for _, symbol, bid, offer, _, sequence in _QUOTES.iter_unpack(frame):
            known = newest.get(symbol)
            if known is None or sequence > known[2]:  # padded with zeros, so their order is that of the numbers
                newest[symbol] = (bid, offer, sequence)

    def alerts_of(self, frame: bytes, sent_us: bytes, read_us: int) -> list[tuple[bytes, bytes]]:
        """Order id and alert of each order of a frame that is rejected; the emit time is left for `stamped`."""
        newest, alerts = self.newest, []
        for _, symbol, side, account, order_id, quantity, price, intended in _ORDERS.iter_unpack(frame):
            bid, offer, sequence = newest.get(symbol, _NO_QUOTE)
            low, high = int(bid), int(offer)
            spread = high - low
            if spread >= 500 or 40 * spread >= low + high:
                quote = (bid, offer, sequence)
                order = (
                    symbol,
                    side,
                    account,
                    quantity,
                    price,
                    *quote,
                    intended,
                    sent_us.zfill(16),
                    b"%016d" % read_us,
                )
                alerts.append((order_id, b"".join((b"A", order_id, *order))))
        return alerts


def stamped(alert: bytes, now_us: int) -> bytes:
    """The alert with its last field, the emit time."""
    return alert + b"%016d" % now_us
