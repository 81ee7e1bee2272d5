"""Starts a group of robots at one appointed time, and sends commands to all of a group."""

from .commands import Gathered, command
from .conversation import conversing
from .http_groups import HttpGroups
from .overview import list_robots
from .playing import GroupPlaying, Outcome
from .roster import Robot, Roster
from .start import Coordinator, GroupPlay, coordinating

__all__ = [
    "Coordinator",
    "Gathered",
    "GroupPlay",
    "GroupPlaying",
    "HttpGroups",
    "Outcome",
    "Robot",
    "Roster",
    "command",
    "conversing",
    "coordinating",
    "list_robots",
]
