"""Plays motion files on real actuators.

- `motiond.client` asks and watches daemons; it knows nothing of the others.
- `motiond.formats` reads and writes files of robots and motions; it knows nothing of the others.
- `motiond.drivers` moves actuators; it knows nothing of the others.
- `motiond.daemon` is the running program; it sits on all three.
- `motiond.local` finds the daemons of this machine.
- `motiond.text` cuts and lists what messages quote; all four use it.

In a checkout the four packages are links: their folders stand at the top of the repository.
"""
