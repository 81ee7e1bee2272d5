"""What can be asked for while a robot follows targets, and the way of the targets."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed

from ..api import ChunkRequest, Follower, KeepAliveRequest, RequestError
from ..ipc import messages
from .leader import Mirror, leader_of
from .process import TargetWay
from .session import FollowGoal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats.arrays import Floats

    from ..api import (
        KeepAliveAnswer,
        StartFollowAnswer,
        StartFollowRequest,
        StopFollowAnswer,
        StopFollowRequest,
        Streamed,
        Target,
        TargetAnswer,
    )
    from ..joints import TwistMap
    from .control import Control
    from .robot import Robot

START = "send follow/start first"
SAID_S = 0.2
"""What slows a frame is said for so long at least."""
WANTED = {"position": "positions", "velocity": "velocities", "twist": "twist"}
"""Which values targets have, by the mode of their follow."""


class FollowRequests:
    """The requests to let one robot follow targets."""

    def __init__(self, robot: Robot, control: Control, robots: Mapping[str, Robot]) -> None:
        self._robot, self._session = robot, robot.session
        self._control = control
        self._way = TargetWay(robot.stream.send_target)
        self._robots, self._mirror = robots, Mirror(robot, self._put)
        self.mirror = self._mirror.run

    async def start(self, request: StartFollowRequest, asked_by: str | None = None) -> StartFollowAnswer:
        """Follow targets from where the robot holds; torque is switched on where it is off."""
        robot, session, problem = self._robot, self._session, "it cannot follow"
        stopped = session.stopped
        await robot.limits.checked()
        if session.stopped != stopped:
            reason = "stopped before it followed"
            raise RequestError("CANCELED", robot.name, reason, hint="start it again")
        if self._control.lease is not None:
            self._control.lease.admit(f"{robot.name}/follow/start", request.lease)
        session.gate.refuse_to_begin(problem)
        leader = leader_of(robot, self._robots, request)
        joints = leader.match.joints if leader else request.joints
        goal = robot.planner.follow_goal(request, joints, asked_by)
        if request.on_busy == "reject" and (session.goals or session.begin or session.queue):
            raise session.busy("stop it first, or replace it")
        goal.expires_at = request.expires_at
        answer = await robot.settled(session.begin_instead(goal, problem))
        held = session.known.reference
        if leader and held is not None and session.goal is goal:
            self._mirror.begin(goal, leader, np.array(held)[[*goal.joints]])
        return {"goal_id": answer["goal_id"], "joints": answer["joints"], "rate_hz": answer["rate_hz"]}

    async def target(self, request: Target) -> TargetAnswer:
        """Pass on a target, and say so."""
        self.take(request)
        return {"goal_id": request.goal_id}

    async def keep_alive(self, request: KeepAliveRequest) -> KeepAliveAnswer:
        """Go on following the leader."""
        self.take(request)
        return {"goal_id": request.goal_id}

    def take(self, request: Streamed) -> None:
        """Pass on a target without waiting; raises RequestError where it is none of what is followed."""
        goal, name = self._followed(request.goal_id), self._robot.name
        if isinstance(request, KeepAliveRequest):
            self._keep_alive(goal)
            return
        if goal.request.leader is not None:
            reason = f"it follows {goal.request.leader}"
            raise RequestError("NOT_ALLOWED", name, "no target is taken", reason, "send follow/stop first")
        try:
            target = self._target_of(goal, request)
        except ValueError as error:
            goal.count_refused()
            raise RequestError("INVALID_REQUEST", f"{name}/follow", str(error), hint="correct it") from error
        self._put(goal, target)

    def _keep_alive(self, goal: FollowGoal) -> None:
        if goal.request.keep_alive_s is None:
            where, reason = f"{self._robot.name}/follow/keep_alive", "its follow/start has no keep_alive_s"
            raise RequestError("NOT_ALLOWED", where, "it keeps nothing alive", reason)
        self._mirror.keep_alive(goal)

    def _put(self, goal: FollowGoal, target: messages.Target | messages.Chunk) -> None:
        goal.dropped += self._way.put(target)

    async def stop(self, request: StopFollowRequest) -> StopFollowAnswer:
        """Stop softly; that ends what is followed well."""
        goal = self._followed(request.goal_id)
        await self._robot.obeyed(self._session.end_follow(goal), "an answer of its stream process")
        within_s = round(goal.stops_within_s(self._robot.settings.max_skip_s), 3)
        return {"state": self._session.state, "goal_id": goal.goal_id, "stops_within_s": within_s}

    def follower(self, goal_id: str) -> Follower | None:
        """Return what follows targets of a goal; None where that is another one, or nothing."""
        goal = self._session.goal
        if not isinstance(goal, FollowGoal) or goal.goal_id != goal_id:
            return None
        return Follower(self._robot.name, len(goal.joints), goal.count_refused)

    def _followed(self, goal_id: str | None) -> FollowGoal:
        """Return what is followed; raises RequestError where that is nothing, or another goal."""
        goal, last, name = self._session.goal, self._session.last, self._robot.name
        if isinstance(goal, FollowGoal) and goal_id in {None, goal.goal_id}:
            return goal
        if goal_id is None:
            reason = f"the robot is {self._session.state}"
            raise RequestError("NOT_PLAYING", name, "it follows nothing", reason, START)
        reason = "it is over, or never was"
        if last is not None and last.goal_id == goal_id:
            reason = f"it ended with {last.code}; {last.message}"
        raise RequestError("UNKNOWN_GOAL", name, f"goal '{echoed(goal_id)}' is not followed", reason, START)

    def _target_of(self, goal: FollowGoal, request: Target) -> messages.Target | messages.Chunk:
        """Return what the stream process needs of a target; raises ValueError where it does not fit."""
        if isinstance(request, ChunkRequest):
            return _chunk_of(goal, request)
        mode = goal.request.mode
        values: list[float | None] | list[float] | None = getattr(request, WANTED[mode])
        if values is None:
            raise ValueError(f"it has no {WANTED[mode]}, which this follow takes")
        positions, velocities = request.positions, request.velocities
        if goal.twist is not None:
            velocities = self._velocities(goal, goal.twist, np.array(values))
        elif len(values) != len(goal.joints):
            raise ValueError(f"it has {len(values)} values; {len(goal.joints)} joints are followed")
        return messages.Target(goal.goal_id, positions, velocities, _sent_at(request), time.time())

    def _note_slowed(self, goal: FollowGoal, by: str | None) -> None:
        """Report at once what slows a frame, but not as often as that may change."""
        now_s = asyncio.get_running_loop().time()
        if by != goal.slowed_by and now_s - goal.slowed_s >= SAID_S:
            goal.slowed_by, goal.slowed_s = by, now_s
            self._robot.report_state()

    def _velocities(self, goal: FollowGoal, twist_map: TwistMap, twist: Floats) -> list[float | None]:
        """Return what gives a frame a twist, where the robot is by the newest of its setpoints."""
        self._robot.read_records()
        observer = self._robot.stream.observer
        newest = observer.sample.vector("reference_position") if observer and observer.sample else np.nan
        held = self._session.known.reference
        if held is None:
            raise ValueError("where the robot is to be is not known yet")
        positions = np.where(np.isfinite(newest), newest, held)
        joints = twist_map.next(positions, twist, asyncio.get_running_loop().time())
        self._note_slowed(goal, joints.slowed_by)
        return [*joints.velocities.tolist()]


def _chunk_of(goal: FollowGoal, request: ChunkRequest) -> messages.Chunk:
    joints, mode = len(goal.joints), goal.request.mode
    if mode != "position":
        raise ValueError(f"it has positions; this follow takes {WANTED[mode]}")
    if any(len(row) != joints for row in request.positions):
        raise ValueError(f"a row has not one value for each of the {joints} joints that are followed")
    period_s = request.period_s or 0.0
    times = request.times or [row * period_s for row in range(len(request.positions))]
    if request.start_at is not None:
        _refuse_far("start_at", request.start_at)
    sent_at, taken_at = _sent_at(request), time.time()
    curve, clipped = goal.limits.path(np.array(times), np.array(request.positions))
    return messages.Chunk(goal.goal_id, request.start_at, sent_at, taken_at, clipped, curve.as_bytes())


def _sent_at(request: Target) -> float | None:
    """Return when a target was sent; raises ValueError where that would make all others older for long."""
    if request.sent_at is not None:
        _refuse_far("sent_at", request.sent_at)
    return request.sent_at


def _refuse_far(key: str, at: float) -> None:
    ahead_s = at - time.time()
    if ahead_s > messages.FURTHEST_S:
        raise ValueError(f"{key} is {ahead_s:.1f} s from now; at most {messages.FURTHEST_S:g} s are allowed")
