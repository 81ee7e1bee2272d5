"""Asks a daemon: over MQTT, as any client could, and on its own machine.

- `connection`: one connection, and a conversation with one robot there
- `session`: what is asked of a robot, and what follows
- `finding`: the broker at which a robot's daemon is, of several
- `local`: asks a daemon on this machine for what concerns it as a whole
- `forget`: clears what a broker keeps of a robot that is gone
"""
