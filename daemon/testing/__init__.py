"""The implementation of the pytest plugin, which runs motiond as a program and imports nothing of it.

- `plugin`: fixtures and hooks, loaded when a test first uses a robot
- `process`: a daemon as a process of its own
- `simulated`: a configuration in which no real actuator moves
- `connection`: what the daemon says over MQTT, and what it is asked
- `robot`, `goals`: one robot, and a motion that it plays
- `control`: control of a robot, where a lease is required
- `traces`: what was sent to the actuators, and measured there
- `failures`: how a daemon or a robot fails a test
"""
