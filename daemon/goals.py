"""Turns a play request into what the stream process needs: a plan, an approach, tolerances, shared tracks.

In come a checked request and the setpoint that the robot holds, out comes a `Play` command with its two
tracks, or the reason why it is refused. Motions stay in shared memory from their first play on.
"""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daemon.approach import ApproachError, plan_approach
from daemon.channel import Play
from daemon.config import JointSettings
from daemon.joint_map import JointMapError
from daemon.planner import PlanError, clock_acceleration, plan_pose
from daemon.requests import RequestError
from daemon.tolerances import ToleranceError, resolve
from daemon.track import Track, share
from formats.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from daemon.config import RobotSettings
    from daemon.joint_map import JointMap
    from daemon.library import MotionLibrary
    from daemon.planner import Plan
    from daemon.requests import GotoRequest, PlayRequest

    Floats: TypeAlias = NDArray[np.float64]


POSE_RATE_HZ = 200.0  # of ticks on the way to a posture


@dataclass(slots=True)
class Goal:
    """A goal as the daemon knows it.

    Attributes
    ----------
    speed : float
        The speed that was asked for last.
    """

    goal_id: str
    plan: Plan
    speed: float
    transaction: str | None


class GoalMaker:
    """Makes one robot's goals, and owns the shared memory of its motions.

    Parameters
    ----------
    name : str
        The robot's, for messages.
    settings : RobotSettings
    joint_map : JointMap
    library : MotionLibrary
    """

    def __init__(
        self, name: str, settings: RobotSettings, joint_map: JointMap, library: MotionLibrary
    ) -> None:
        self._name = name
        self._settings = settings
        self._joint_map = joint_map
        self._library = library
        self._shared: dict[str, tuple[Plan, int]] = {}

    def plan_for(self, request: PlayRequest) -> Plan:
        """Give the plan of the motion that a request names.

        Raises
        ------
        RequestError
            If there is none, or not at that speed.
        """
        entry = self._library.get(request.motion)
        if entry is None:
            raise RequestError("UNKNOWN_MOTION", self._library.unknown(request.motion))
        if entry.plan is None:
            raise RequestError("INVALID_MOTION", entry.reason)
        refuse_speed(entry.plan, request.speed)
        return entry.plan

    def plan_to(self, request: GotoRequest) -> Plan:
        """Give the plan of the posture that a request names or lists.

        Raises
        ------
        RequestError
            If there is none, or the joints cannot go there.
        """
        if (request.pose is None) == (request.joints is None):
            what = f"{self._name}: a posture is either a pose or joints; give one of the two"
            raise RequestError("INVALID_REQUEST", what)
        return self._plan_pose(request.pose, request.joints)

    def plan_park(self) -> Plan:
        """Give the plan of the pose `park`.

        Raises
        ------
        RequestError
            If the joints cannot go there.
        """
        return self._plan_pose("park", None)

    def _plan_pose(self, pose: str | None, joints: Mapping[str, float] | None) -> Plan:
        poses = self._settings.poses
        if pose is not None and pose not in poses:
            known = f"there are {', '.join(poses)}" if poses else "there are no poses at all"
            parts = (f"{self._name}: no pose '{pose}'", known, nearest(pose, poses))
            raise RequestError("UNKNOWN_POSE", "; ".join(part for part in parts if part))
        positions = poses[pose] if pose is not None else joints or {}
        rate_hz = min(POSE_RATE_HZ, self._library.max_rate_hz)
        try:
            return plan_pose(pose or "goto", positions, self._joint_map, self._settings, rate_hz)
        except (PlanError, JointMapError) as error:
            raise RequestError("INVALID_MOTION", str(error)) from error

    @contextmanager
    def made(
        self, plan: Plan, request: PlayRequest, start: Sequence[float]
    ) -> Iterator[tuple[Goal, Play, tuple[int, int]]]:
        """Make a goal from where the robot holds.

        Parameters
        ----------
        start : sequence of float
            The setpoint of each joint that is held.

        Yields
        ------
        Goal
        Play
            The command for the stream process.
        tuple of int
            The descriptors of the approach and the motion; closed, or kept, by this object.

        Raises
        ------
        RequestError
            If there is no way from there, or a tolerance cannot be meant.
        """
        path, end, end_time_s = self._tolerances(request)
        goal = Goal(uuid.uuid4().hex, plan, request.speed, request.transaction)
        ramp = self.clock_acceleration(plan, request.speed)
        command = Play(goal.goal_id, plan.motion, request.speed, list(start), ramp, path, end, end_time_s)
        approach = share(self._approach(plan, np.array(start)))
        try:
            yield goal, command, (approach, self._track_fd(plan))
        finally:
            os.close(approach)

    def clock_acceleration(self, plan: Plan, speed: float) -> float:
        """Give how fast the clock may ramp at a speed, in 1/s; beyond 1 the path itself leaves less room."""
        if speed <= 1.0:
            return plan.clock_acceleration
        return self._steepest(plan.positions, plan.velocities, plan.rate_hz, speed)

    def _steepest(self, positions: Floats, velocities: Floats, rate_hz: float, speed: float = 1.0) -> float:
        stop_s = self._settings.stop_duration_s
        return clock_acceleration(positions, velocities, rate_hz, self._joint_map, stop_s, speed=speed)[0]

    def _tolerances(self, request: PlayRequest) -> tuple[list[float], list[float], float]:
        """Give the path and goal tolerance of each joint and the time for the goal's."""
        settings, joints = self._settings, self._joint_map.joints
        own = [settings.joints.get(joint, JointSettings()).tolerances for joint in joints]
        path = [joint.path or settings.tolerances.path for joint in own]
        goal = [joint.goal or settings.tolerances.goal for joint in own]
        try:
            return (
                resolve(self._name, "path_tolerance", joints, path, request.path_tolerance),
                resolve(self._name, "goal_tolerance", joints, goal, request.goal_tolerance),
                request.goal_time_tolerance or settings.tolerances.goal_time_s,
            )
        except ToleranceError as error:
            raise RequestError("INVALID_REQUEST", str(error)) from error

    def _approach(self, plan: Plan, start: NDArray[np.float64]) -> Track:
        try:
            positions, velocities = plan_approach(
                start,
                plan.positions[0],
                plan.driven,
                self._joint_map,
                self._settings.approach,
                rate_hz=plan.rate_hz,
                tolerance=self._settings.start_tolerance,
            )
        except ApproachError as error:
            raise RequestError("INVALID_MOTION", f"{plan.motion}: {error}") from error
        ramp = self._steepest(positions, velocities, plan.rate_hz)
        return Track(positions, velocities, np.ones_like(plan.driven), plan.rate_hz, ramp)

    def _track_fd(self, plan: Plan) -> int:
        """Give the motion in shared memory, copied there when it is first played."""
        known, fd = self._shared.get(plan.motion, (None, -1))
        if known is not plan:
            if known is not None:
                os.close(fd)
            fd = share(plan.track)
            self._shared[plan.motion] = plan, fd
        return fd

    def close(self) -> None:
        """Free the shared memory."""
        for _plan, fd in self._shared.values():
            os.close(fd)
        self._shared.clear()


def refuse_speed(plan: Plan, speed: float) -> None:
    """Refuse a speed beyond the plan's limits.

    Raises
    ------
    RequestError
        With the fastest speed and the joint that sets it.
    """
    if speed > plan.max_speed * (1 + 1e-9):
        who = f"joint '{plan.limiting_joint}' allows" if plan.limiting_joint else "motiond plays at most"
        raise RequestError(
            "INVALID_MOTION",
            f"{plan.motion}: speed {speed:g} is too fast; {who} {plan.max_speed:.3g}; lower the speed",
            {"max_speed": plan.max_speed, "joint": plan.limiting_joint},
        )
