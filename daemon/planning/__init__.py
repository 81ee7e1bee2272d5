"""Turns motion files into checked setpoints, before anything moves.

- `library`: every configured motion, read and planned, playable or not
- `reader`: motions of files, large ones from a process of their own
- `listing`: the files in the configured places
- `planner`: a motion as a row of setpoints for each tick
- `columns`: a motion's rows in the robot's columns
- `ticks`: these rows at the rate of the ticks
- `curve`: what lies between the ticks
- `violations`: setpoints beyond a limit
- `fitting`: slowed until nothing is beyond a limit, or by how much to slow it
- `speed_limits`: the fastest speed, and the steepest ramp of the clock
- `markers`: named places, from a file beside the motion's
- `preview`: a plan to look at
- `playback`: the range, the passes and the seam of one play
- `approach`: the way from where the joints are to a row
- `tolerances`: configured tolerances joined with those of a request
- `unnoticed`: joints that could stand still, and nobody would notice
"""
