"""Following: joints are moved by targets that come as it goes, until that is ended or none comes any more."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from ...ipc import messages
from ...ipc.states import ResultCode, State
from ...trajectory import WAY_BACK, far_outside
from .pursuit import FollowLimits, Pursuit

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Floats

    from ...ipc.messages import Chunk, Follow, FollowStop, Notice, Setup, Target
    from ..timing import Schedule
    from .actuators import Actuators
    from .guard import Surroundings
    from .player import Player
    from .watch import Watch

FIRST_S = 2.0
"""So long the first target may take."""
REPORT_S = 1.0
FOLLOWING = State.FOLLOWING


def surroundings_of(setup: Setup) -> Surroundings | None:
    """Return what may be near a robot's links; None where that is not to be looked at."""
    if setup.collision is None:
        return None
    from .guard import Surroundings  # noqa: PLC0415 - it needs an extra

    return Surroundings(setup, setup.collision)


class Following:
    """Lets one robot follow targets."""

    def __init__(
        self,
        setup: Setup,
        *,
        player: Player,
        actuators: Actuators,
        watch: Watch,
        schedule: Schedule,
        report: Callable[[Notice], None],
    ) -> None:
        self._setup, self._player, self._actuators = setup, player, actuators
        self._watch, self._schedule, self._report = watch, schedule, report
        self._limits = FollowLimits(setup, actuators.driver.limits)
        self._around = surroundings_of(setup)
        self._silent_at_s = self._report_at_s = math.inf
        self._was_behind = self._was_held = False

    # -- commands -------------------------------------------------------------------------------------------

    def begin(self, follow: Follow) -> str:
        """Begin to follow targets; return why not, or ''."""
        player, schedule, period_s = self._player, self._schedule, 1.0 / follow.rate_hz
        moved = self._watch.displaced()
        start = player.position if moved is None else moved
        refusal = self._refusal(follow, start) or self._actuators.set_period(period_s)
        if refusal:
            return refusal
        if moved is not None:
            self._begin_where_moved(moved)
        schedule.start_grid(period_s)
        self._watch.start_motion()
        pursuit = Pursuit(follow, self._limits, self._setup, player.position, schedule, around=self._around)
        player.follow(pursuit)
        now_s = schedule.clock.now()
        self._silent_at_s = now_s + max(FIRST_S, pursuit.timeout_s)
        self._report_at_s, self._was_behind = now_s + REPORT_S, pursuit.is_behind
        return ""

    def _refusal(self, follow: Follow, start: Floats) -> str:
        player, limits, setup = self._player, self._limits, self._setup
        if player.state is not State.IDLE or not player.torque:
            return f"the robot is {player.state}{'' if player.torque else ', released'}; it cannot follow now"
        if player.position.tolist() != follow.start:
            return "the robot is not where it was when it was asked to follow; ask again"
        for joint in follow.joints:
            if (leader := int(limits.leaders[joint])) != joint:
                names = setup.joints[joint], setup.joints[leader]
                return "joint '{}' follows joint '{}'; send targets for that one".format(*names)
        lower, upper = limits.own.lower, limits.own.upper
        within = np.clip(start, lower - limits.slack, upper + limits.slack)
        for joint in np.flatnonzero(within != start):
            if limits.leaders[joint] in follow.joints:
                ends = lower[joint], upper[joint], setup.units[joint]
                return f"joint '{setup.joints[joint]}' {far_outside(start[joint], *ends)}; {WAY_BACK}"
        return ""

    def _begin_where_moved(self, moved: Floats) -> None:
        """Take joints for where something has moved them while they were held, shape (joints,)."""
        found = self._watch.ways.describe(moved, self._player.position)
        where = (
            f"joint '{found['joint']}' was moved {found['value']:.4g} {found['unit']} from where it was held"
        )
        message = f"{where}; following begins there; look for what moved it"
        self._player.position[:] = moved
        self._report(messages.Happened("displaced", message, found))

    def take(self, message: Target | Chunk | FollowStop) -> None:
        """Take a target, or the end of following; what is for another goal changes nothing."""
        pursuit = self._player.pursuit
        if pursuit is None or message.goal_id != pursuit.goal_id:
            return
        if isinstance(message, messages.FollowStop):
            self._player.stop(ResultCode.SUCCESSFUL, "following has ended on request; the robot holds")
        elif self._player.state is FOLLOWING and pursuit.take(message):
            self._silent_at_s = max(self._schedule.clock.now(), pursuit.ends_s) + pursuit.timeout_s

    # -- each tick ------------------------------------------------------------------------------------------

    def look(self, pursuit: Pursuit, written_s: float) -> None:
        """Note when a setpoint was written; stop softly where targets do not come any more."""
        now_s = self._schedule.clock.now()
        pursuit.note_written(time.time() - (now_s - written_s))
        if now_s > self._silent_at_s and self._player.state is FOLLOWING:
            older = pursuit.dropped_since
            why = f" but {older} older than the last, by sent_at" if older else ""
            message = f"no target came for {pursuit.timeout_s:g} s{why}; the robot stops softly and holds"
            self._report(messages.Happened("follow_timeout", message, {"goal_id": pursuit.goal_id}))
            self._player.stop(ResultCode.CANCELED, message)
        is_news = pursuit.is_behind != self._was_behind or (pursuit.is_held and not self._was_held)
        if now_s >= self._report_at_s or is_news:
            self._report_at_s = max(self._report_at_s + REPORT_S, now_s)
            self._was_behind, self._was_held = pursuit.is_behind, pursuit.is_held
            self._report(messages.Followed(pursuit.goal_id, **pursuit.facts(self._actuators.measured)))
