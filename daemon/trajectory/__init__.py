"""Rows of setpoints, passes over them, and the clock that moves along: what planning and stream share.

- `track`: rows in shared memory, and the setpoint at any place on them
- `passes`: which rows are played, how often, in which direction
- `route`: an approach and passes, leg by leg
- `clock`: where on a leg the robot is, and how fast that place moves
- `way`: from rest to rest, as fast as its bounds allow
- `ramp`: jerk-limited changes of that rate
"""
