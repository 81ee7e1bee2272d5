"""What happens in each tick: commands, setpoint, feedback, checks, record.

- `loop`: one tick after the other; notices to the daemon
- `commands`: what the daemon's commands do
- `actuators`: the driver on the joints' side
- `player`: the state and the setpoint, from the approach to the result
- `execution`: what is played, within which tolerances, how far it is, how it ended
- `watch`: what is checked in which state, and what follows
- `checks`: effort, temperature, feedback, stalled joints
- `displacement`: what has moved joints from where they are held, and how they go back
"""

from .commands import restart
from .loop import StreamLoop

__all__ = ["StreamLoop", "restart"]
