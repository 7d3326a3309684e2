"""A clock that tests move by hand."""


class ManualClock:
    """A clock that stands still until a test moves it. Sleeping moves it."""

    def __init__(self, unix_ns: int = 1_700_000_000_000_000_000) -> None:
        self._unix_ns = unix_ns
        self._monotonic_ns = 0

    def unix_ns(self) -> int:
        return self._unix_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def sleep_ns(self, duration_ns: int) -> None:
        if duration_ns > 0:
            self.advance_ns(duration_ns)

    def advance_ns(self, duration_ns: int) -> None:
        """Move both times forward."""
        self._unix_ns += duration_ns
        self._monotonic_ns += duration_ns

    def step_ns(self, step_ns: int) -> None:
        """Move Unix time alone, as who sets a host's clock does."""
        self._unix_ns += step_ns
