"""DYNAMIXEL servos on a serial bus, Protocol 2.0.

driver    the driver: opening, setpoints, torque
options   its options
setup     finds servos, checks and sets them before torque, and restarts those that have shut down
feedback  what servos report, and which of them are silent, failed or loose
limits    positions that servos accept and joints can be at
capacity  how long a tick takes on a bus
chain     servos of one series on one bus, addressed together, and the layout of their feedback
bus       servos on a port: frames out, answers in
line      the port: bytes out and in, waited for until a time
protocol  packets as bytes
models    control tables and units of each model, and hardware errors; the tables are in `tables/`
units     between registers and SI units
scan      looks for servos on a port
emulator  emulated servos
"""
