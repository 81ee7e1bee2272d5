"""Plays motion files on real actuators.

- `motiond.formats` reads and writes files of robots and motions; it knows nothing of the other two.
- `motiond.drivers` moves actuators; it knows nothing of the other two.
- `motiond.daemon` is the running program; it sits on both.

In a checkout the three are links: their folders stand at the top of the repository.
"""
