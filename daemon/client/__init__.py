"""Asks a daemon over MQTT, as any client could.

- `session`: one conversation with one robot
- `play`: a play request and the wait for its end
- `forget`: clears what a broker keeps of a robot that is gone
- `status`: all robots at a broker
"""
