"""Asks a daemon over MQTT, as any client could.

- `session`: one conversation with one robot
- `finding`: the broker at which a robot's daemon is, of several
- `play`: a request to play or to go somewhere, and the wait for its end
- `control`: who is in control of a robot
- `reload`: reading motions again
- `forget`: clears what a broker keeps of a robot that is gone
- `status`: all robots at a broker
"""
