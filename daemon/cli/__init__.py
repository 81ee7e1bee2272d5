"""The command line, and the demonstration.

- `main`, `__main__`: the program, and how errors end it
- `robots`: subcommands that ask a daemon
- `forget`: the subcommand for a robot that is gone
- `files`: subcommands for files
- `actuators`: subcommands for actuators
- `dry_run`: what a dry run says
- `output`: common options, exit codes, tables
- `demo`, `live_table`: the demonstration, and what it shows
"""
