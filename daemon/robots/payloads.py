"""What a robot reports, JSON-ready: its state, its description, results and markers (docs/mqtt.md)."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from motiond.formats.registry import MOTIONS, ROBOTS

from ..ipc.states import ResultCode
from ..joints import joint_bounds
from .session import FollowGoal, MotionGoal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..api import (
        DescriptionReport,
        Displacement,
        EventReport,
        Follows,
        GoalResult,
        PlayingGoal,
        RobotStatus,
    )
    from ..config.robot import RobotSettings
    from ..ipc import messages
    from ..joints import JointMap
    from ..telemetry import Drift, Extremes, Observer, Sample, Timing
    from .session import Goal, RobotSession

VERSION = version("motiond")
"""It is asked of the file system: once, not for each robot."""


def state_payload(session: RobotSession, observer: Observer | None, joint_map: JointMap) -> RobotStatus:
    """Return what a robot does now.

    - `observer`: of its stream process
    - `joint_map`: its joints and actuators; `loose` are those that do not hold while others do
    """
    goal, holds = session.goal, session.holds
    held = zip(joint_map.actuators, holds, strict=False) if any(holds) else ()
    status: RobotStatus = {
        "state": session.state,
        "torque": session.is_on,
        "loose": [name for name, on in held if not on],
        "estop_latched": session.latched,
        "message": session.reason,
        "failed": [name for name in joint_map.joints if joint_map.actuator_of(name) in session.failed],
        "displaced": cast("Displacement | None", session.known.displaced),
        "motion": None,
        "goal_id": None,
        "queued": len(session.queue),
        "goals": [_playing(goal, session) for goal in session.goals],
    }
    if goal is not None:
        status["motion"], status["goal_id"] = goal.motion, goal.goal_id
    if isinstance(goal, MotionGoal):
        _add_progress(status, goal, observer.sample if observer else None)
    if isinstance(goal, FollowGoal):
        status["follow"] = goal.status()
    return status


def _playing(goal: Goal, session: RobotSession) -> PlayingGoal:
    """Return what is to be known of a goal that plays."""
    return {
        "goal_id": goal.goal_id,
        "motion": goal.motion,
        "joints": goal.joint_names,
        "state": session.state_of(goal),
        "speed": goal.speed if isinstance(goal, MotionGoal) else None,
        "beside": goal.is_beside,
        "additive": goal.is_additive,
        "weight": goal.request.weight if isinstance(goal, MotionGoal) and goal.is_additive else None,
    }


def _add_progress(status: RobotStatus, goal: MotionGoal, sample: Sample | None) -> None:
    """Add where on its motion a goal is."""
    row, loop = (sample.scalar("frame"), sample.scalar("loop")) if sample else (0.0, 1.0)
    passes, plan = goal.playback.passes, goal.plan
    first, length = goal.playback.offset + passes.first, passes.last - passes.first
    status["frame"] = row * plan.frames_per_tick
    status["time"] = row / plan.rate_hz
    status["duration"] = plan.duration_s
    status["progress"] = min(1.0, max(0.0, (row - first) / length)) if length else 1.0
    status["speed"] = goal.speed
    status["loop"] = int(loop)
    status["loops"] = passes.count or None
    status["start_at"] = goal.start_at
    if (step := goal.playback.step_at(row)) is not None:
        status["step"] = {"step": step.step, "motion": step.motion, "time": step.time + 1}


def description_payload(
    joint_map: JointMap, settings: RobotSettings, max_rate_hz: float | None, bodies: Sequence[str] = ()
) -> DescriptionReport:
    """Return what a robot is: joints, actuators, driver, poses, tolerances, formats and rates.

    - `max_rate_hz`: the highest rate at which its driver takes setpoints; None until it is open
    - `bodies`: what can touch; none where the driver knows no contacts, or is not open
    """
    about, tolerances = joint_map.payload(), joint_bounds(joint_map, settings).payload(joint_map)
    description: DescriptionReport = {
        "joints": about["joints"],
        "actuators": about["actuators"],
        "model": about["model"],
        "driver": settings.driver.type,
        "poses": settings.poses,
        "groups": settings.groups,
        "tolerances": {"path": tolerances["path"], "goal": tolerances["goal"]},
        "hottest_c": settings.checks.temperature_c,
        "upload": settings.upload_folder is not None,
        "motion_suffixes": list(MOTIONS.suffixes),
        "formats": {kind.name: kind.names for kind in (ROBOTS, MOTIONS)},
        "rates": {"idle_hz": settings.idle_rate_hz, "max_hz": max_rate_hz},
        "version": VERSION,
    }
    if bodies:
        description["bodies"] = [*bodies]
    return description


def result_payload(
    goal: Goal,
    ended: messages.Ended,
    joint_map: JointMap,
    *,
    timing: Timing | None,
    extremes: Extremes | None,
    bodies: Sequence[str] = (),
    follows: Follows | None = None,
    drift: Drift | None = None,
    recording: str | None = None,
) -> GoalResult:
    """Return how a goal ended.

    - `timing`, `extremes`: of its ticks; None where it did not begin
    - `bodies`: what can touch, by the numbers in contacts; none where the driver knows no contacts
    - `follows`: what the robot then does by itself: `queue`, or what `on_end` asks for
    - `drift`: of its ticks from their appointed times; None where its start was not appointed
    - `recording`: the file in which it is recorded
    """
    drift_s = drift.payload() if drift else None
    details = ended.details | ({"start": goal.group_start} if goal.group_start else {})
    if isinstance(goal, FollowGoal) and goal.number:
        details["follow"] = goal.counts()
    if extremes and bodies:
        details["contacts"] = extremes.contacts.take(bodies)
    return {
        "goal_id": goal.goal_id,
        "motion": goal.motion,
        "code": ResultCode(ended.code),
        "message": ended.message,
        "transaction": goal.transaction,
        "asked_by": goal.asked_by,
        "played_s": ended.played_s,
        "details": details,
        "warnings": goal.warnings if isinstance(goal, MotionGoal) else [],
        "beside": goal.is_beside,
        "timing": {**timing.payload(), "drift_s": drift_s} if timing else None,
        "worst_error": extremes.worst_error(joint_map) if extremes else None,
        "peak_effort": extremes.peak_effort(joint_map) if extremes else None,
        "recording": recording,
        "follows": follows,
    }


def marker_event(goal: MotionGoal, reached: messages.Reached) -> EventReport:
    """Return the event of a marker that the motion has passed."""
    marker = goal.playback.markers[reached.marker]
    return {
        "kind": "marker",
        "message": f"{goal.motion}: {marker.name}",
        "marker": marker.name,
        "payload": marker.payload,
        "goal_id": reached.goal_id,
        "loop": reached.loop,
        "lateness_s": reached.lateness_s,
    }
