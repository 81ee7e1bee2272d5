"""The real-time process of one robot: wakes on time, computes, writes, reads, checks, records.

- `__main__`: where it begins
- `fork_server`: forks it from a process that has loaded all that it needs
- `process`: from its setup to its end
- `loop`: one tick after the other
- `schedule`: deadlines, and what becomes of those that were missed
- `clocks`: real and virtual time
- `realtime`: what is asked of the kernel
- `commands`: what the daemon's commands do
- `notices`: what is told to the daemon
- `actuators`: the driver on the joints' side
- `player`: what plays, from its approach to its result
- `state_machine`: the state, moved by events
- `reference`: the setpoint, and its place on the route
- `execution`: what is played, how far it is, how it ended
- `markers`: which markers are passed
- `watch`: what is checked in which state, and what follows
- `checks`, `onsets`: effort, temperature, feedback, stalled joints; when each begins to fail and is over
- `displacement`: what has moved joints from where they are held
- `ways_back`: how what was moved goes back, and what does not unasked
- `tolerances`, `tolerance_watch`: joints too far from their setpoints, and what follows
- `locks`: one master for each device
- `reconnect`: finds lost actuators again
- `leaving`: ends a process that still opens its driver
- `idle`: what is heard and told while there are no actuators
"""
