"""What looks at a planned motion besides limits: whether the body of the robot allows what its joints do.

A check returns what it finds; `checked` does what follows from that. Checks may run in any thread, in several
at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...joints import JointMapError
from ..planner import plan, plan_pose
from ..violations import PlanError, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

    from ...config.robot import RobotSettings
    from ...joints import JointMap
    from ...trajectory import Track
    from ..planner import Plan

POSE_RATE_HZ = 200.0
MOST_SLOWINGS = 5
HAIR = 0.999
"""What is put between stretched rows is never quite the same curve."""


@dataclass(frozen=True, slots=True)
class PlanFindings:
    """What a check has found; texts do not name the motion.

    - `refusals`: why it must not be played; a `Violation` where it is a limit
    - `warnings`: what its players should know
    - `slower`: at this factor of its speed it could be played, `because` of that; 1 as it is
    - `max_speed`: the fastest factor at which it could, by `limiting_joint`
    - `about`: for programs, JSON-ready
    """

    refusals: tuple[Violation | str, ...] = ()
    warnings: tuple[str, ...] = ()
    slower: float = 1.0
    because: str = ""
    max_speed: float = math.inf
    limiting_joint: str = ""
    about: Mapping[str, Any] | None = None


def never() -> bool:
    """Return that nothing has been stopped."""
    return False


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What joints do that a track does not drive.

    - `held` (ndarray, shape (joints,)): where they are, in rad or m
    - `spread` (ndarray, shape (joints,)): how far from there other motions take them; 0 where they hold
    - `parts`: the ways and the rows of the one motion that takes them there; () where there are several
    - `added` (ndarray, shape (joints,)): how far what is added takes any joint besides
    - `stopped`: once it says so, what is found does not matter any more
    - `speed`: how fast the rows are played at most, as a factor of their rate
    """

    held: Floats
    spread: Floats
    added: Floats
    parts: tuple[Track, ...] = ()
    stopped: Callable[[], bool] = never
    speed: float = 1.0


class PlanCheck(Protocol):
    """A check of planned motions, under whose `name` its findings stand.

    - `notes`: how it has understood the robot, for people
    - `warnings`: what of that may not be meant
    - `refuses_unseen`: whether nothing may move on a way that it has not looked at
    - `slows`: whether it asks for slower ways
    - `depends_on_speed`: whether what it finds of rows depends on how fast they are played
    """

    name: str
    notes: Sequence[str]
    warnings: Sequence[str]
    refuses_unseen: bool
    slows: bool
    depends_on_speed: bool

    def of_plan(self, planned: Plan, joint_map: JointMap, stopped: Callable[[], bool], /) -> PlanFindings:
        """Look at a motion; once it is `stopped`, what is found does not matter any more."""

    def of_way(self, way: Track, meanwhile: Meanwhile, joint_map: JointMap, /) -> PlanFindings:
        """Look at an approach or a blend."""

    def of_held(self, track: Track, meanwhile: Meanwhile, joint_map: JointMap, /) -> PlanFindings:
        """Look at a motion that is about to begin, at what `of_plan` could not know of other joints."""


def whole_rows(planned: Plan, joint_map: JointMap) -> Floats:
    """Return a plan's rows, shape (rows, joints), with joints that it leaves alone where they begin."""
    return (
        planned.positions
        if planned.driven.all()
        else np.where(planned.driven, planned.positions, initial_of(joint_map))
    )


def initial_of(joint_map: JointMap) -> Floats:
    """Return where the description has joints begin, shape (joints,), those that follow others with these."""
    held = joint_map.initial.copy()
    joint_map.follow(held)
    return held


def slowed_way(
    way_at: Callable[[float], Track], checks: Sequence[PlanCheck], meanwhile: Meanwhile, joint_map: JointMap
) -> tuple[Track, float, str]:
    """Return a way as slow as checks ask for, at which share of its speed that is, and why; '' as it is.

    `way_at`: plans it at a share of its speed.
    """
    way, speed, reason = way_at(1.0), 1.0, ""
    checks = [check for check in checks if check.slows]
    for _ in range(MOST_SLOWINGS if checks else 0):
        found = min((check.of_way(way, meanwhile, joint_map) for check in checks), key=lambda one: one.slower)
        if found.slower == 1.0:
            break
        speed, reason = HAIR * found.slower * speed, reason or found.because
        way = way_at(speed)
    return way, speed, reason


