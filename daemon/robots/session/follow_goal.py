"""A follow as the daemon knows it: a goal whose way is made as it goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .goal import Goal

if TYPE_CHECKING:
    from ...api import FollowCounts, FollowHeldBy, FollowLag, FollowStatus, Spread, StartFollowRequest
    from ...ipc.messages import Followed
    from ...joints import TwistMap
    from ...trajectory import OnlineLimits

FOLLOW = "follow"
"""What it is called where motions are."""


@dataclass(slots=True, kw_only=True)
class FollowGoal(Goal):
    """One follow, with what has become of its targets.

    Attributes
    ----------
    names : tuple of str
        The joints that it moves, in the order of targets' values.
    joints : tuple of int
        Their numbers.
    setpoints_hz : float
        How many setpoints there are a second.
    limits : OnlineLimits
        What those joints keep on the curve through a chunk.
    stop_s : float
        A bound of how long a stop takes from any velocity and acceleration that the limits allow.
    twist : TwistMap or None
        What makes velocities of joints of twists.
    slowed_by : str or None
        The joint that slows twists, or "singularity".
    slowed_s : float
        Since when, on the event loop's clock.
    dropped, refused : int
        Targets that were not passed on, as newer ones came at once, or as they are none of this follow.
    followed : Followed or None
        What its stream process has reported last of the others.
    targets_hz : float
        Targets a second, as of then.
    """

    request: StartFollowRequest
    names: tuple[str, ...]
    joints: tuple[int, ...]
    setpoints_hz: float
    limits: OnlineLimits
    stop_s: float
    twist: TwistMap | None = None
    slowed_by: str | None = None
    slowed_s: float = -math.inf
    dropped: int = 0
    refused: int = 0
    followed: Followed | None = None
    targets_hz: float = 0.0
    _followed_s: float = 0.0

    def count_refused(self) -> None:
        """Count a target that is none of this follow."""
        self.refused += 1

    @property
    def motion(self) -> str:
        """What it is called."""
        return FOLLOW

    @property
    def joint_names(self) -> list[str]:
        """The joints that it moves."""
        return [*self.names]

    @property
    def is_endless(self) -> bool:
        """Always: it goes on until it is stopped, or no target comes."""
        return True

    @property
    def needs_control(self) -> bool:
        """Always: nobody else knows where it is to go."""
        return True

    @property
    def has_reached_leader(self) -> bool:
        """Whether it goes with its leader, after the slow way to there."""
        followed = self.followed
        return self.request.leader is not None and followed is not None and not followed.is_behind

    def stops_within_s(self, max_skip_s: float) -> float:
        """Return a bound of how long a stop takes, in s, from any moment of the goal."""
        return self.stop_s + max_skip_s

    def note(self, followed: Followed, now_s: float) -> bool:
        """Take what has become of its targets so far, as of a time in s.

        Returns whether people want to know at once: it has reached its leader, or something is in the way.
        """
        was_behind, was_held = (
            (self.followed.is_behind, self.followed.held_by) if self.followed else (True, None)
        )
        before = self.followed.targets if self.followed else 0
        since_s = now_s - self._followed_s
        self.targets_hz = (followed.targets - before) / since_s if self.followed and since_s > 0.0 else 0.0
        self.followed, self._followed_s = followed, now_s
        return was_behind != followed.is_behind or (was_held is None) != (followed.held_by is None)

    def counts(self) -> FollowCounts:
        """Return what has become of its targets, JSON-ready, those included that were not passed on."""
        followed = self.followed
        return {
            "targets": followed.targets if followed else 0,
            "clipped": followed.clipped if followed else 0,
            "dropped": self.dropped + (followed.dropped if followed else 0),
            "refused": self.refused + (followed.refused if followed else 0),
            "latency_s": cast("Spread | None", followed.latency_s if followed else None),
            "lag": cast("FollowLag | None", followed.lag if followed else None),
            "held_by": cast("FollowHeldBy | None", followed.held_by if followed else None),
        }

    def status(self) -> FollowStatus:
        """Return what it does now, JSON-ready."""
        return {
            "joints": [*self.names],
            "mode": self.request.mode,
            "frame": self.request.frame,
            "slowed_by": self.slowed_by,
            "leader": self.request.leader,
            "has_reached_leader": self.has_reached_leader,
            "targets_hz": round(self.targets_hz, 1),
            **self.counts(),
        }
