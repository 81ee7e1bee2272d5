"""The real-time process of one robot: wakes on time, computes, writes, reads, checks, records.

Each package in here is used by its face. This one imports nothing, so that each use loads only what it needs.

- `__main__`: where the process begins
- `process`: from its setup to its end, and the fork server
- `engine`: the loop, the player and the checks
- `timing`: clocks, deadlines, and what is asked of the kernel
- `locks`: one master for each device
"""
