"""What a robot does, and which motions it has."""

from __future__ import annotations

from typing_extensions import TypedDict

from ..reports import MotionsReport, RobotStatus
from .verb import MotionName, Request, Verb


class StatusRequest(Request):
    """Report what the robot does now."""


class DeleteMotionRequest(Request):
    """Remove a motion's file, where the configuration lets clients do so."""

    motion: MotionName


class DeletedAnswer(TypedDict):
    """The motions that stood in the file that was removed."""

    deleted: list[str]


class ReloadMotionsRequest(Request):
    """Read the motion folders again."""


LOOKING_VERBS = (
    Verb("status", StatusRequest, RobotStatus, begins=False, interferes=False, needs_lease=False),
    Verb("motions/delete", DeleteMotionRequest, DeletedAnswer, begins=False, interferes=False),
    Verb("motions/reload", ReloadMotionsRequest, MotionsReport, begins=False, interferes=False),
)
