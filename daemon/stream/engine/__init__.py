"""What happens in each tick: commands, setpoint, feedback, checks, record.

- `loop`: one tick after the other
- `commands`: what the daemon's commands do
- `notices`: what is sent to the daemon
- `actuators`: the driver on the joints' side
- `player`: the state and the setpoint, from the approach to the result
- `execution`: what is played, how far it is, how it ended
- `watch`: what is checked in which state, and what follows
- `checks`: effort, temperature, feedback, stalled joints
- `tolerances`: joints too far from their setpoints
- `displacement`: what has moved joints from where they are held
- `ways_back`: how what was moved goes back, and what does not unasked
"""

from .commands import restart
from .loop import StreamLoop

__all__ = ["StreamLoop", "restart"]
