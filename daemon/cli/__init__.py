"""The command line, and the demonstration.

- `main`, `__main__`: the program, and how errors end it
- `subcommands`: which there are; `tree`: puts them together for typer;
  `help`: lists them without it; `later`: what libraries import and commands seldom use
- `run`: the subcommands that run the daemon
- `play`: subcommands that set a robot going; `playback`: options of all that play motions
- `robots`: the other subcommands that ask a daemon
- `whole`: the subcommand that asks a daemon as a whole
- `fleet`: subcommands for groups of robots
- `fleet_view`, `fleet_table`: subcommands that show all robots at a broker
- `monitor`: the subcommand that shows one robot, with keys; `monitor_screen`: what it shows; `robot_view`:
  what is known of a robot; `sparkline`: numbers over time; `commander`: what keys ask for; `terminal`: keys
- `forget`: the subcommand for a robot that is gone
- `broker`: how these find the broker; `request`, `words`: how they ask, and what they say of a refusal
- `files`: subcommands for files
- `example`: subcommands for a configuration to begin with
- `actuators`: subcommands for actuators
- `init`: the subcommand that writes a first configuration; `interview`, `actuator_questions`: what it asks;
  `questions`: how
- `dry_run`: what a dry run says
- `doctor`: the subcommand that looks at the machine
- `completion`: scripts for shells
- `output`: common options, exit codes, tables; `streams`: what stdout and stderr can take
- `demo`, `live_table`: the demonstration, and what it shows
"""
