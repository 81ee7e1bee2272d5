"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is told to end
- `logs`: what is written to stderr
- `systemd`: what systemd is told
"""
