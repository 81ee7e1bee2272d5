"""What happens in each tick: commands, setpoint, feedback, checks, record."""

from .commands import restart
from .loop import StreamLoop

__all__ = ["StreamLoop", "restart"]
