"""What the daemon's commands do in the stream process: each is obeyed, or refused with a notice."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, TypeAlias

from motiond.drivers.base import DriverError

from ..ipc import messages
from ..ipc.states import ResultCode, State
from ..trajectory.route import Route
from ..trajectory.track import map_shared
from .execution import Execution
from .idle import restart
from .tolerances import Tolerances

if TYPE_CHECKING:
    from collections.abc import Callable

    from .actuators import Actuators
    from .checks import Checks
    from .player import Player
    from .schedule import Schedule

    Command: TypeAlias = messages.Command | messages.Notice


class CommandHandler:
    """Obeys the commands to one robot, between two ticks.

    Parameters
    ----------
    player : Player
    actuators : Actuators
    checks : Checks
    schedule : Schedule
    tell : callable
        Takes notices.

    Attributes
    ----------
    leaving : bool
        Whether the process is to end once the robot is at rest; then nothing is played.
    """

    def __init__(
        self,
        *,
        player: Player,
        actuators: Actuators,
        checks: Checks,
        schedule: Schedule,
        tell: Callable[[messages.Notice], None],
    ) -> None:
        self._player, self._actuators = player, actuators
        self._checks, self._schedule = checks, schedule
        self._tell = tell
        self.leaving = False
        self._acts: dict[type, Callable[[], None]] = {
            messages.Heartbeat: lambda: None,
            messages.Enable: self._enable,
            messages.Disable: self._disable,
            messages.Pause: player.pause,
            messages.Resume: self._resume,
            messages.Estop: player.estop,
            messages.Reset: self._reset,
            messages.Shutdown: lambda: self.leave("the daemon shuts down"),
        }

    def leave(self, message: str) -> None:
        """Stop softly, and take no play any more."""
        self.leaving = True
        self._player.stop(ResultCode.CANCELED, message)

    def obey(self, command: Command, fds: list[int]) -> None:
        """Do what a command asks for, and close its descriptors.

        Raises
        ------
        DriverError
            If the driver fails at it.
        """
        try:
            match command:
                case messages.Play():
                    self._play(command, fds)
                case messages.Go():
                    self._player.go(command.goal_id)
                case messages.Speed():
                    self._player.set_speed(command.speed, command.clock_acceleration)
                case messages.Seek():
                    self._seek(command, *fds)
                case messages.Reboot():
                    self._reboot(command.actuators)
                case messages.Inject():
                    self._inject(command.fault)
                case messages.Stop():
                    self._player.stop(ResultCode(command.code), command.message, command.details)
                case _:
                    self._acts[type(command)]()
        finally:
            for fd in fds:
                os.close(fd)

    def _inject(self, fault: dict[str, Any]) -> None:
        try:
            self._actuators.driver.inject(fault)
        except DriverError as error:
            self._tell(messages.Happened("fault_refused", str(error)))

    def _reboot(self, actuators: list[str]) -> None:
        """Restart actuators of a robot that is at rest and does not hold, or is in fault."""
        player = self._player
        if player.state is State.FAULT or (player.state is State.IDLE and not player.torque):
            self._tell(restart(self._actuators.driver, actuators))
            return
        torque = "on" if player.torque else "off"
        self._tell(messages.Rebooted(actuators, f"the robot is {player.state} with torque {torque}"))

    # -- torque ---------------------------------------------------------------------------------------------

    def _enable(self) -> None:
        """Take hold where the joints are; nothing changes where torque is on or the robot is halted."""
        if self._player.state is State.IDLE and not self._player.torque:
            self._take_hold()

    def _disable(self) -> None:
        if self._player.state is State.IDLE:
            self._actuators.driver.disable()
            self._player.release()

    def _reset(self) -> None:
        """Hold where the robot was halted if torque was on, and stay released if it was off."""
        if self._player.state is not State.ESTOPPED:
            return
        held = self._player.torque
        self._player.reset()
        if held:
            self._take_hold()
        else:
            self._actuators.driver.disable()

    def _take_hold(self) -> None:
        self._actuators.take_hold(self._checks, self._schedule.clock.now())
        self._player.hold(self._actuators.measured)

    # -- motion ---------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        if self._player.slowing:  # in full motion, a resume must not make the checks forget
            self._start_checks()
        self._player.resume()

    def _start_checks(self) -> None:
        self._checks.start(self._actuators.measured, self._schedule.clock.now())

    def _play(self, play: messages.Play, fds: list[int]) -> None:
        approach, motion, return_track = (map_shared(fd) for fd in fds)
        period_s = 1.0 / motion.rate_hz
        refusal = self._refusal(play) or self._actuators.set_period(period_s)
        not_before = 0
        if refusal is None and play.start_s is not None:
            # The tick in which the play is taken is its first, and number 0 of the grid.
            not_before = 1 + self._schedule.start_grid_for(period_s, play.start_s)
            refusal = _too_late(not_before, approach.last + 2, period_s)
        if refusal is not None:
            self._tell(messages.Ended(play.goal_id, ResultCode.INVALID_GOAL, refusal, 0.0))
            return
        if play.start_s is None:
            self._schedule.start_grid(period_s)
        self._start_checks()
        self._player.play(_execution_of(play, Route(approach, motion, return_track, play.passes), not_before))

    def _refusal(self, play: messages.Play) -> str | None:
        player = self._player
        if player.state is not State.IDLE or not player.torque or self.leaving:
            return f"the robot is {player.state}{'' if player.torque else ', released'}; it cannot play now"
        if player.position.tolist() != play.start:
            return "the robot is not where the approach was planned from; ask again"
        return None

    def _seek(self, seek: messages.Seek, fd: int) -> None:
        player = self._player
        sought = player.execution is not None and player.execution.goal_id == seek.goal_id
        if not sought or player.position.tolist() != seek.start:
            message = "the robot is not where the way was planned from; ask again"
            self._tell(messages.Happened("not_sought", message))
            return
        self._start_checks()
        player.seek(map_shared(fd), seek.row, goes_on=seek.goes_on)


def _execution_of(play: messages.Play, route: Route, not_before: int) -> Execution:
    return Execution(
        goal_id=play.goal_id,
        motion_name=play.motion,
        route=route,
        speed=play.speed,
        clock_acceleration=play.clock_acceleration,
        path=Tolerances(play.path_tolerance),
        goal=Tolerances(play.goal_tolerance),
        goal_ticks=math.inf if play.goal_time_s == messages.OFF else play.goal_time_s * route.motion.rate_hz,
        not_before=not_before,
        needs_go=play.needs_go,
        offset=play.offset,
        markers=tuple(play.markers),
    )


def _too_late(due: int, earliest: int, period_s: float) -> str | None:
    """Refuse a start in tick `due` if the robot cannot be on the first row before tick `earliest`."""
    if due >= earliest:
        return None
    late_s = (earliest - due) * period_s
    return f"start_at is {late_s:.3f} s too early; the robot is not on the first row by then; set it later"
