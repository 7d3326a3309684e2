"""How tests wait for what happens in another process or thread."""

import time
from collections.abc import Callable

_POLL_S = 0.05


def eventually(
    what: str,
    condition: Callable[[], object],
    *,
    within_s: float = 30.0,
    check: Callable[[], None] = lambda: None,
    detail: Callable[[], object] = lambda: "",
) -> float:
    """Wait until the condition holds; returns the seconds that it took. AssertionError if it does not in time.

    check: called before each look, to fail at once when waiting has become pointless. detail: what the error says
    besides what was waited for.
    """
    begin = time.monotonic()
    while True:
        check()
        if condition():
            return time.monotonic() - begin
        assert time.monotonic() - begin < within_s, f"not within {within_s:g} s: {what} {detail()}".rstrip()
        time.sleep(_POLL_S)
