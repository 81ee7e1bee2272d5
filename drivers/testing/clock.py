"""A clock for tests, which stands still until a test moves it."""


class Clock:
    """A monotonic clock that only tests move.

    Attributes
    ----------
    now_s : float
        The time, to be set.
    """

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Let time pass."""
        self.now_s += duration_s
