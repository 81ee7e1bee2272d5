"""Time for tests: a clock that stands still until it is told to go on."""


class Clock:
    """Time that passes when it is told to.

    Attributes
    ----------
    now_s : float
        Monotonic time.
    """

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Give monotonic time in seconds."""
        return self.now_s
