"""What a leader measures becomes the targets of a robot that follows it, in the daemon.

No client is in between: a follower does not lag behind one that is slow, nor behind one that has gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ...ipc import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Floats

    from ..robot import Robot
    from ..session import FollowGoal
    from .leader import Leader

log = logging.getLogger(__name__)

PERIOD_S = 0.01
"""Between two targets."""


@dataclass(slots=True)
class _Lead:
    goal: FollowGoal
    leader: Leader
    start: Floats
    kept_s: float
    turned: Floats | None = None  # what is added to what is measured: whole turns; None before the first


class Mirror:
    """Makes what leaders measure the targets of one robot.

    - `robot`: that follows
    - `put`: passes on a target of a goal
    """

    def __init__(self, robot: Robot, put: Callable[[FollowGoal, messages.Target], object]) -> None:
        self._robot, self._put = robot, put
        self._lead: _Lead | None = None
        self._begun = asyncio.Event()

    def begin(self, goal: FollowGoal, leader: Leader, start: Floats) -> None:
        """Lead the robot from where it holds, until its goal ends or the leader is lost.

        `start`: shape (joints of the goal,), in rad or m.
        """
        self._lead = _Lead(goal, leader, start, asyncio.get_running_loop().time())
        self._begun.set()

    def keep_alive(self, goal: FollowGoal) -> None:
        """Note that who has begun a goal is still there."""
        if self._lead is not None and self._lead.goal is goal:
            self._lead.kept_s = asyncio.get_running_loop().time()

    async def run(self) -> NoReturn:
        """Pass on what leaders measure, until cancelled."""
        while True:
            await self._begun.wait()
            self._begun.clear()
            while (lead := self._lead) is not None and self._robot.session.goal is lead.goal:
                try:
                    self._pass_on(lead)
                except Exception as error:
                    log.exception("%s: failed inside motiond", self._robot.name)
                    self._lose(lead, f"it failed inside motiond; {error!r}")
                await asyncio.sleep(PERIOD_S)
            self._lead = None

    def _pass_on(self, lead: _Lead) -> None:
        """Pass on what was measured last, if that is new."""
        now_s, keep_alive_s = asyncio.get_running_loop().time(), lead.goal.request.keep_alive_s
        if keep_alive_s is not None and now_s - lead.kept_s > keep_alive_s:
            what = f"no follow/keep_alive came for {keep_alive_s:g} s; whoever began this may have gone"
            self._end(lead, "follow_timeout", what)
            return
        measured = lead.leader.measure(now_s)
        if lead.leader.lost:
            self._lose(lead, lead.leader.lost)
        if measured is None:
            return
        if lead.turned is None:
            lead.turned = self._nearest(lead, measured.positions)
        to, passing = (measured.positions + lead.turned).tolist(), measured.velocities.tolist()
        self._put(lead.goal, messages.Target(lead.goal.goal_id, to, passing, None, time.time()))

    def _nearest(self, lead: _Lead, positions: Floats) -> Floats:
        """Return by how much whole turns move a leader on to be nearest to where the robot holds."""
        joint_map, columns = self._robot.planner.joint_map, [*lead.goal.joints]
        ends, driven = np.zeros((2, len(joint_map.joints))), np.zeros(len(joint_map.joints), dtype=bool)
        ends[:, columns], driven[columns] = (lead.start, positions), True
        return joint_map.nearest(ends[0], ends[1], driven)[columns]

    def _lose(self, lead: _Lead, why: str) -> None:
        self._end(lead, "leader_lost", f"{lead.leader.name} does not lead any more; {why}")

    def _end(self, lead: _Lead, kind: str, message: str) -> None:
        """Stop the follower softly."""
        self._lead = None
        details = {"goal_id": lead.goal.goal_id, "leader": lead.leader.name}
        self._robot.report("event", {"kind": kind, "message": message, "details": details})
        self._robot.session.end_goal(message, {"leader": lead.leader.name})
