"""The real-time loop: wakes at absolute deadlines, computes the setpoint, writes, reads, checks, records.

It runs without asyncio and MQTT; the loop keeps nothing that it allocates, and an exception is a fault. When
the daemon has gone it stops softly, holds, and leaves; when the daemon is only silent, it stops softly and
waits for it.
"""

from __future__ import annotations

import logging
import math
import select
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers import CommunicationLost, Driver, DriverError

from ...ipc import messages
from ...ipc.channel import Channel, ChannelClosed
from ...ipc.messages import Ended
from ...ipc.ring import Record, RingWriter
from ...ipc.states import ResultCode, State
from ..timing import Schedule
from .actuators import Actuators
from .commands import CommandHandler
from .execution import Execution
from .following import Following
from .layers import Layers
from .player import Player
from .pursuit import Pursuit
from .teaching import Teaching
from .watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.channel import Channel
    from ...ipc.messages import Notice
    from ..timing import Clock
    from .execution import PassedMarker, Result

COUNT_EVERY_S = 1.0


def ended(
    result: Result, joints: Sequence[str], units: Sequence[str], error: Floats, stalled: Booleans
) -> Ended:
    """Return the notice of an execution's end."""
    played_s = max(0, result.played_ticks - 1) / result.execution.rate_hz
    details = dict(result.details)
    if stalled.any():
        details["stalled"] = [joints[joint] for joint in np.flatnonzero(stalled)]
    is_at_goal = result.code is ResultCode.SUCCESSFUL and "flowed_into" not in details
    details["reached_goal"] = is_at_goal and not stalled.any()
    if np.isfinite(error).any():
        worst = int(np.nanargmax(error))
        details["final_error"] = {"joint": joints[worst], "value": float(error[worst]), "unit": units[worst]}
    return Ended(result.execution.goal_id, result.code, result.message, played_s, details)


def _unblended(goal_id: str, reason: str) -> messages.Happened:
    """Return the notice that nothing flows into a goal, so that it begins from rest."""
    message = f"it does not flow into the next motion; {reason}; it rests between"
    return messages.Happened("blend_dropped", message, {"goal_id": goal_id})


def send_waiting(channel: Channel, notices: deque[Notice]) -> None:
    """Send notices in their order without waiting; what the daemon does not read now stays."""
    while notices:
        try:
            channel.send(notices[0])
        except BlockingIOError:
            return
        except ChannelClosed:
            pass
        notices.popleft()


log = logging.getLogger(__name__)

LEAST_SUSPEND_S = 0.01
"""Less is the time between two looks at clocks."""


