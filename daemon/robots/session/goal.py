"""A goal as the daemon knows it, from its acceptance to its result."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...telemetry import Drift
from ...trajectory import longest_stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

    from ...api import PlayRequest
    from ...planning import Plan, Playback
    from ...trajectory import Track


@dataclass(slots=True, kw_only=True)
class Goal(ABC):
    """What sets a robot going, and has one result.

    Attributes
    ----------
    goal_id : str
        An id of its own.
    group_start : str or None
        The id of the start of its group that it belongs to.
    number : int
        That of the command by which it was sent; 0 before.
    expires_at : float or None
        Unix time in s after which it does not begin: nobody waits for its answer any more.
    asked_by : str or None
        Who asked for it, for people; None where that is not known.
    transaction : str or None
        That of the request.
    is_beside : bool
        Whether it plays beside others, on joints of its own.
    is_stopped : bool
        Whether it was stopped, and not all that plays.
    resumed : int
        The number of the last command to go on from a pause.
    """

    goal_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    group_start: str | None = None
    number: int = 0
    expires_at: float | None = None
    asked_by: str | None = None
    transaction: str | None = None
    is_beside: bool = False
    is_stopped: bool = False
    resumed: int = 0

    @property
    @abstractmethod
    def motion(self) -> str:
        """The motion's name."""

    @property
    @abstractmethod
    def is_endless(self) -> bool:
        """Whether it goes on until something stops it."""

    @property
    def needs_control(self) -> bool:
        """Whether it ends where whoever has begun it is in control no more."""
        return False

    def accepted(self) -> dict[str, Any]:
        """Return what an answer says of it once it has begun."""
        return {"goal_id": self.goal_id}

    @property
    def plan(self) -> Plan | None:
        """What was planned before it begins; None where its way is made as it goes."""
        return None

    @property
    def frames_per_tick(self) -> float:
        """How many frames of its file lie between two setpoints."""
        return 1.0

    @property
    def joint_names(self) -> list[str]:
        """The joints that it moves."""
        return [] if self.plan is None else self.plan.joints_driven

    @property
    def is_additive(self) -> bool:
        """Whether it is added to what plays."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether it begins on a robot alone that plays nothing."""
        return self.plan is None

    def has_rate(self, rate_hz: float) -> bool:
        """Whether it can be played with others at so many rows a second."""
        return self.plan is not None and self.plan.rate_hz == rate_hz

    def why_not_beside(self, other: Goal) -> str:
        """Return why it cannot begin while another goal plays; '' where it can."""
        own, its = self.plan, other.plan
        if own is None or its is None:
            return "what follows targets has the robot to itself"
        if self.is_additive and other.is_additive:
            return "one motion is added at a time"
        shared = own.driven & its.driven
        if shared.any() and not (self.is_additive or other.is_additive):
            return f"{own.motion} moves joint '{own.joints[int(shared.argmax())]}', too"
        if not self.has_rate(its.rate_hz):
            return f"{own.motion} was not planned for the {its.rate_hz:g} rows a second of {its.motion}"
        if self.is_alone:
            return f"{own.motion} begins at an appointed time, or from beyond a limit; that it does alone"
        return ""

    def drift(self) -> Drift | None:
        """Return what counts how far it is from its appointed time; None where it has none."""
        return None

    @abstractmethod
    def stops_within_s(self, max_skip_s: float) -> float:
        """Return a bound of how long a stop takes, in s, from any moment of the goal.

        Parameters
        ----------
        max_skip_s : float
            How much time a late tick may skip.
        """


