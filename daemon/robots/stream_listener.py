"""Takes what a robot's stream process does: notices and its end to the session, records to telemetry."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from motiond.drivers import ActuatorLimits

from ..ipc import messages
from ..ipc.states import ACTIVE
from . import payloads

if TYPE_CHECKING:
    from ..telemetry import Observer
    from .robot import Robot

log = logging.getLogger(__name__)

REASONS = frozenset({"fault", "deadline_missed"})
"""Kinds of events that are why a robot is in the state that it is in."""


class StreamListener:
    """Brings one robot's session up to date with its stream process, and reports events."""

    def __init__(self, robot: Robot) -> None:
        self._robot, self._session = robot, robot.session
        self._lost_for = ""
        self._warnings: list[str] = []
        self._left_on: list[str] = []
        self._has_held = False

    def on_notice(self, notice: messages.Notice) -> None:
        """Take a notice of the stream process."""
        robot, goal = self._robot, self._session.goal
        match notice:
            case messages.Ready():
                self._come_on_line(notice)
            case messages.Failed():
                self._session.message = notice.message
            case messages.Lost():
                self.on_exit(notice.message)
            case messages.Changed():
                self._session.take(notice)
                self._report_return()
                self._report_torque(notice)
            case messages.Reached() if goal is not None and goal.goal_id == notice.goal_id:
                robot.report("event", payloads.marker_event(goal, notice))
            case messages.Rebooted():
                self._note_reboot(notice)
            case messages.Happened():
                self._take_event(notice)

    def on_records(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        robot, goal = self._robot, self._session.goal
        frames_per_tick = goal.playback.plan.frames_per_tick if goal else 1.0
        moving = self._session.state in ACTIVE
        if robot.telemetry.take(observer, frames_per_tick, moving=moving) and moving:
            robot.report_state(renews=True)

    def on_exit(self, reason: str) -> None:
        """Take the end of the stream process, or the loss of its actuators; no `reason` if it was to end."""
        robot = self._robot
        if reason and reason != self._lost_for:
            log.error("%s: %s", robot.name, reason, extra={"robot": robot.name})
            robot.report("event", {"kind": "stream_lost", "message": reason})
            self._lost_for = reason
        expected = "shut down" if self._session.leaving else "its driver is opened again"
        self._session.lose(reason or expected, failed=bool(reason))

    def _take_event(self, notice: messages.Happened) -> None:
        """Report what has happened; a check that fails is in the state until it passes again."""
        robot, session = self._robot, self._session
        if notice.kind in REASONS:
            session.message = notice.message
        event = {"kind": notice.kind, "message": notice.message}
        robot.report("event", event | ({"details": notice.details} if notice.details else {}))
        if notice.kind == "check_failed":
            log.warning("%s: %s", robot.name, notice.message, extra={"robot": robot.name})
            session.alarms[notice.details["check"]] = notice.message
            robot.report_state()
        elif notice.kind == "check_passed":
            session.alarms.pop(notice.details["check"], None)
            robot.report_state()

    def _note_reboot(self, notice: messages.Rebooted) -> None:
        self._session.note_reboot(notice.error)
        if not notice.error:
            message = f"restarted on request: {', '.join(notice.actuators)}; torque is off there"
            self._robot.report("event", {"kind": "driver", "message": message})

    def _report_return(self) -> None:
        """Report that actuators are back that were lost."""
        if self._lost_for:
            self._lost_for = ""
            back = "the actuators are back; they are not held until torque is enabled, or a motion plays"
            self._robot.report("event", {"kind": "back", "message": back})

    def _report_torque(self, changed: messages.Changed) -> None:
        """Report actuators that are found holding, as whoever drove them before left them; once each time."""
        self._has_held |= changed.torque
        if self._has_held:
            return
        names = self._robot.library.joint_map.actuators
        left_on = [name for name, found in zip(names, changed.found, strict=False) if found]
        if left_on and left_on != self._left_on:
            which = f"{len(left_on)} of {len(names)} actuators ({', '.join(left_on)})"
            message = f"torque is on in {which}, as it was left; disable the robot to release them"
            self._robot.report("event", {"kind": "torque", "message": message})
        self._left_on = left_on

    def _come_on_line(self, ready: messages.Ready) -> None:
        robot = self._robot
        for warning in dict.fromkeys(ready.warnings):
            if warning not in self._warnings:  # or it was reported when the actuators were found before
                robot.report("event", {"kind": "warning", "message": warning})
        self._warnings = ready.warnings
        self._left_on, self._has_held = [], False
        robot.max_rate_hz = ready.max_rate_hz
        robot.limits.take(ActuatorLimits.from_lists(ready.allowed))
        self._session.come_on_line()
        robot.describe()
