"""One play in the stream process: what is played, within which tolerances, and how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...ipc.messages import OFF
from ...trajectory import Leg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.states import ResultCode
    from ...trajectory import Route, Track


class Excess(NamedTuple):
    """A joint that is too far from its reference; the values are in rad or m."""

    joint: int
    error: float
    tolerance: float

    def far(self, unit: str) -> str:
        """Return how far off it is, for messages."""
        return "without feedback" if math.isnan(self.error) else f"{self.error:.4g} {unit} off"

    def details(self, joint: str, unit: str) -> dict[str, Any]:
        """Return what a result has of it, JSON-ready."""
        error = None if math.isnan(self.error) else self.error
        return {"joint": joint, "error": error, "tolerance": self.tolerance, "unit": unit}


class Tolerances:
    """Tolerances of some joints. `values`: for each joint, in rad or m; `OFF` where there is none."""

    def __init__(self, values: Sequence[float]) -> None:
        tolerances = np.array(values, dtype=float)
        self._joints = np.flatnonzero(tolerances != OFF)
        self._tolerances: Floats = tolerances[self._joints]
        self.any = bool(self._joints.size)

    def worst(self, reference: Floats, measured: Floats, forgiven: Booleans | None = None) -> Excess | None:
        """Return the joint that passes its tolerance by the greatest factor; None where all keep theirs.

        `reference`, `measured` (joints,): a joint without feedback (NaN) breaks its tolerance. `forgiven`
        (joints,): joints that may be anywhere.
        """
        errors = np.abs(reference[self._joints] - measured[self._joints])
        kept = errors <= self._tolerances
        if forgiven is not None:
            kept |= forgiven[self._joints]
        if kept.all():
            return None
        share = np.where(kept, 0.0, np.where(np.isnan(errors), np.inf, errors / self._tolerances))
        worst = int(share.argmax())
        return Excess(int(self._joints[worst]), float(errors[worst]), float(self._tolerances[worst]))


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
    `offset`: the row of the plan that is the first of the motion's track. `markers`: places to report as
    they are passed, in rows of the plan, ascending. `turned` (joints,): what is added to the rows of the
    first pass; None for nothing.
    """

    goal_id: str
    route: Route
    speed: float
    clock_acceleration: float
    path: Tolerances
    goal: Tolerances
    goal_ticks: float
    not_before: int = 0
    offset: int = 0
    markers: tuple[float, ...] = ()
    turned: Floats | None = None

    @property
    def rate_hz(self) -> float:
        """Rows per second at speed 1."""
        return self.route.motion.rate_hz


@dataclass(frozen=True, slots=True)
class Chained:
    """What an execution flows into.

    - `motion`: its name, for messages
    - `blend`: rows of both, from one of the last pass that plays now to one of the next motion
    - `speed_limit`: in rows per tick: how fast the clock may move along the blend
    """

    execution: Execution
    motion: str
    blend: Track
    speed_limit: float

    @property
    def steps(self) -> int:
        """By how many rows both overlap."""
        return self.blend.last

    @property
    def clock_acceleration(self) -> float:
        """In 1/s: how fast the clock's rate may change on the blend, and beyond it."""
        return min(self.blend.clock_acceleration, self.execution.clock_acceleration)

    def leg(self, turned: Floats | None) -> Leg:
        """Return the way over the blend; `turned` is what is added to the rows before it."""
        first = self.execution.route.passes.first
        return Leg(self.blend, 0, self.blend.last, seamless=True, beside=first, turned=turned)

    def turned(self, before: Floats | None) -> Floats | None:
        """Return what is added to the rows of the next motion; `before`: to those before the blend."""
        further = self.execution.turned
        return before if further is None else further if before is None else before + further

    def leg_after(self, turned: Floats | None) -> Leg:
        """Return what is left of the first pass behind the blend, in full motion; `turned`: as it returns."""
        route = self.execution.route
        return route.leg(0, route.passes.first + self.steps, turned, eases=False)


class PassedMarker(NamedTuple):
    """A marker that was passed: its number, in which pass, and how many ticks ago."""

    execution: Execution
    marker: int
    loop: int
    ticks_ago: float


class Goal(Protocol):
    """What moves a robot, and ends with one result: an execution, or a pursuit of targets."""

    @property
    def goal_id(self) -> str:
        """Return its id."""

    @property
    def rate_hz(self) -> float:
        """Return how many setpoints it has in a second."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a goal ended."""

    execution: Goal
    code: ResultCode
    message: str
    played_ticks: int
    details: dict[str, Any] = field(default_factory=dict)
