"""Asks a daemon over MQTT, as any client could.

- `session`: one conversation with one robot
- `play`: a play request and the wait for its end
- `status`: all robots at a broker
"""
