"""What happens in each tick: commands, setpoint, feedback, checks, record."""

from .commands import recover
from .loop import StreamLoop

__all__ = ["StreamLoop", "recover"]
