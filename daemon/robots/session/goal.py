"""A goal as the daemon knows it, from its acceptance to its result."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...trajectory import longest_stop

if TYPE_CHECKING:
    from ...api import PlayRequest
    from ...planning import Playback


@dataclass(slots=True)
class Goal:
    """One play, with what is known of how fast and how gently it goes.

    Attributes
    ----------
    speed : float
        The speed that was asked for last.
    fastest : float
        The highest that was asked for.
    gentlest : float
        In 1/s: the least steep ramp of the clock's rate on any of its ways.
    group_start : str or None
        The id of the start of its group that it belongs to.
    from_beyond : bool
        Whether it may begin far outside the limits of joints, on a slow way towards their range.
    number : int
        That of the command by which it was sent; 0 before.
    expires_at : float or None
        Unix time in s after which it does not begin: nobody waits for its answer any more.
    asked_by : str or None
        Who asked for it, for people; None where that is not known.
    """

    goal_id: str
    playback: Playback
    request: PlayRequest
    speed: float
    fastest: float
    gentlest: float
    group_start: str | None = None
    from_beyond: bool = False
    number: int = 0
    expires_at: float | None = None
    asked_by: str | None = None

    @property
    def motion(self) -> str:
        """The motion's name."""
        return self.playback.plan.motion

    @property
    def is_endless(self) -> bool:
        """Whether it plays until something stops it."""
        return not self.playback.passes.count

    def stops_within_s(self, max_skip_s: float) -> float:
        """Return a bound of how long a stop takes, in s, from any moment of the goal.

        Parameters
        ----------
        max_skip_s : float
            How much time a late tick may skip.
        """
        rate_hz = self.playback.track.rate_hz
        return longest_stop(self.fastest, self.gentlest / rate_hz, max_skip_s * rate_hz) / rate_hz


def new_goal(
    playback: Playback, request: PlayRequest, group_start: str | None = None, *, asked_by: str | None = None
) -> Goal:
    """Make a goal with an id of its own."""
    return Goal(
        uuid.uuid4().hex,
        playback,
        request,
        speed=request.speed,
        fastest=max(1.0, request.speed),
        gentlest=playback.track.clock_acceleration,
        group_start=group_start,
        asked_by=asked_by,
    )
