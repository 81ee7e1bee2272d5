"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is told to end
- `descriptors`: how many files may be open
- `interpreter`: how threads and the garbage collector share the interpreter's time
- `logs`: the robots' reports in the log
- `systemd`: what systemd is told
"""
