"""What can be asked for while a robot is taught by hand, and afterwards."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import listed

from ..api import RequestError
from ..teaching import TeachingError, taught_columns
from ..trajectory import longest_braking_s
from .taught import Saving

if TYPE_CHECKING:
    from ..api import (
        KeepPoseAnswer,
        KeepPoseRequest,
        SaveTaughtAnswer,
        SaveTaughtRequest,
        StartTeachingAnswer,
        StartTeachingRequest,
        StopTeachingAnswer,
        StopTeachingRequest,
    )
    from ..teaching import Trail
    from .control import Control
    from .motions import Uploads
    from .robot import Robot

MOST_POSES = 200
TICKS = 3.0
"""Until a command is obeyed, and the actuators hold."""


class TeachingRequests:
    """The requests to teach one robot."""

    def __init__(self, robot: Robot, uploads: Uploads, control: Control) -> None:
        self._robot, self._session, self._draft = robot, robot.session, robot.draft
        self._saving = Saving(robot.name, robot.settings, robot.library, uploads)
        self._control = control
        self._may_save = asyncio.Lock()

    @property
    def caught_within_s(self) -> float:
        """A bound of how long it takes to bring a robot to rest that is moved by hand."""
        settings, limits = self._robot.settings, self._robot.library.joint_map.limits
        braking_s = longest_braking_s(limits.velocity, limits.acceleration, settings.stop_duration_s)
        return braking_s + TICKS / settings.idle_rate_hz

    async def start(self, request: StartTeachingRequest) -> StartTeachingAnswer:
        """Let the robot be moved by hand; what was taught before is forgotten then."""
        robot, session, problem = self._robot, self._session, "it cannot be taught"
        if request.name is not None:
            stopped = session.stopped
            await asyncio.to_thread(self._saving.refuse_name, request.name, replaces=request.replace)
            if session.stopped != stopped:
                reason = "stopped before it could be moved"
                raise RequestError("CANCELED", robot.name, reason, hint="teach it again")
        session.gate.refuse_to_begin(problem, moves=False)
        await self._come_to_rest(request.lease)
        session.gate.refuse_to_begin(problem, moves=False)
        if not session.rests:
            raise session.busy("stop it first")
        self._draft.expect(request.mode)
        robot.recorder.teach()
        await robot.obeyed(session.teach(request.mode, request.expires_at), "teaching")
        if session.teaching is None:
            session.gate.refuse_unless_able(problem)
            reason = session.untaught.message if session.untaught else ""
            raise RequestError("NOT_ALLOWED", robot.name, problem, reason)
        return {"state": session.state, "mode": request.mode}

    async def _come_to_rest(self, lease: str | None) -> None:
        """Wait for a robot that is coming to rest; what may have changed meanwhile is looked at again.

        Raises RequestError, where it was stopped again, or whoever asks is not in control.
        """
        session, stopped = self._session, self._session.stopped
        if session.goals or session.begin or session.queue or session.rests:
            return
        await self._robot.rested()
        if session.stopped != stopped:
            problem, hint = "stopped before it was taught", "start it again"
            raise RequestError("CANCELED", self._robot.name, problem, hint=hint)
        if self._control.lease is not None:
            self._control.lease.admit(f"{self._robot.name}/teach/start", lease)

    async def pose(self, request: KeepPoseRequest) -> KeepPoseAnswer:
        """Keep where the robot is now, at rest or not."""
        robot, draft, problem = self._robot, self._draft, "no pose can be kept"
        if self._session.teaching is None or draft.mode is None:
            raise RequestError(
                "NOT_ALLOWED", robot.name, problem, "it is not being taught", "send teach/start first"
            )
        if robot.stream.observer is not None:
            robot.stream.observer.take()
        position = draft.position
        if lost := [name for name, value in zip(draft.joints, position, strict=True) if np.isnan(value)]:
            reason = f"no position is known of {listed(lost, chr(39))}"
            raise RequestError("FAULT", robot.name, problem, reason, "check the actuators")
        if len(draft.poses) >= MOST_POSES:
            reason = f"{MOST_POSES} are kept already"
            raise RequestError("NOT_ALLOWED", robot.name, problem, reason, "save them, and teach on")
        name = request.name or draft.free_name()
        if name in draft.poses:
            reason, hint = f"there is a pose {name!r} already", "choose another name"
            raise RequestError("INVALID_REQUEST", robot.name, problem, reason, hint)
        draft.keep(name, position)
        joints = dict(zip(draft.joints, position.tolist(), strict=True))
        return {"name": name, "joints": joints, "poses": len(draft.poses)}

    async def stop(self, _request: StopTeachingRequest) -> StopTeachingAnswer:
        """Take hold where the robot is; of a robot that is not taught any more, say what was."""
        robot, session, draft = self._robot, self._session, self._draft
        if session.teaching is not None:
            number = session.stop("ended on request")
            await robot.obeyed(number, "the robot's hold", "use the robot's own switch")
            await robot.rested()
        if draft.trail is None:
            hint = "send teach/start first"
            raise RequestError(
                "NOT_ALLOWED", robot.name, "nothing was taught", "it was not moved by hand", hint
            )
        return {
            "state": session.state,
            "duration_s": draft.trail.duration_s,
            "rows": len(draft.trail),
            "poses": len(draft.poses),
            "ended_because": draft.message,
            "holds": session.known.torque and all(session.holds),
            "problems": self._problems(draft.trail),
        }

    def _problems(self, trail: Trail) -> list[str]:
        """Return why no motion can be made of it, and what is missing."""
        problems = []
        try:
            taught_columns(self._robot.library.joint_map, trail.known)
        except TeachingError as error:
            problems.append(str(error))
        if lost := self._draft.lost:
            problems.append(f"{lost} ticks were not recorded; the daemon was too slow to read them")
        return problems

    async def save(self, request: SaveTaughtRequest) -> SaveTaughtAnswer:
        """Make a motion of what was taught, and save it; it can be played under its name at once."""
        robot, draft, problem = self._robot, self._draft, "nothing can be saved"
        if self._session.teaching is not None:
            raise RequestError("BUSY", robot.name, problem, "it is being taught", "send teach/stop first")
        trail, poses = draft.trail, np.array([*draft.poses.values()]).reshape(-1, len(draft.joints))
        if trail is None:
            raise RequestError(
                "NOT_ALLOWED", robot.name, problem, "nothing was taught", "send teach/start first"
            )
        if self._may_save.locked():
            raise RequestError("BUSY", robot.name, problem, "another motion is being made", "wait for it")
        async with self._may_save:
            await robot.motions.load_again()  # so that the names of all files are known
            answer = await asyncio.to_thread(self._saving.save, request, trail, poses)
        if answer["saved"]:
            await robot.motions.load_again()
            entry = robot.library.get(answer["motion"])
            if entry is None or entry.plan is None:
                reason = entry.reason if entry else "it is not in the library"
                raise RequestError.of("INVALID_MOTION", f"{robot.name}: saved, but {reason}", dict(answer))
        return answer