class StreamLoop:
    """One robot's loop.

    `ring`: takes one record a tick. `lost`: why the actuators are out of reach; '' while they are not.
    """

    def __init__(
        self, setup: messages.Setup, driver: Driver, clock: Clock, channel: Channel, ring: RingWriter
    ) -> None:
        self.setup = setup
        self.driver = driver
        self.clock = clock
        self.channel = channel
        self.ring = ring
        self.record = Record(len(setup.joints), setup.contact_slots)
        reference = self.record["reference_position"], self.record["reference_velocity"]
        self.player = Player(setup.joints, setup.units, *reference)
        self._layers = Layers(self.player)
        self.schedule = Schedule(
            clock, 1.0 / setup.idle_rate_hz, setup.max_lateness_s, setup.max_skip_s, 1.0 / driver.max_rate_hz
        )
        self._actuators = Actuators(driver, setup, self.record)
        self._outbox: deque[messages.Notice] = deque()
        self._ended: list[messages.Ended] = []
        self._watcher = Watch(
            setup,
            self._layers,
            self._actuators,
            self.schedule,
            report=self._outbox.append,
            verified=self._verified,
        )
        self._teaching = Teaching(setup, self.player, self._actuators, self._watcher, self.schedule)
        self._following = Following(
            setup,
            player=self.player,
            actuators=self._actuators,
            watch=self._watcher,
            schedule=self.schedule,
            report=self._outbox.append,
        )
        self._commands = CommandHandler(
            layers=self._layers,
            teaching=self._teaching,
            following=self._following,
            actuators=self._actuators,
            watch=self._watcher,
            schedule=self.schedule,
            report=self._outbox.append,
            refused=self._ended,
        )
        self._poller = select.poll()
        self._poller.register(channel.fileno(), select.POLLIN)
        self._daemon: int | None = channel.fileno()
        self._daemon_timeout_s = setup.daemon_timeout_s or math.inf
        self._silent_at_s = clock.now() + self._daemon_timeout_s
        self._sent_changes = self._sent_torque = self._sent_after = 0
        self._suspended_s = clock.suspended_s()
        self._errors = 0
        self._counted, self._counts_s = np.zeros_like(driver.errors.values).tobytes(), -math.inf
        self.lost: messages.Lost | None = None

    @property
    def is_shutting_down(self) -> bool:
        """Whether the process is to end, whatever has become of its actuators."""
        return self._commands.shutting_down

    def run(self) -> None:
        """Tick until the daemon shuts it down, or until the daemon has gone."""
        while self.step():
            pass

    def step(self) -> bool:
        """Wait for the next tick and do what is due; False once it is time to leave."""
        player, schedule, due = self.player, self.schedule, 1
        if not player.active and not self._layers.any:
            lateness_s = schedule.wait_at_rest(self.channel.fileno())
        elif schedule.looks > 1 and not self._look_around():
            lateness_s = max(0.0, self.clock.now() - schedule.deadline_s)  # so long the command has taken
        else:
            due, lateness_s = schedule.wait(paused=self._layers.is_paused)
            if due > 1:
                self._refuse_late(lateness_s)
        if (suspended_s := self.clock.suspended_s() - self._suspended_s) > LEAST_SUSPEND_S:
            self._suspended_s += suspended_s
            self._wake_from(suspended_s)
        grids = schedule.grids
        self._take_commands()
        if self._commands.is_taking_over:
            self._obeyed(self._commands.take_over_as_foreseen)
        if schedule.grids != grids:
            due = 1 + schedule.index  # as many as have passed in periods of what has begun
        if not player.active and (self.lost or self._commands.shutting_down) and not self._layers.any:
            self._finish()
            return False
        self._tick(due, lateness_s)
        self._send_notices()
        return True

    def _look_around(self) -> bool:
        """Hear the daemon and check feedback until shortly before the next row of a slow motion.

        Returns whether there is a row to wait for; False where a tick is due at once, as the motion has
        ended.
        """
        layers, schedule = self._layers, self.schedule
        look, grids = 1, schedule.grids
        while look < schedule.looks and layers.active:
            is_due = schedule.wait_for_look(look, self._daemon, paused=layers.is_paused)
            self._take_commands()
            if not layers.active or schedule.grids != grids:
                return False
            if is_due:
                if schedule.is_time_to_read(look):
                    self._read()
                    self._watch(self.clock.now())
                look = schedule.look_after(look)
            self.ring.beat()
            self._send_notices()
        return layers.active

    def _refuse_late(self, lateness_s: float) -> None:
        """Slow down after a tick that came later than `max_lateness_s`."""
        allowed_s = self.schedule.max_lateness_s
        player, layers = self.player, self._layers
        rests = layers.is_paused or (player.clock.at_rest and player.pursuit is None and not layers.any)
        if lateness_s > allowed_s and not rests:
            message = (
                f"a tick came {lateness_s:.3f} s late; max_lateness_s is {allowed_s:g} s; "
                "ease the load on the machine or grant SCHED_FIFO"
            )
            self._happened("deadline_missed", message)
            self._layers.stop(ResultCode.DEADLINE_MISSED, message)

    def _wake_from(self, suspended_s: float) -> None:
        """Look whether the actuators still hold after a suspend; a motion stops softly where they do.

        Their clocks have gone on meanwhile, and the driver's, by which it knows that they release, has not.
        """
        player = self.player
        message = f"the machine was suspended for {suspended_s:.1f} s"
        log.warning("%s: %s", self.setup.robot, message)
        self._happened("suspended", message)
        if player.torque and not player.halted and not self._verified(f"{message}; "):
            return
        message = f"{message}; no motion goes on after that; play it again"
        self._layers.stop(ResultCode.DEADLINE_MISSED, message)

    def _verified(self, reason: str = "") -> bool:
        """Whether all actuators hold and take setpoints, as the driver finds out now; if not, a fault."""
        try:
            self.driver.verify()
            self._actuators.refuse_loose(self.clock.now())
        except Exception as error:  # noqa: BLE001 - as of `_write`
            self._fault("verify", error, reason)
            return False
        return not self._actuators.loose  # what is from before torque came on is waited for

    def _miss_daemon(self) -> None:
        """Slow down, also from a pause, as it could not be stopped; once for each silence."""
        self._silent_at_s = math.inf
        reason = (
            "nothing was received from the daemon "
            f"for more than {self._daemon_timeout_s:g} s (daemon_timeout_s)"
        )
        message = f"{reason}; nobody could stop the robot; look at what kept the daemon busy, or raise it"
        log.warning("%s: %s", self.setup.robot, message)
        self._layers.stop(ResultCode.CANCELED, message)

    def _count(self) -> None:
        """Report what has gone wrong with the actuators, if there is more."""
        errors = self.driver.errors.values
        if (counted := errors.tobytes()) != self._counted:
            self._counted = counted
            self._outbox.append(messages.Counted(errors.tolist()))

    def _finish(self) -> None:
        """Halt if that was asked for last, and send how the last goal ended."""
        if self.player.halted and not self.lost:
            self._write()
        self._count()
        self._send_notices()

    # -- one tick -------------------------------------------------------------------------------------------

    def _tick(self, due: int, lateness_s: float) -> None:
        player, layers, clock, schedule = self.player, self._layers, self.clock, self.schedule
        ticks = 1 if due == 1 else schedule.ticks_to_move(due, lateness_s, active=layers.active)
        schedule.ticked_s = schedule.deadline_s + (due - 1) * schedule.period_s
        self._move(ticks, due)
        begun_s = clock.now()
        self._write()
        written_s = clock.now()
        self._read()
        read_s = clock.now()
        self._watch(read_s)
        if player.pursuit is not None:
            self._following.look(player.pursuit, written_s)
        self.record.set_scalars(
            0.0,
            schedule.deadline_s,
            schedule.deadline_s if due == 1 else schedule.ticked_s,
            lateness_s,
            written_s - begun_s,
            read_s - written_s,
            player.state_number,
            player.torque,
            player.goal_count,
            player.frame,
            player.loop,
            layers.any,
            player.clock.rate,
            player.moved,
            schedule.missed,
            schedule.skipped,
            self._errors,
            np.minimum.reduce(self._actuators.stamps_s),
        )
        self.ring.put(self.record.data)
        while player.passed:
            self._outbox.append(self._reached(player.passed.pop(0), lateness_s))
        if read_s >= self._counts_s:
            self._counts_s = read_s + COUNT_EVERY_S
            self._count()

    def _move(self, ticks: int, due: int) -> None:
        try:
            self.player.tick(ticks, due)
            if self._layers.any:
                self._layers.tick(ticks, due)
        except Exception as error:  # noqa: BLE001 - who cannot work out where to go must halt, not end
            self._fault("tick", error, "the next setpoint could not be worked out, so the robot halts; ")

    def _watch(self, now_s: float) -> None:
        """Stop what moves if the daemon is silent, and compare feedback with what is allowed."""
        if now_s > self._silent_at_s and self._layers.active:
            self._miss_daemon()
        self._watcher.look(now_s)
        if self.player.in_hand:
            self._follow_hand(now_s)

    def _follow_hand(self, now_s: float) -> None:
        try:
            self._teaching.follow(now_s)
        except Exception as error:  # noqa: BLE001 - as of `_write`
            self._fault("enable", error)

    def _write(self) -> None:
        player = self.player
        try:
            if player.halted:
                self.driver.halt()
            elif player.torque:
                if player.in_hand:
                    self._actuators.write_nothing()
                else:
                    self._actuators.write()
                if self._actuators.loose:
                    self._actuators.refuse_loose(self.clock.now())
        except Exception as error:  # noqa: BLE001 - whatever a driver raises must halt its robot, not the loop
            self._fault("write", error)

    def _read(self) -> None:
        try:
            self._actuators.read()
        except Exception as error:  # noqa: BLE001 - the same
            self._fault("read", error)
        while self.driver.notices:
            self._happened("driver", self.driver.notices.popleft())

    def _fault(self, during: str, error: Exception, reason: str = "") -> None:
        self._errors += 1
        if self.player.state is State.FAULT:
            return
        if not isinstance(error, DriverError):
            log.error("%s: failed in %s", self.setup.robot, during, exc_info=error)
        code = ResultCode.COMM_LOST if isinstance(error, CommunicationLost) else ResultCode.HARDWARE_FAULT
        message = f"{reason}{error}" or type(error).__name__
        failed = error.actuators if isinstance(error, DriverError) else []
        self._outbox.append(messages.Happened("fault", message, {"actuators": failed} if failed else {}))
        self._layers.fault(code, message, {"where": error.where} if isinstance(error, DriverError) else {})
        if code is ResultCode.COMM_LOST:
            self._give_up(messages.Lost(message, failed))

    def _give_up(self, lost: messages.Lost) -> None:
        """Halt what can still be reached, and leave; the actuators have to be found again."""
        self.lost = lost
        try:
            self.driver.halt()
        except Exception as error:  # noqa: BLE001 - it has failed already; the actuators release by themselves
            log.warning("%s: the driver could not halt either; %s", self.setup.robot, error)

    # -- commands and notices -------------------------------------------------------------------------------

    def _take_commands(self) -> None:
        if not self._poller.poll(0):
            return
        try:
            while (received := self.channel.receive()) is not None:
                self._silent_at_s = self.clock.now() + self._daemon_timeout_s
                if error := self._obeyed(partial(self._commands.obey, *received)):
                    self._refuse_unbegun(received[0], error)
        except ChannelClosed:
            self._poller.unregister(self.channel.fileno())
            self._daemon = None
            self._silent_at_s = math.inf  # that it is gone says more
            log.warning("%s: the daemon has gone; stopping softly, then ending", self.setup.robot)
            self._commands.shut_down("the daemon has gone")

    def _obeyed(self, obey: Callable[[], None]) -> str:
        """Obey; where that fails, that is a fault. Return what failed inside motiond, or ''."""
        try:
            obey()
        except DriverError as error:
            self._fault("command", error)
        except Exception as error:  # noqa: BLE001 - as of `_move`
            self._fault("command", error, "a command could not be obeyed, so the robot halts; ")
            return str(error) or type(error).__name__
        return ""

    @property
    def _after(self) -> int:
        """The number of the last command that is obeyed: one that waits for its time is not."""
        return self.channel.received - self._commands.is_taking_over

    def _refuse_unbegun(self, command: messages.Command | messages.Notice, error: str) -> None:
        """End the goal of a command that could not be obeyed, unless it has ended with the fault."""
        if not isinstance(command, messages.Play | messages.Follow):
            return
        ended = {one.execution.goal_id for player, _ in self._layers.parts() for one in player.results}
        if command.goal_id not in ended:
            message = f"it could not be begun; {error}"
            self._ended.append(Ended(command.goal_id, ResultCode.HARDWARE_FAULT, message, 0.0))

    def _send_notices(self) -> None:
        """Send what has happened in this tick, and what has changed by it or by the commands before it."""
        if (
            self.player.changes != self._sent_changes
            or self._actuators.torque_changes != self._sent_torque
            or self._after != self._sent_after
            or self._ended
        ):
            self._outbox.append(self._changed())
        while self.player.unblended:
            self._outbox.append(_unblended(*self.player.unblended.pop(0)))
        if self._outbox:
            send_waiting(self.channel, self._outbox)

    def _changed(self) -> messages.Changed:
        player, layers, actuators = self.player, self._layers, self._actuators
        self._sent_changes, self._sent_torque = player.changes, actuators.torque_changes
        self._sent_after = self._after
        beside = layers.any
        if results := layers.take_results():
            self._end_goals(results, beside=beside)
        taught = self._taught()
        changed = messages.Changed(
            layers.state,
            player.torque,
            goal.goal_id if (goal := player.pursuit or player.execution) else None,
            player.position.tolist() if player.torque else None,
            player.waits,
            player.displaced,
            actuators.torque.tolist(),
            [*self._ended],
            taught,
            layers.states,
            self._sent_after,
            player.blends,
        )
        self._ended.clear()
        return changed

    def _end_goals(self, results: Sequence[Result], *, beside: bool) -> None:
        """Note how goals have ended; one that played beside others answers for its own joints."""
        setup, stalled, measured = self.setup, self._watcher.checks.stalled, self._actuators.measured
        error, everywhere = np.abs(self.record["reference_position"] - measured), np.ones_like(stalled)
        for result in results:
            execution = result.execution
            own = execution.route.motion.driven if beside and isinstance(execution, Execution) else everywhere
            notice = ended(result, setup.joints, setup.units, np.where(own, error, np.nan), stalled & own)
            if isinstance(execution, Pursuit):
                notice.details["follow"] = facts = execution.facts(measured)
                self._outbox.append(messages.Followed(execution.goal_id, **facts))
            self._ended.append(notice)
        if not self._layers.active:
            self._actuators.set_period(self.schedule.idle_period_s)

    def _taught(self) -> list[messages.TeachingEnded]:
        """Return why teaching has ended since the last notice, and report what did not only refuse it."""
        taught = [*self.player.taught]
        self.player.taught.clear()
        for ended in taught:
            if ended.code != ResultCode.INVALID_GOAL:
                details = ended.details if ended.holds else ended.details | {"holds": False}
                self._outbox.append(messages.Happened("teaching", ended.message, details))
        return taught

    def _reached(self, passed: PassedMarker, lateness_s: float) -> messages.Reached:
        late_s = lateness_s + passed.ticks_ago * self.schedule.period_s
        return messages.Reached(passed.execution.goal_id, passed.marker, passed.loop, late_s)

    def _happened(self, kind: str, message: str) -> None:
        self._outbox.append(messages.Happened(kind, message))
