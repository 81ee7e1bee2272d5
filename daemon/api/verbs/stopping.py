"""Stopping, and going on after an emergency stop or a fault."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from ...ipc.states import State
from .verb import Name, Request, Verb


class StopRequest(Request):
    """Stop softly, on the path, and clear the queue; allowed at any time.

    With `goal_id` only that goal ends, whether it plays or waits; what plays beside it plays on.
    """

    goal_id: Name | None = None


class EstopRequest(Request):
    """Halt in the next tick and latch; not a safety-rated stop."""


class ResetRequest(Request):
    """Leave `estopped` or `fault`."""


class ReachedAnswer(TypedDict):
    """Whether a stop was reached by actuators."""

    state: State
    reached: bool
    """Whether there are actuators to stop: false where the robot is offline."""
    message: str
    """Why they were not reached."""
    ignored: NotRequired[str]
    """What was wrong with the request."""


class StopAnswer(ReachedAnswer):
    """A stop was accepted; the end of the goal comes as a result."""

    goal_id: str | None
    """Of several that played, the first; null where nothing did."""
    stops_within_s: float
    ended_teaching: bool
    """Whether the robot was moved by hand until then."""
    holds: bool
    """Whether all actuators hold; where not, it drops once it is let go."""


class EstopAnswer(ReachedAnswer):
    """An emergency stop was accepted."""

    latched: bool


class ResetAnswer(TypedDict):
    """What the robot does now."""

    state: State


STOPPING_VERBS = (
    Verb("stop", StopRequest, StopAnswer, begins=False, interferes=False, stops=True, needs_lease=False),
    Verb("estop", EstopRequest, EstopAnswer, begins=False, interferes=False, stops=True, needs_lease=False),
    Verb("reset", ResetRequest, ResetAnswer, begins=True, interferes=True),
)
