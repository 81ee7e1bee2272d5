"""Looks at a machine before a robot moves on it: what is there, what it means, what to do.

- `examination`: all checks, one after the other
- `report`: what a check found, for programs and for people
- `machine`: where the machine is read, which tests replace
- `target`: the configuration, and the devices that its robots drive
- `broker`: whether the broker lets the daemon in, and how long a message takes
- `certificates`: until when they are valid
- `clock`: whether the machine's clock is synchronised
- `punctuality`: the kernel, real-time rights, and how late a process wakes; `wakeups`: that process
- `ports`: serial ports: who may use them, who does, and how long their adapters wait
- `modules`: HEBI modules on the network
- `disk`: room where files are written
- `versions`: what is installed, and which motiond this is
"""
