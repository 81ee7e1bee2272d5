"""Plays motion files on real actuators.

- `motiond.formats` reads and writes files of robots and motions; it knows nothing of the other two.
- `motiond.drivers` moves actuators; it knows nothing of the other two.
- `motiond.daemon` is the running program; it sits on both.
- `motiond.text` cuts and lists what messages quote; all three use it.

In a checkout the three packages are links: their folders stand at the top of the repository.
"""
