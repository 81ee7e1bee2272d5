"""Sequences of one robot's motions, planned in a thread while the daemon goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from motiond.text import rounded_down, shortened

from ...api import RequestError
from ...planning import SequenceError, Step, plan_sequence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ...api import SequenceRequest, StepRequest
    from ...config.robot import RobotSettings
    from ...planning import MotionLibrary, Playback, SequencePlan

LONGEST_REASON = 3_500


class Sequences:
    """Plans sequences, one at a time.

    - `robot`: the robot's name, for messages
    - `motion_of`: finds the motion of a name, as planned, until a time of the loop; raises RequestError
    """

    def __init__(
        self,
        robot: str,
        settings: RobotSettings,
        library: MotionLibrary,
        motion_of: Callable[[str, float], Awaitable[Playback]],
    ) -> None:
        self._robot, self._settings, self._library = robot, settings, library
        self._motion_of = motion_of
        self._planning: asyncio.Task[SequencePlan] | None = None

    async def planned(self, request: SequenceRequest, until_s: float) -> SequencePlan:
        """Plan a sequence; `until_s` is until when by the loop's clock that may take.

        Raises RequestError: INVALID_MOTION with all problems of all steps; BUSY, if another is being planned,
        or it takes longer than a client waits.
        """
        if self._planning is not None and not self._planning.done():
            reason = "another sequence is being planned"
            raise self._busy("it cannot be planned now", reason, "send it again in a moment")
        steps = await self._steps(request.steps, until_s)
        planning = self._planning = asyncio.create_task(self._plan(steps), name=f"{self._robot}.sequence")
        await asyncio.wait((planning,), timeout=max(0.0, until_s - asyncio.get_running_loop().time()))
        if not planning.done():
            raise self._busy("it takes too long to be planned", "it is long", "make it shorter")
        try:
            return planning.result()
        except SequenceError as error:
            raise RequestError.of("INVALID_MOTION", shortened(str(error), LONGEST_REASON)) from error

    def _busy(self, problem: str, reason: str, hint: str) -> RequestError:
        return RequestError("BUSY", f"{self._robot}/sequence", problem, reason, hint)

    async def _plan(self, steps: Sequence[Step]) -> SequencePlan:
        library = self._library
        joint_map, rate_hz, checks = library.joint_map, library.max_rate_hz, library.checks
        return await asyncio.to_thread(plan_sequence, steps, joint_map, self._settings, rate_hz, checks)

    async def _steps(self, requests: Sequence[StepRequest], until_s: float) -> list[Step]:
        """Return the steps with their motions; raises RequestError with all that cannot be played."""
        found: dict[str, Playback] = {}
        problems, steps = [], []
        for number, request in enumerate(requests):
            try:
                if request.motion not in found:
                    found[request.motion] = await self._motion_of(request.motion, until_s)
            except RequestError as error:
                problems += [f"steps[{number}].motion: {line}" for line in str(error).splitlines()]
                continue
            planned, markers = found[request.motion].plan, found[request.motion].markers
            if request.speed > planned.max_speed * (1 + 1e-9):
                joint = planned.limiting_joint
                fastest = rounded_down(planned.max_speed)
                who = f"joint '{joint}' allows" if joint else "motiond plays at most"
                reason = f"{request.motion}: speed {request.speed:g} is too fast"
                problems.append(f"steps[{number}].speed: {reason}; {who} {fastest}; lower the speed")
            how = (request.blend_s, request.pause_s, request.repeat, request.speed)
            steps.append(Step(planned, markers, *how))
        if problems:
            raise RequestError.of("INVALID_MOTION", shortened("\n".join(problems), LONGEST_REASON))
        return steps
