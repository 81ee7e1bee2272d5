"""The machine's clock: how well it is synchronised, and Unix time beside the time of setpoints.

- `state`: what is published of it
- `kernel`: what the kernel knows of it, by adjtimex(2)
- `chrony`: what chronyd knows of it, by `chronyc`
- `monitor`: its state, kept fresh
- `scales`: Unix time less monotonic time
"""
