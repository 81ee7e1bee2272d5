"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is told to end
- `descriptors`: how many files may be open
- `logs`: what is written to stderr
- `systemd`: what systemd is told
"""
