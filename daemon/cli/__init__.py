"""The command line, and the demonstration.

- `main`, `__main__`: the entry; `stop_here`: a stop on the daemon's own machine
- `program`: how a subcommand is run, and how errors end it; `app`: all subcommands
- `run`: the subcommands that run the daemon
- `requests`: the subcommands that ask a daemon
- `monitor`: the subcommand that shows one robot, with keys
- `files`: subcommands for files
- `actuators`: subcommands for actuators
- `init`: subcommands for a configuration to begin with
- `doctor`: the subcommand that looks at the machine
- `completion`: scripts for shells
- `output`: common options, exit codes, tables; `streams`: what stdout and stderr can take
- `demo`: the demonstration
"""
