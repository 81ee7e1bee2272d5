"""Reads the ring: samples, timing, traces.

- `observer`: the newest sample, and the timing of a second or of a goal
- `timing`: statistics of durations and ticks
- `npz`: every tick of a play as a file
"""
