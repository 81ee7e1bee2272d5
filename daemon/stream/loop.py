"""The real-time loop: wakes at absolute deadlines, computes the setpoint, writes, reads, checks, records.

It runs without asyncio and MQTT; the loop keeps nothing that it allocates, and an exception is a fault. When
the daemon has gone it stops softly, holds, and leaves.
"""

from __future__ import annotations

import logging
import math
import os
import select
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers.base import ActuatorCommand, ActuatorState, CommunicationLost, Driver, DriverError

from ..ipc import messages
from ..ipc.channel import Channel, ChannelClosed
from ..ipc.ring import Record, RingWriter
from ..ipc.states import ResultCode, State
from ..joints.transmission import Transmission
from ..trajectory.route import Route
from ..trajectory.track import Track, map_shared
from .checks import Checks
from .execution import Execution
from .notices import ended, send_waiting
from .player import Player
from .schedule import Schedule
from .tolerances import Tolerances

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clocks import Clock
    from .execution import PassedMarker

log = logging.getLogger(__name__)

PAUSED = State.PAUSED  # members of enums are slow to look up in every tick
CHECK_PERIOD_S = 0.01
REPORTED = 5  # rows of an actuator's state that are published: all but the stamps


class StreamLoop:
    """One robot's loop.

    Parameters
    ----------
    setup : Setup
        What to drive, and how.
    driver : Driver
        Open already.
    clock : Clock
        Real or virtual time.
    channel : Channel
        To the daemon.
    ring : RingWriter
        Takes one record a tick.

    Attributes
    ----------
    lost : str
        Why the actuators are out of reach; '' while they are not.
    """

    def __init__(
        self, setup: messages.Setup, driver: Driver, clock: Clock, channel: Channel, ring: RingWriter
    ) -> None:
        count = len(setup.joints)
        self.setup = setup
        self.driver = driver
        self.clock = clock
        self.channel = channel
        self.ring = ring
        self.record = Record(count)
        reference = self.record["reference_position"], self.record["reference_velocity"]
        self.player = Player(setup.joints, setup.units, *reference)
        self.transmission = Transmission.from_lists(setup.transmission)
        self.command = ActuatorCommand(len(setup.actuators))
        self.state = ActuatorState(len(setup.actuators))
        self._reported = self.state.values[:REPORTED]
        self._checks = Checks(setup.limits, setup.joints, setup.units, setup.actuators)
        self._may_stall = any(setup.limits.may_stall)
        self._measured = self.record["position"]
        self._check_every = 1
        self._poller = select.poll()
        self._poller.register(channel.fileno(), select.POLLIN)
        self._outbox: deque[messages.Notice] = deque()
        self._told = 0
        self._acts: dict[type, Callable[[], None]] = {
            messages.Enable: self._enable,
            messages.Disable: self._disable,
            messages.Pause: self.player.pause,
            messages.Resume: self._resume,
            messages.Estop: self.player.estop,
            messages.Reset: self._reset,
            messages.Shutdown: lambda: self.leave("the daemon shuts down"),
        }
        self._leaving = False
        self.lost = ""
        self.schedule = Schedule(clock, 1.0 / setup.idle_rate_hz, setup.max_lateness_s, setup.max_skip_s)
        self._errors = 0

    def run(self) -> None:
        """Tick until told to leave, or until the daemon has gone."""
        while self.step():
            pass

    def step(self) -> bool:
        """Wait for the next tick and do what is due; False once it is time to leave."""
        player, due = self.player, 1
        if player.active:
            due, lateness_s = self.schedule.wait(paused=player.state is PAUSED)
            if due > 1:
                self._refuse_late(lateness_s)
        else:
            lateness_s = self.schedule.wait_at_rest(self.channel.fileno())
        self._take_commands()
        if self._leaving and not player.active:
            self._say_farewell()
            return False
        self._tick(due, lateness_s)
        self._tell()
        return True

    def _refuse_late(self, lateness_s: float) -> None:
        """Slow down after a tick that came later than `max_lateness_s`."""
        allowed_s = self.schedule.max_lateness_s
        if lateness_s > allowed_s and not self.player.clock.at_rest:
            message = (
                f"a tick came {lateness_s:.3f} s late; max_lateness_s is {allowed_s:g} s; "
                "ease the load on the machine or grant SCHED_FIFO"
            )
            self._happened("deadline_missed", message)
            self.player.stop(ResultCode.DEADLINE_MISSED, message)

    def _say_farewell(self) -> None:
        """Halt if that was asked for last, and tell how the last goal ended."""
        if self.player.halted and not self.lost:
            self._write()
        self._tell()

    def leave(self, message: str) -> None:
        """Stop softly and let `run` return once the robot is at rest."""
        self._leaving = True
        self.player.stop(ResultCode.CANCELED, message)

    # -- one tick -------------------------------------------------------------------------------------------

    def _tick(self, due: int, lateness_s: float) -> None:
        player, clock, schedule = self.player, self.clock, self.schedule
        player.tick(
            1 if due == 1 else schedule.ticks_to_move(due, lateness_s, active=player.active),
            due,
        )
        begun_s = clock.now()
        self._write()
        written_s = clock.now()
        self._read()
        read_s = clock.now()
        self._watch(read_s)
        self.record.set_scalars(
            0.0,
            schedule.deadline_s,
            lateness_s,
            written_s - begun_s,
            read_s - written_s,
            player.state_number,
            player.torque,
            player.goal_count,
            player.frame,
            player.loop,
            player.clock.rate,
            schedule.missed,
            schedule.skipped,
            self._errors,
        )
        self.ring.put(self.record.data)
        while player.passed:
            self._outbox.append(self._reached(player.passed.pop(0), lateness_s))

    def _watch(self, now_s: float) -> None:
        """Hold what was read against what is allowed; whatever is not stops the motion softly."""
        player = self.player
        if not player.active or player.slowing:
            return
        failure = None
        if self.schedule.index % self._check_every == 0:
            failure = self._checks.next_check(self.record, self.state.stamp_s, now_s)
        if failure is None:
            player.watch(self._measured, self._checks.forgiven if self._may_stall else None)
        else:
            time_s = player.frame * self.schedule.period_s
            player.stop(failure.code, failure.message, failure.details | {"time": time_s})

    def _write(self) -> None:
        player = self.player
        try:
            if player.halted:
                self.driver.halt()
            elif player.torque:
                self.transmission.to_actuators(self.record.reference, self.command.values)
                self.driver.write(self.command)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises must halt its robot, not the loop
            self._fault("write", error)

    def _read(self) -> None:
        try:
            self.driver.read(self.state)
        except Exception as error:  # noqa: BLE001 - the same
            self._fault("read", error)
        else:
            self.transmission.to_joints(self._reported, self.record.feedback)
        while self.driver.notices:
            self._happened("driver", self.driver.notices.popleft())

    def _fault(self, during: str, error: Exception) -> None:
        self._errors += 1
        if self.player.state is State.FAULT:
            return
        if not isinstance(error, DriverError):
            log.error("%s: the driver failed in %s", self.setup.robot, during, exc_info=error)
        code = ResultCode.COMM_LOST if isinstance(error, CommunicationLost) else ResultCode.HARDWARE_FAULT
        message = str(error) or type(error).__name__
        self._happened("fault", message)
        self.player.fault(code, message, {"where": error.where} if isinstance(error, DriverError) else {})
        if code is ResultCode.COMM_LOST:
            self._give_up(message)

    def _give_up(self, message: str) -> None:
        """Halt what can still be reached, and leave; the actuators have to be found again."""
        self.lost = message
        self._leaving = True
        try:
            self.driver.halt()
        except Exception as error:  # noqa: BLE001 - it has failed already; the actuators let go by themselves
            log.warning("%s: the driver could not halt either; %s", self.setup.robot, error)

    # -- commands and notices -------------------------------------------------------------------------------

    def _take_commands(self) -> None:
        if not self._poller.poll(0):
            return
        try:
            while (received := self.channel.receive()) is not None:
                self._obey(*received)
        except ChannelClosed:
            self._poller.unregister(self.channel.fileno())
            log.warning("%s: the daemon has gone; stopping softly, then leaving", self.setup.robot)
            self.leave("the daemon has gone")

    def _obey(self, command: messages.Command | messages.Notice, fds: list[int]) -> None:
        player = self.player
        try:
            match command:
                case messages.Play():
                    self._play(command, fds)
                case messages.Speed():
                    player.set_speed(command.speed, command.clock_acceleration)
                case messages.Seek():
                    self._seek(command, *fds)
                case messages.Inject():
                    self._inject(command.fault)
                case messages.Stop():
                    player.stop(ResultCode(command.code), command.message)
                case _:
                    self._acts[type(command)]()
        except DriverError as error:
            self._fault("command", error)
        finally:
            for fd in fds:
                os.close(fd)

    def _inject(self, fault: dict[str, Any]) -> None:
        try:
            self.driver.inject(fault)
        except DriverError as error:
            self._happened("fault_refused", str(error))

    def _enable(self) -> None:
        """Take hold where the joints are; nothing changes where torque is on or the robot is halted."""
        if self.player.state is State.IDLE and not self.player.torque:
            self._take_hold()

    def _disable(self) -> None:
        if self.player.state is State.IDLE:
            self.driver.disable()
            self.player.release()

    def _resume(self) -> None:
        if self.player.slowing:  # in full motion, a resume must not make the checks forget
            self._checks.start(self._measured, self.clock.now())
        self.player.resume()

    def _take_hold(self) -> None:
        self.driver.enable()
        self.driver.read(self.state)
        self.transmission.to_joints(self._reported, self.record.feedback)
        what, mend = "no position feedback after enable", "check the actuators"
        if stale := self._checks.check_age(self.state.stamp_s, self.clock.now()):
            # The joint may be elsewhere by now, and would be sent back to where it was.
            what, mend = stale.message, ""
        if stale or not np.isfinite(self._measured).all():
            self.driver.disable()
            raise DriverError(self.setup.robot, what, "", mend)
        self.player.hold(self._measured)

    def _reset(self) -> None:
        """Hold where the robot was halted if torque was on, and stay released if it was off."""
        if self.player.state is not State.ESTOPPED:
            return
        held = self.player.torque
        self.player.reset()
        if held:
            self._take_hold()
        else:
            self.driver.disable()

    def _play(self, play: messages.Play, fds: list[int]) -> None:
        approach, motion, return_track = (map_shared(fd) for fd in fds)
        period_s = 1.0 / motion.rate_hz
        refusal = self._refusal(play) or self._set_period(period_s)
        not_before = 0
        if refusal is None and play.start_s is not None:
            # The tick in which the play is taken is its first, and number 0 of the grid.
            not_before = 1 + self.schedule.start_grid_for(period_s, play.start_s)
            refusal = _too_late(not_before, approach.last + 2, period_s)
        if refusal is not None:
            self._outbox.append(messages.Ended(play.goal_id, ResultCode.INVALID_GOAL, refusal, 0.0))
            return
        if play.start_s is None:
            self.schedule.start_grid(period_s)
        self._check_every = max(1, round(CHECK_PERIOD_S / period_s))
        self._checks.start(self._measured, self.clock.now())
        self.player.play(_execution_of(play, approach, motion, return_track, not_before))

    def _seek(self, seek: messages.Seek, fd: int) -> None:
        player = self.player
        sought = player.execution is not None and player.execution.goal_id == seek.goal_id
        if not sought or player.position.tolist() != seek.start:
            self._happened("not_sought", "the robot is not where the way was planned from; ask again")
            return
        self._checks.start(self._measured, self.clock.now())
        player.seek(map_shared(fd), seek.row, goes_on=seek.goes_on)

    def _refusal(self, play: messages.Play) -> str | None:
        player = self.player
        if player.state is not State.IDLE or not player.torque or self._leaving:
            return f"the robot is {player.state}{'' if player.torque else ', released'}; it cannot play now"
        if player.position.tolist() != play.start:
            return "the robot is not where the approach was planned from; ask again"
        return None

    def _set_period(self, period_s: float) -> str | None:
        try:
            self.driver.set_period(period_s)
        except DriverError as error:
            return str(error)
        return None

    def _tell(self) -> None:
        """Send what has changed in this tick: results first, then the state."""
        player = self.player
        if player.changes == self._told and not self._outbox:
            return
        if player.results:
            self._tell_results()
        if player.changes != self._told:
            self._told = player.changes
            goal_id = player.execution.goal_id if player.execution else None
            reference = player.position.tolist() if player.torque else None
            self._outbox.append(messages.Status(player.state, player.torque, goal_id, reference))
        send_waiting(self.channel, self._outbox)

    def _tell_results(self) -> None:
        player, setup = self.player, self.setup
        error = np.abs(player.position - self._measured)
        for result in player.results:
            self._outbox.append(ended(result, setup.joints, setup.units, error, self._checks.stalled))
        player.results.clear()
        self._set_period(self.schedule.idle_period_s)

    def _reached(self, passed: PassedMarker, lateness_s: float) -> messages.Reached:
        late_s = lateness_s + passed.ticks_ago * self.schedule.period_s
        return messages.Reached(passed.execution.goal_id, passed.marker, passed.loop, late_s)

    def _happened(self, kind: str, message: str) -> None:
        self._outbox.append(messages.Happened(kind, message))


def _execution_of(
    play: messages.Play, approach: Track, motion: Track, return_track: Track, not_before: int
) -> Execution:
    """Put together what the player plays."""
    route = Route(approach, motion, return_track, play.passes)
    return Execution(
        play.goal_id,
        play.motion,
        route,
        play.speed,
        play.clock_acceleration,
        path=Tolerances(play.path_tolerance),
        goal=Tolerances(play.goal_tolerance),
        goal_ticks=math.inf if play.goal_time_s == messages.OFF else play.goal_time_s * motion.rate_hz,
        not_before=not_before,
        offset=play.offset,
        markers=tuple(play.markers),
    )


def _too_late(due: int, earliest: int, period_s: float) -> str | None:
    """Refuse a start in tick `due` if the robot cannot be on the first row before tick `earliest`."""
    if due >= earliest:
        return None
    late_s = (earliest - due) * period_s
    return f"start_at is {late_s:.3f} s too early; the robot is not on the first row by then; set it later"
