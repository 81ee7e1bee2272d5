"""The implementation of the pytest plugin, which runs motiond as a program and asks it by `motiond.client`.

- `plugin`: fixtures and hooks, loaded when a test first uses a robot
- `process`: a daemon as a process of its own
- `simulated`: a configuration in which no real actuator moves
- `robot`: one robot, and a motion that it plays
- `reports`: what the robots have reported since the test began
- `traces`: what was sent to the actuators, and measured there
- `failures`: how a daemon or a robot fails a test
"""
