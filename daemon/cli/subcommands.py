"""Every subcommand: its module and its line of the help, so that only what is asked for is loaded."""

from __future__ import annotations

from typing import NamedTuple

HELP = "Plays motion files on real actuators."
EPILOG = (
    "Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
    "3 nobody answers; 130 interrupted."
)


class Subcommand(NamedTuple):
    """Where a subcommand is, and what the help says of it.

    Attributes
    ----------
    module : str
        A module of this package with a typer app called `app`.
    told : str
        The first paragraph of its docstring.
    """

    module: str
    told: str


SUBCOMMANDS = {
    "run": Subcommand("run", "Run the daemon until SIGTERM or SIGINT."),
    "demo": Subcommand("run", "Play on a simulated arm and show it, with a broker inside."),
    "play": Subcommand("requests.play", "Play a motion; exit code 1 if it does not end successfully."),
    "goto": Subcommand(
        "requests.play", "Go to a posture; with --wait, exit code 1 if it does not get there."
    ),
    "seek": Subcommand(
        "requests.robots", "Go to another place of the motion, and play on from there if it played."
    ),
    "queue": Subcommand("requests.robots", "List the motions that wait for the one that plays."),
    "enable": Subcommand("requests.robots", "Switch torque on, holding where the joints are."),
    "disable": Subcommand("requests.robots", "Switch torque off, while no motion plays."),
    "pause": Subcommand("requests.robots", "Slow down on the path and wait there."),
    "resume": Subcommand("requests.robots", "Go on along the path."),
    "speed": Subcommand("requests.robots", "Play at another speed from now on."),
    "stop": Subcommand(
        "requests.robots", "Stop softly, on the path; exit code 1 where no actuator is there to be stopped."
    ),
    "estop": Subcommand(
        "requests.robots", "Halt at once and stay so until reset; this is no safety-rated stop."
    ),
    "reset": Subcommand("requests.robots", "Leave the emergency stop or a fault."),
    "reboot": Subcommand(
        "requests.robots", "Restart servos that have shut down; their torque goes off, and their errors go."
    ),
    "control": Subcommand(
        "requests.robots",
        (
            "Say who is in control of a robot; "
            "other subcommands are in control by themselves where they have to."
        ),
    ),
    "reload": Subcommand(
        "requests.robots",
        (
            "Take what has changed in the configuration and in motions; "
            "exit code 1 if a motion cannot be played."
        ),
    ),
    "status": Subcommand("requests.robots", "Say what the robots do, and which motions they have."),
    "monitor": Subcommand(
        "monitor", "Show a robot as it moves, with keys to stop, pause and resume it, until q or Ctrl-C."
    ),
    "log-level": Subcommand(
        "requests.log_level",
        "Say from which level on the daemon of this configuration, on this machine, logs; or set it.",
    ),
    "forget": Subcommand(
        "requests.forget", "Clear what the broker keeps of a robot that no daemon has any more."
    ),
    "fleet": Subcommand("requests.fleet", "Command all robots of a group, on one daemon or many."),
    "inspect": Subcommand(
        "files", "Say what is in robot descriptions and motion files; exit code 1 if one cannot be read."
    ),
    "check": Subcommand(
        "files", "Plan motions without moving anything; exit code 1 if one cannot be played."
    ),
    "convert": Subcommand("files", "Convert a motion file; nothing is lost that --drop does not name."),
    "plot": Subcommand(
        "files", "Draw each joint's positions and velocities over time, as they are played, and markers."
    ),
    "scan": Subcommand(
        "actuators",
        "Find serial servos (DYNAMIXEL, Protocol 2.0) and say how they are; exit code 1 if there are none.",
    ),
    "emulate": Subcommand("actuators", "Emulate actuators, to try without hardware."),
    "config": Subcommand("example", "Begin a configuration of your own."),
    "doctor": Subcommand(
        "doctor",
        "Look at the machine: broker, clock, real time, ports, disk; exit code 1 if something cannot work.",
    ),
    "init": Subcommand(
        "init",
        (
            "Write a first configuration, checked, with comments; "
            "looks for hardware and files and moves nothing."
        ),
    ),
    "completion": Subcommand(
        "completion", "Write the script by which a shell completes subcommands, options and what they take."
    ),
}
"""In the order in which the help lists them."""
