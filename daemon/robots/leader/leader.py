"""A robot that leads another: what it measures, and why it cannot lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ipc.states import State

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ...telemetry import Sample
    from ..robot import Robot
    from .joint_match import JointMatch

MISSED_TICKS = 3.0
"""So many ticks of a leader at rest may be missing."""


class Measured(NamedTuple):
    """Where a leader is and how fast, by the follower's joints; shapes (joints,)."""

    positions: Floats
    velocities: Floats


class Leader:
    """The leader of one robot.

    - `robot`, `match`: whose joints move which of the follower's
    - `lost_s`: for how long it may have measured nothing

    - `name`, `match`
    - `lost`: why it cannot lead; '' as long as it can
    """

    def __init__(self, robot: Robot, match: JointMatch, lost_s: float, now_s: float) -> None:
        self.name, self.lost = robot.name, ""
        self._robot, self.match = robot, match
        self._lost_s = max(lost_s, MISSED_TICKS / robot.settings.idle_rate_hz)
        self._sequence, self._new_s, self._measured_s = -1.0, now_s, -np.inf

    def measure(self, now_s: float) -> Measured | None:
        """Return what was measured last, if it is new and whole; look whether the leader is `lost`."""
        self._robot.read_records()
        observer = self._robot.stream.observer
        sample = observer.sample if observer else None
        self.lost = self._why_gone()
        if self.lost:
            return None
        if sample is None or sample.scalar("sequence") == self._sequence:
            silent_s = now_s - self._new_s
            self.lost = f"nothing was measured for {silent_s:.2f} s" if silent_s > self._lost_s else ""
            return None
        self._sequence, self._new_s = sample.scalar("sequence"), now_s
        return self._judge(sample)

    def _judge(self, sample: Sample) -> Measured | None:
        measured = sample.vector("position")
        positions = self.match.positions(measured)
        is_whole = bool(np.isfinite(positions).all())
        if is_whole:
            self._measured_s = sample.scalar("received_s")
        old_s = sample.scalar("setpoint_s") - self._measured_s
        if is_whole and old_s <= self._lost_s:
            return Measured(positions, np.nan_to_num(self.match.velocities(sample.vector("velocity"))))
        if old_s > self._lost_s:
            missing = self.match.unmeasured(measured)
            what = f"no position is known of {missing}" if missing else f"its feedback is {old_s:.2f} s old"
            self.lost = f"{what}; check the actuators"
        return None

    def _why_gone(self) -> str:
        session = self._robot.session
        if session.leaving:
            return "the daemon shuts down"
        if session.latched or session.state is State.ESTOPPED:
            return "its emergency stop is latched"
        if session.state in {State.OFFLINE, State.FAULT}:
            where = "offline" if session.state is State.OFFLINE else "in fault"
            return f"it is {where}" + (f"; {session.message}" if session.message else "")
        return ""
