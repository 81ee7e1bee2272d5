"""What follows from what a robot's stream process does: from its notices, its records and its end."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from motiond.drivers.limits import ActuatorLimits

from ..ipc import messages
from ..ipc.states import ACTIVE, HALTED, ResultCode, State
from . import payloads
from .shutdown import SHUTS_DOWN

if TYPE_CHECKING:
    from ..telemetry.observer import Observer
    from .robot import Robot

log = logging.getLogger(__name__)

HOLD_AGAIN_S = 10.0
"""A robot that took over from one that held holds again if it is on line by then; later nobody expects it."""

REASONS = frozenset({"fault", "deadline_missed"})
"""Kinds of events that are why a robot is in the state that it is in."""


class StreamListener:
    """Brings one robot's status and goals up to date with its stream process, and reports both.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._hold_until_s = 0.0
        self._lost_for = ""
        self._warnings: list[str] = []
        self._left_on: list[str] = []
        self._has_held = False
        self._last: messages.Changed | None = None

    def hold_again(self) -> None:
        """Switch torque on as soon as the actuators answer, if that is soon: they have held until now."""
        self._hold_until_s = time.monotonic() + HOLD_AGAIN_S

    def on_notice(self, notice: messages.Notice) -> None:
        """Take a notice of the stream process."""
        robot, goal = self._robot, self._robot.goals.goal
        match notice:
            case messages.Ready():
                self._come_on_line(notice)
            case messages.Failed():
                robot.status.message = notice.message
            case messages.Lost():
                self.on_exit(notice.message)
            case messages.Changed():
                for ended in notice.ended:
                    robot.goals.conclude(ended)
                is_news = self._last is None or notice != replace(self._last, after=notice.after)
                self._last = notice
                before = robot.status.take(notice)
                self._report_torque()
                self._enter(before, reports=is_news)
            case messages.Reached() if goal is not None and goal.goal_id == notice.goal_id:
                robot.report("event", payloads.marker_event(goal, notice))
            case messages.Rebooted():
                self._note_reboot(notice)
            case messages.Happened():
                self._take_event(notice)

    def _take_event(self, notice: messages.Happened) -> None:
        """Report what has happened; a check that fails is in the state until it passes again."""
        robot, alarms = self._robot, self._robot.status.alarms
        if notice.kind in REASONS:
            robot.status.message = notice.message
        event = {"kind": notice.kind, "message": notice.message}
        robot.report("event", event | ({"details": notice.details} if notice.details else {}))
        if notice.kind == "check_failed":
            log.warning("%s: %s", robot.name, notice.message, extra={"robot": robot.name})
            alarms[notice.details["check"]] = notice.message
            robot.report_state()
        elif notice.kind == "check_passed":
            alarms.pop(notice.details["check"], None)
            robot.report_state()

    def on_records(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        robot, goal = self._robot, self._robot.goals.goal
        frames_per_tick = goal.playback.plan.frames_per_tick if goal else 1.0
        moving = robot.status.state in ACTIVE
        if robot.telemetry.take(observer, frames_per_tick, moving=moving) and moving:
            robot.report_state(renews=True)

    def on_exit(self, why: str) -> None:
        """Note that nothing can be moved, and end the goal; `why` is empty if it was to end."""
        robot, status = self._robot, self._robot.status
        if why and why != self._lost_for:
            log.error("%s: %s", robot.name, why, extra={"robot": robot.name})
            robot.report("event", {"kind": "stream_lost", "message": why})
            self._lost_for = why
        if why:
            status.losses += 1
        status.message = why or self._expected()
        if (goal := robot.goals.goal) is not None:
            lost = messages.Ended(goal.goal_id, ResultCode.COMM_LOST, status.message, None, {})
            robot.goals.conclude(lost)
        robot.goals.clear_queue(ResultCode.CANCELED, status.message)
        before, self._last = status.go_offline(status.message), None
        if before is not State.OFFLINE:
            robot.report("availability", {"state": "offline"})
        self._enter(before)

    def _note_reboot(self, notice: messages.Rebooted) -> None:
        self._robot.status.rebooted = notice
        self._robot.status.wake()
        if not notice.error:
            message = f"restarted on request: {', '.join(notice.actuators)}; torque is off there"
            self._robot.report("event", {"kind": "driver", "message": message})

    def _expected(self) -> str:
        """Return why a process has ended that was to."""
        if not self._robot.leaving:
            return "its driver is opened again"
        return "shut down" if self._robot.leaves_for is SHUTS_DOWN else self._robot.leaves_for

    def _report_torque(self) -> None:
        """Report actuators that are found holding, as whoever drove them before left them; once each time."""
        robot, status = self._robot, self._robot.status
        self._has_held |= status.torque
        if self._has_held:
            return
        names = robot.library.joint_map.actuators
        left_on = [name for name, found in zip(names, status.found, strict=False) if found]
        if left_on and left_on != self._left_on:
            which = f"{len(left_on)} of {len(names)} actuators ({', '.join(left_on)})"
            message = f"torque is on in {which}, as it was left; disable the robot to release them"
            robot.report("event", {"kind": "torque", "message": message})
        self._left_on = left_on

    def _come_on_line(self, ready: messages.Ready) -> None:
        robot = self._robot
        for warning in dict.fromkeys(ready.warnings):
            if warning not in self._warnings:  # or it was told when the actuators were found before
                robot.report("event", {"kind": "warning", "message": warning})
        self._warnings = ready.warnings
        self._left_on, self._has_held = [], False
        robot.max_rate_hz = ready.max_rate_hz
        robot.limits.take(ActuatorLimits.from_lists(ready.allowed))
        robot.status.message = ""
        if robot.estop_latched:
            robot.stream.send(messages.Estop())
        elif time.monotonic() < self._hold_until_s:
            robot.stream.send(messages.Enable())
        self._hold_until_s = 0.0
        robot.describe()

    def _enter(self, before: State, *, reports: bool = True) -> None:
        """Report what has changed, and do what it asks for."""
        robot, state = self._robot, self._robot.status.state
        if state is State.IDLE:
            robot.status.message = ""
        robot.status.wake()
        if reports:
            robot.report_state()
        if before is State.OFFLINE and state is not State.OFFLINE:
            robot.report("availability", {"state": "online"})
            if self._lost_for:
                self._lost_for = ""
                back = "the actuators are back; they are not held until torque is enabled, or a motion plays"
                robot.report("event", {"kind": "back", "message": back})
        if state in HALTED or state is State.OFFLINE:
            robot.goals.stay()
        if state in HALTED:
            robot.goals.clear_queue(ResultCode.CANCELED, f"the robot is in {state}")
        if state is State.IDLE:
            robot.goals.go_on()
