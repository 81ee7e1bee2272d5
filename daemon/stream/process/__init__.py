"""The life of stream processes."""

from .devices import ShutdownRequested
from .process import Machine, main, stream

__all__ = ["Machine", "ShutdownRequested", "main", "stream"]
