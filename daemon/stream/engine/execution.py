"""One play in the stream process: what is to be played, how far it is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...ipc.states import ResultCode
    from ...trajectory import Route
    from .tolerances import Tolerances


class Phase(Enum):
    """How far an execution is, beside the state of the robot: it may be paused or stopped in each of them."""

    APPROACH = "approach"  # on the way to the row that is played next
    WAIT = "wait"  # on that row, for the time at which it is due
    MOTION = "motion"
    RETURN = "return"  # on the way back to where it paused, after something has moved it
    SETTLE = "settle"  # the last row is out; the joints have to come within the goal tolerance


ON_MOTION = frozenset({Phase.MOTION, Phase.SETTLE})


@dataclass(frozen=True, slots=True)
class Execution:
    """What is to be played.

    `speed`: rows of the motion per tick, to begin with. `clock_acceleration`: in 1/s: how fast the clock's
    rate may change on the motion at that speed. `path`, `goal`: of the feedback, while the motion plays and
    after its last row. `goal_ticks`: how many ticks after the last row the joints may take to come within the
    goal tolerance. `not_before`: the tick, counted from 1, in which the first row is due at the earliest.
    `offset`: the row of the plan that is the first of the motion's track. `markers`: places to tell of as
    they are passed, in rows of the plan, ascending.
    """

    goal_id: str
    motion_name: str
    route: Route
    speed: float
    clock_acceleration: float
    path: Tolerances
    goal: Tolerances
    goal_ticks: float
    not_before: int = 0
    needs_go: bool = False
    offset: int = 0
    markers: tuple[float, ...] = ()

    @property
    def rate_hz(self) -> float:
        """Rows per second at speed 1."""
        return self.route.motion.rate_hz


class PassedMarker(NamedTuple):
    """A marker that was passed: its number, in which pass, and how many ticks ago."""

    execution: Execution
    marker: int
    loop: int
    ticks_ago: float


@dataclass(frozen=True, slots=True)
class Result:
    """How an execution ended."""

    execution: Execution
    code: ResultCode
    message: str
    played_ticks: int
    details: dict[str, Any] = field(default_factory=dict)