def checked(
    planned: Plan,
    checks: Sequence[PlanCheck],
    joint_map: JointMap,
    at_speed: Callable[[float], Plan] | None = None,
    stopped: Callable[[], bool] = never,
) -> Plan:
    """Return a plan as all checks let it be played, with what they have found.

    `at_speed`: plans the motion at another share of its file's speed, where it may be slowed. Raises
    PlanError with everything that is against it.
    """
    reasons: list[str] = []
    for _ in range(MOST_SLOWINGS):
        found = {check.name: check.of_plan(planned, joint_map, stopped) for check in checks}
        if stopped():
            raise PlanError(f"{planned.motion}: it was not checked; the robot leaves")
        physics = {name: one.about for name, one in found.items() if one.about is not None}
        slower = min((one.slower for one in found.values()), default=1.0)
        refusals = [refusal for one in found.values() for refusal in one.refusals]
        because = [one.because for one in found.values() if one.slower < 1.0]
        if slower == 1.0 or refusals or at_speed is None:
            break
        reasons = reasons or because
        planned = at_speed(HAIR * slower * planned.slowed_to)
    else:
        refusals += because
    if at_speed is None:
        refusals += because
    if refusals:
        lines = [f"{planned.motion}: {refusal}" for refusal in refusals]
        violations = [refusal for refusal in refusals if isinstance(refusal, Violation)]
        raise PlanError("\n".join(lines), violations, physics)
    slowed = [f"slowed to {planned.slowed_to:.3g} of its speed: {reason}" for reason in reasons]
    warnings = [*slowed, *(warning for one in found.values() for warning in one.warnings)]
    fastest = min(found.values(), key=lambda one: one.max_speed, default=PlanFindings())
    if fastest.max_speed < planned.max_speed:
        planned = replace(planned, max_speed=fastest.max_speed, limiting_joint=fastest.limiting_joint)
    return replace(
        planned,
        warnings=(*planned.warnings, *(f"{planned.motion}: {warning}" for warning in warnings)),
        physics=physics,
    )


def checked_plan(
    motion: Motion,
    joint_map: JointMap,
    settings: RobotSettings,
    max_rate_hz: float,
    checks: Sequence[PlanCheck],
    *,
    stopped: Callable[[], bool] = never,
) -> Plan:
    """Plan a motion, slower where a check asks for it, and have all checks look at it.

    Raises PlanError and JointMapError as `plan`, and PlanError with everything that checks have against it.
    """

    def at_speed(speed: float) -> Plan:
        return plan(motion, joint_map, settings, max_rate_hz, speed=speed)

    return checked(at_speed(1.0), checks, joint_map, at_speed, stopped)


def checked_pose(
    name: str,
    positions: Mapping[str, float],
    joint_map: JointMap,
    settings: RobotSettings,
    checks: Sequence[PlanCheck],
) -> Plan:
    """Plan a posture, and have all checks look at it, as far as the joints that it names make what they find.

    `positions`: by joint, in rad or m. Raises PlanError and JointMapError as `plan_pose`, and PlanError with
    everything that checks have against it.
    """
    return checked(plan_pose(name, positions, joint_map, settings, POSE_RATE_HZ), checks, joint_map)


def pose_problems(joint_map: JointMap, settings: RobotSettings, checks: Sequence[PlanCheck]) -> Iterator[str]:
    """Yield what is against the postures of a configuration, and what is to be warned of."""
    for name, positions in settings.poses.items():
        try:
            yield from checked_pose(f"pose {name}", positions, joint_map, settings, checks).warnings
        except (PlanError, JointMapError) as error:
            yield from str(error).splitlines()
