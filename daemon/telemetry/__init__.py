"""Reads the ring: samples, timing, traces.

- `observer`: the newest sample, and the timing of a second or of a goal
- `timing`: statistics of durations and ticks
- `drift`: how far the ticks of a motion were from their appointed times
- `npz`: every tick of a play as a file
"""