@dataclass(slots=True, kw_only=True)
class MotionGoal(Goal):
    """One play, with what is known of how fast and how gently it goes.

    Attributes
    ----------
    playback : Playback
        What is played.
    own : Playback
        That at the motion's own rate.
    at_rates : list of Playback
        The same at the rates of others that it may be played with.
    speed : float
        The speed that was asked for last.
    fastest : float
        The highest at which it may be played, or what flows into it.
    looked_at_speed : float
        The highest at which checks of the body have looked at all its rows.
    gentlest : float
        In 1/s: the least steep ramp of the clock's rate on any of its ways.
    ways : list of Track
        Those to its rows, from the last rest on: an approach, or where a seek leads. [] once it is on them.
    blend : Track or None
        Along which the goal before flows into it. Nothing is added to that.
    back : Track or None
        That between its passes.
    ramp : float
        In 1/s: the steepest ramp of the clock's rate on its motion.
    from_beyond : bool
        Whether it may begin far outside the limits of joints, on a slow way towards their range.
    blend_s : float
        By how much of its time it overlaps with the goal that it waits for; 0 where it begins from rest.
    blended_rows : int
        Over how many of its first rows the goal before it flows into it; 0 where that is not planned.
    holds : list of float
        Where the joints are that it does not drive, and others; [] before it was sent.
    notes : sequence of str
        What was found of it as it was planned for its request.
    warnings : list of str
        What was found of it that does not keep it from being played, as it was made ready last.
    turned : ndarray, shape (joints,)
        What is added to the rows of its first pass, in rad: whole turns of joints that turn without end.
    """

    playback: Playback
    own: Playback = field(init=False)
    looked_at_speed: float = field(init=False)
    at_rates: list[Playback] = field(default_factory=list)
    request: PlayRequest
    speed: float
    fastest: float
    gentlest: float
    ways: list[Track] = field(default_factory=list)
    blend: Track | None = None
    back: Track | None = None
    ramp: float = 0.0
    from_beyond: bool = False
    blend_s: float = 0.0
    blended_rows: int = 0
    holds: list[float] = field(default_factory=list)
    notes: Sequence[str] = ()
    warnings: list[str] = field(default_factory=list)
    turned: Floats = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        self.own, self.looked_at_speed = self.playback, max(1.0, self.speed)

    @property
    def motion(self) -> str:
        """The motion's name."""
        return self.playback.plan.motion

    def accepted(self) -> dict[str, Any]:
        """Return what an answer says of it once it has begun: its id, and what was found of it."""
        return {"goal_id": self.goal_id, **({"warnings": [*self.warnings]} if self.warnings else {})}

    @property
    def all_ways(self) -> list[Track]:
        """All ways that it may go yet beside its rows."""
        return [*self.ways, *(way for way in (self.blend, self.back) if way is not None)]

    def arrive(self) -> None:
        """Take that it is on its rows: it goes no way there again."""
        self.ways.clear()

    @property
    def turned_last(self) -> Floats:
        """What is added to the rows of its last pass, shape (joints,)."""
        turned: Floats = self.turned + self.playback.advance * (self.playback.passes.count - 1)
        return turned

    @property
    def is_endless(self) -> bool:
        """Whether it loops for ever."""
        return not self.playback.passes.count

    @property
    def rate_hz(self) -> float:
        """Of its rows."""
        return self.playback.track.rate_hz

    @property
    def plan(self) -> Plan:
        """The motion, planned."""
        return self.playback.plan

    @property
    def frames_per_tick(self) -> float:
        """How many frames of its file lie between two rows."""
        return self.plan.frames_per_tick

    def _at_rate(self, rate_hz: float) -> Playback | None:
        laid_out = (one for one in (self.own, *self.at_rates) if one.plan.rate_hz == rate_hz)
        return next(laid_out, None)

    def has_rate(self, rate_hz: float) -> bool:
        """Whether it was laid out at so many rows a second."""
        return self._at_rate(rate_hz) is not None

    def take_rate(self, rate_hz: float | None) -> None:
        """Be played at so many rows a second, where it was laid out so; at its own otherwise."""
        self.playback = (rate_hz and self._at_rate(rate_hz)) or self.own

    @property
    def is_additive(self) -> bool:
        """Whether it is added to what plays."""
        return self.request.additive

    @property
    def is_alone(self) -> bool:
        """Whether it begins at an appointed time, or from beyond a limit."""
        return self.start_at is not None or self.from_beyond

    @property
    def start_at(self) -> float | None:
        """The Unix time in s at which its first row is due; None where that is not appointed."""
        return self.request.start_at

    def drift(self) -> Drift | None:
        """Return what counts how far it is from its appointed time; None where it has none."""
        return None if self.start_at is None else Drift(self.start_at, self.rate_hz)

    def stops_within_s(self, max_skip_s: float) -> float:
        """Return a bound of how long a stop takes, in s, from any moment of the goal."""
        rate_hz, fades_s = self.rate_hz, self.request.ramp_s if self.is_additive else 0.0
        stops_s = longest_stop(self.fastest, self.gentlest / rate_hz, max_skip_s * rate_hz) / rate_hz
        return max(stops_s, fades_s + max_skip_s)


def new_goal(
    playback: Playback, request: PlayRequest, group_start: str | None = None, *, asked_by: str | None = None
) -> MotionGoal:
    """Make the goal of a play."""
    return MotionGoal(
        playback=playback,
        request=request,
        speed=request.speed,
        fastest=max(1.0, request.speed),
        gentlest=playback.track.clock_acceleration,
        blend_s=request.blend_s,
        group_start=group_start,
        asked_by=asked_by,
        transaction=request.transaction,
    )
