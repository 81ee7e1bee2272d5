"""The stream process: wakes at absolute deadlines, computes the setpoint, writes, reads, records.

In come commands over the channel and tracks in shared memory, out go setpoints to the driver, one record
a tick to the ring, and notices. It runs without asyncio and MQTT; the loop keeps nothing that it allocates,
and an exception is a fault. When the daemon has gone it stops softly, holds, and exits.
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
from .player import Goal, Player
from .tolerances import Tolerances

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clocks import Clock
    from .player import Passed, Result

log = logging.getLogger(__name__)

ROUNDING = 1e-9  # of a time in periods
PAUSED = State.PAUSED  # members of enums are slow to look up in every tick
LOOK_PERIOD_S = 0.01
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
        self._look_every = 1
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
        self._idle_period_s = 1.0 / setup.idle_rate_hz
        self._period_s = self._idle_period_s
        self._origin_s = clock.now()
        self._index = 0
        self._missed = self._skipped = 0
        self._errors = 0

    def run(self) -> None:
        """Tick until told to leave, or until the daemon has gone."""
        while self.step():
            pass

    def step(self) -> bool:
        """Wait for the next tick and do what is due; False once it is time to leave."""
        due, lateness_s = self._wait()
        self._take_commands()
        if self._leaving and not self.player.active:
            self._say_farewell()
            return False
        self._tick(due, lateness_s)
        self._tell()
        return True

    def _say_farewell(self) -> None:
        """Halt if that was asked for last, and tell how the last goal ended."""
        if self.player.halted and not self.lost:
            self._write()
        self._tell()

    def leave(self, message: str) -> None:
        """Stop softly and let `run` return once the robot is at rest."""
        self._leaving = True
        self.player.stop(ResultCode.CANCELED, message)

    # -- time -----------------------------------------------------------------------------------------------

    def _wait(self) -> tuple[int, float]:
        """Wait for the next tick; give how many ticks have become due, and how late this one is in s."""
        if not self.player.active:
            self._origin_s = self.clock.now() + self._idle_period_s
            self._index = 0
            self.clock.wait_readable(self.channel.fileno(), self._origin_s)
            return 1, max(0.0, self.clock.now() - self._origin_s)
        self._index += 1
        deadline_s = self._origin_s + self._index * self._period_s
        if self.player.state is PAUSED:
            self.clock.rest_until(deadline_s)
        else:
            self.clock.sleep_until(deadline_s)
        lateness_s = self.clock.now() - deadline_s
        if lateness_s < self._period_s:
            return 1, lateness_s
        return self._skip(lateness_s), lateness_s

    def _skip(self, lateness_s: float) -> int:
        """Pass over the deadlines that were missed; after more than `max_lateness_s` slow down."""
        missed = int(lateness_s / self._period_s)
        self._index += missed
        self._missed += missed
        if lateness_s > self.setup.max_lateness_s and not self.player.clock.at_rest:
            message = (
                f"a tick came {lateness_s:.3f} s late; max_lateness_s is {self.setup.max_lateness_s:g} s; "
                "ease the load on the machine or grant SCHED_FIFO"
            )
            self._happened("deadline_missed", message)
            self.player.stop(ResultCode.DEADLINE_MISSED, message)
        return 1 + missed

    def _to_move(self, due: int, lateness_s: float) -> int:
        """Give how many of the ticks that are due the trajectory moves on by.

        A late tick plays where the clock is now. Further than `max_skip_s` that would be a lunge: what is
        left is caught up by ending later.
        """
        if due == 1 or lateness_s > self.setup.max_lateness_s:
            return 1
        skipped = min(due - 1, int(self.setup.max_skip_s / self._period_s + ROUNDING))
        self._skipped += skipped if self.player.active else 0
        return 1 + skipped

    def _start_grid(self, period_s: float) -> None:
        """Put the next deadline one period from now, and the following ones on its grid."""
        self._period_s = period_s
        self._origin_s = self.clock.now()
        self._index = 0

    def _start_grid_for(self, period_s: float, due_s: float) -> int:
        """Put a deadline on a given time, and the others on its grid; give how many ticks it is away."""
        ticks = math.ceil((due_s - self.clock.now()) / period_s - ROUNDING)
        self._period_s = period_s
        self._origin_s = due_s - ticks * period_s
        self._index = 0
        return ticks

    # -- one tick -------------------------------------------------------------------------------------------

    def _tick(self, due: int, lateness_s: float) -> None:
        player, clock = self.player, self.clock
        player.tick(self._to_move(due, lateness_s), due)
        begun_s = clock.now()
        self._write()
        written_s = clock.now()
        self._read()
        read_s = clock.now()
        self._watch(read_s)
        self.record.set_scalars(
            0.0,
            self._origin_s + (self._index + 1 - due) * self._period_s,
            lateness_s,
            written_s - begun_s,
            read_s - written_s,
            player.state_number,
            player.torque,
            player.goal_count,
            player.frame,
            player.loop,
            player.clock.rate,
            self._missed,
            self._skipped,
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
        if self._index % self._look_every == 0:
            failure = self._checks.next_check(self.record, self.state.stamp_s, now_s)
        if failure is None:
            player.watch(self._measured, self._checks.forgiven if self._may_stall else None)
        else:
            time_s = player.frame * self._period_s
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
            not_before = 1 + self._start_grid_for(period_s, play.start_s)
            refusal = _too_late(not_before, approach.last + 2, period_s)
        if refusal is not None:
            self._outbox.append(messages.Ended(play.goal_id, ResultCode.INVALID_GOAL, refusal, 0.0))
            return
        if play.start_s is None:
            self._start_grid(period_s)
        self._look_every = max(1, round(LOOK_PERIOD_S / period_s))
        self._checks.start(self._measured, self.clock.now())
        self.player.play(_goal_of(play, approach, motion, return_track, not_before))

    def _seek(self, seek: messages.Seek, fd: int) -> None:
        player = self.player
        sought = player.goal is not None and player.goal.goal_id == seek.goal_id
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
            self._outbox.extend(self._ended(result) for result in player.results)
            player.results.clear()
            self._set_period(self._idle_period_s)
        if player.changes != self._told:
            self._told = player.changes
            goal_id = player.goal.goal_id if player.goal else None
            reference = player.position.tolist() if player.torque else None
            self._outbox.append(messages.Status(player.state, player.torque, goal_id, reference))
        while self._outbox and self._send(self._outbox[0]):
            self._outbox.popleft()

    def _send(self, notice: messages.Notice) -> bool:
        """Send without waiting; False if the daemon does not read now."""
        try:
            self.channel.send(notice)
        except BlockingIOError:
            return False
        except ChannelClosed:
            return True
        return True

    def _ended(self, result: Result) -> messages.Ended:
        goal = result.goal
        played_s = max(0, result.played_ticks - 1) / goal.rate_hz
        error = np.abs(self.player.position - self.record["position"])
        details = dict(result.details)
        stalled = np.flatnonzero(self._checks.stalled)
        if stalled.size:
            details["stalled"] = [self.setup.joints[joint] for joint in stalled]
        details["reached_goal"] = result.code is ResultCode.SUCCESSFUL and not stalled.size
        if np.isfinite(error).any():
            worst = int(np.nanargmax(error))
            details["final_error"] = {
                "joint": self.setup.joints[worst],
                "value": float(error[worst]),
                "unit": self.setup.units[worst],
            }
        return messages.Ended(goal.goal_id, result.code, result.message, played_s, details)

    def _reached(self, passed: Passed, lateness_s: float) -> messages.Reached:
        late_s = lateness_s + passed.ticks_ago * self._period_s
        return messages.Reached(passed.goal.goal_id, passed.marker, passed.loop, late_s)

    def _happened(self, kind: str, message: str) -> None:
        self._outbox.append(messages.Happened(kind, message))


def _goal_of(
    play: messages.Play, approach: Track, motion: Track, return_track: Track, not_before: int
) -> Goal:
    """Put together what the player plays."""
    route = Route(approach, motion, return_track, play.passes)
    return Goal(
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
