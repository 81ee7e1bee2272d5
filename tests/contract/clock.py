"""Time for tests, from where it ships."""

from drivers.testing.clock import Clock

__all__ = ["Clock"]
