"""Serial servos with DYNAMIXEL Protocol 2.0, in daisy chains on one or several ports.

In each tick every bus gets one sync write with all goals, and answers one sync read. The servos' bus watchdog
stops them when the bus is silent for the command lifetime; reading feeds it too, so `write` checks the
lifetime by itself as well.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import Driver, DriverConfigError, DriverError, expired, require_lifetime, slowest_rate_hz
from ..serial_bus.bus import Bus
from ..serial_bus.line import SerialLine
from .capacity import Capacity, advice, capacity_at_best, capacity_of
from .chain import FULL, SHORT
from .feedback import Feedback
from .guiding import POSITION_MODE, Guiding, change_mode, hold_sound
from .limits import Limits, configured, refuse_turned
from .options import CURRENT_MODE, WATCHDOG_UNIT_S, WHERE, DynamixelOptions, place_servos
from .protocol import PROTOCOL
from .setup import (
    RETURN_DELAY_UNIT_US,
    apply_settings,
    find_servos,
    make_chains,
    profile_velocity_units,
    put_back_modes,
    raise_all,
    reboot_failed,
    refuse_failed,
    restart,
    settle,
)
from .units import units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..base import ActuatorCommand, ActuatorState, DriverOptions
    from ..limits import ActuatorLimits
    from ..serial_bus.line import Line
    from .chain import Chain, Servo

STILL_TRIES = 5
STILL_RAD = 0.005


class DynamixelDriver(Driver):
    """Serial servos on one or several ports."""

    Options: ClassVar[type[DriverOptions]] = DynamixelOptions
    options: DynamixelOptions

    def __init__(
        self,
        actuators: Sequence[str],
        options: DynamixelOptions,
        now: Callable[[], float] = time.monotonic,
        open_line: Callable[[str, int], Line] = SerialLine,
    ) -> None:
        super().__init__(actuators, options, now)
        self._open_line = open_line
        self._places = place_servos(options, self.actuators)
        self.min_rate_hz = slowest_rate_hz(options.command_lifetime_s)
        self._watchdog = math.ceil(options.command_lifetime_s / WATCHDOG_UNIT_S - 1e-9)
        self._buses: list[Bus] = []
        self._chains: list[Chain] = []
        self._servos: list[Servo] = []
        self._torque = self._halted = self._guided = False
        self._sent_s = -math.inf
        self._reads = 0
        count = len(self.actuators)
        self._feedback = Feedback(count, options.lost_after, self.now, self.notices)
        self._limits = Limits(count)
        self._guiding = Guiding(options, self.actuators)
        self._allowed = configured(options, self.actuators)
        self._goal = [0] * count
        self._asked, self._profile, self._rest_profile, self._fastest = np.zeros((4, count))
        self._known = np.zeros(count, bool)
        follows = options.follow_velocity
        self._plan([capacity_at_best(port, follow_velocity=follows) for port in options.ports])

    def _plan(self, capacities: Sequence[Capacity]) -> None:
        self._narrowest = max(capacities, key=lambda capacity: capacity.tick_s)
        self.max_rate_hz = 1 / self._narrowest.tick_s

    def set_period(self, period_s: float) -> None:
        """Set the tick period; all bytes of a tick must fit into it."""
        if period_s * self.max_rate_hz < 1 - 1e-9:
            raise DriverConfigError(
                WHERE,
                f"a tick rate of {1 / period_s:g} Hz is too fast",
                f"it takes at most {self.max_rate_hz:g} Hz: {self._narrowest}",
                "lower the rate of the motion, raise `baud_rate`, or spread the servos over more ports",
            )
        require_lifetime(WHERE, self.options.command_lifetime_s, period_s)

    @property
    def devices(self) -> tuple[str, ...]:
        """Each port, by the name that the options have and by the device that it stands for now."""
        ports = [Path(port.port) for port in self.options.ports]
        return tuple(sorted({f"serial:{name}" for port in ports for name in (port, port.resolve())}))

    @property
    def limits(self) -> ActuatorLimits:
        """Those of the options, and after `open` those of the servos' registers as well."""
        return self._allowed

    def open(self) -> None:
        """Find all servos, check and set them as configured; torque stays as it was.

        Raises DriverError if anything is missing or not as configured; with all of it.
        """
        if self._buses:
            raise DriverError(WHERE, "is open already", hint="close it first")
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        options, follows = self.options, self.options.follow_velocity
        for port in options.ports:
            bus = Bus(port.port, port.baud_rate, options.answer_timeout_s, PROTOCOL, self._open_line)
            self._buses.append(bus)
            bus.open()
            bus.answer_timeout_s += bus.latency_s()
        self._servos = find_servos(self._buses, self._places, options)
        self._chains = make_chains(self._buses, self._places, self._servos, follow_velocity=follows)
        self._feedback.connect(self._buses, self._chains, self._servos)
        self._units = units_of([servo.model for servo in self._servos], self.actuators, options)
        for chain in self._chains:
            self._prepare(chain)
        self._limits.refuse_narrow(self._servos, self._units, options)
        self._allowed = self._limits.joined(self._servos, self._units, options)
        self._guiding.learn(self._chains, self._units)
        self._measure()
        pairs = zip(options.ports, self._buses, strict=True)
        self._plan([capacity_of(port, bus, self._chains, follow_velocity=follows) for port, bus in pairs])
        self._advise()

    def _prepare(self, chain: Chain) -> None:
        if self.options.reboot_failed:
            self.notices.extend(reboot_failed(chain))
        refuse_failed(chain)
        if self.options.gravity is not None:
            self._guided |= put_back_modes(chain)
        settle(chain, self.options)
        apply_settings(chain, self.options)
        at = chain.indexes
        self._rest_profile[at] = [profile_velocity_units(servo, self.options) for servo in chain.servos]
        self._feedback.shutdown[at] = chain.get("shutdown")
        chain.return_delay_s = max(chain.get("return_delay")) * RETURN_DELAY_UNIT_US * 1e-6
        self._fastest[at] = chain.get("velocity_limit")
        self._limits.learn(chain)

    def _measure(self) -> None:
        """Read all positions, and refuse those that are whole turns off."""
        self._feedback.measure()
        refuse_turned(self._servos, self._feedback.position, self._units, self.options)

    def _advise(self) -> None:
        """Report what was found, and warn of what makes ticks longer than they need be."""
        found = ", ".join(f"{one.model.name} firmware {one.firmware} as {one.where}" for one in self._servos)
        self.notices.append(f"{WHERE}: found {found}")
        self._feedback.look_at_all(held=False)
        self.warnings = list(advice(self._buses, self._chains))

    def close(self) -> None:
        """Free the ports; torque stays as it is, and the bus watchdog stops what still moves."""
        for bus in self._buses:
            bus.close()
        self._buses, self._chains = [], []
        self._feedback.disconnect()
        self._torque = self._halted = self._guided = False

    def _opened(self) -> list[Chain]:
        if not self._chains:
            raise DriverError(WHERE, "is not open", hint="open it first")
        return self._chains

    def read(self, state: ActuatorState) -> None:
        """Ask all servos for feedback and wait for it; a servo that does not answer keeps its old stamp.

        Raises CommunicationLost if servos did not answer `lost_after` times in a row, or a bus is gone.
        Raises DriverError if a servo has shut down or lost its torque.
        """
        self._opened()
        turn = self._reads % self.options.status_every
        self._reads += 1
        feedback = self._feedback
        feedback.listen(FULL if turn == 0 else SHORT)
        feedback.fill(state, self._units)
        feedback.refuse_silence()
        feedback.refuse_failures()
        if turn == self.options.status_every // 2:
            feedback.look_at_next(held=self._torque)

    def verify(self) -> None:
        """Read torque and bus watchdog of all servos; raise for each that does not hold or take goals."""
        self._opened()
        self._feedback.look_at_all(held=self._torque)

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint to all servos; NaN repeats the last one. Efforts are not commanded.

        Raises LifetimeExpired if the last setpoint is older than the command lifetime. Raises DriverError if
        a goal is beyond its servo's own limits, so that the servo would ignore it.
        """
        self._opened()
        if not self._torque or self._halted:
            return
        pause_s = self.now() - self._sent_s
        if pause_s > self.options.command_lifetime_s:
            what = "the servos stopped and are released"
            raise expired(WHERE, what, pause_s, self.options.command_lifetime_s)
        if self._guided:
            self._carry()
            return
        goals = self._units.whole_ticks(command.position)
        if goals is None or not self._limits.allow(goals):
            goals = self._goals_known(command)
        self._goal = goals
        if self.options.follow_velocity:
            self._follow(command)
        self._send()

    def _goals_known(self, command: ActuatorCommand) -> list[int]:
        """Return the goals, the last ones where none are given; raise for those beyond a servo's limits."""
        self._units.to_ticks(command.position, self._asked)
        self._limits.refuse_beyond(self._asked, self._servos, self._units)
        return [
            last if math.isnan(asked) else int(asked)
            for asked, last in zip(self._asked.tolist(), self._goal, strict=True)
        ]

    def _follow(self, command: ActuatorCommand) -> None:
        self._units.to_profile_velocity(command.velocity, self._profile)
        np.minimum(self._profile, self._fastest, self._profile)  # a servo ignores a goal with more
        np.isfinite(command.velocity, self._known)
        np.logical_not(self._known, self._known)
        np.copyto(self._profile, self._rest_profile, where=self._known)

    def _send(self) -> None:
        for chain in self._chains:
            if chain.profile is not None:
                chain.profile[:] = self._profile[chain.span]
            chain.send_goals(self._goal)
        self._sent_s = self.now()

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        """Refuse none."""

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart servos; raises as `restart` does."""
        places = [place for place in self._places if place.actuator in actuators]
        restart(places, self.options, self._buses, self._open_line)

    def enable(self) -> None:
        """Arm the watchdogs, set goals to the measured positions, switch torque on; each step is verified.

        Raises DriverError if a servo has shut down, is whole turns off its range, moves, or refuses what is
        written.
        """
        self._take_hold(self._set_goals_here)

    def catch(self) -> None:
        """Do as `enable` with servos that move, and for one beyond its own limits with the nearest of them.

        Raises DriverError as `enable` does.
        """
        self._take_hold(self._set_goals_moving)

    def _take_hold(self, set_goals: Callable[[], None]) -> None:
        self._opened()
        self._arm()
        if self._guided:
            self._hold_what_is_guided()
            return
        held, self._torque, self._halted = self._torque, False, False
        for chain in self._chains:
            apply_settings(chain, self.options)
        set_goals()
        self._switch_on(else_off=not held)

    def _arm(self) -> None:
        for chain in self._chains:
            refuse_failed(chain)
            self._arm_watchdogs(chain)

    def _arm_watchdogs(self, chain: Chain) -> None:
        chain.set_all("bus_watchdog", 0)  # ends the lock on goals after it has tripped
        chain.set_all("bus_watchdog", self._watchdog)

    def _switch_on(self, *, else_off: bool) -> None:
        try:
            for chain in self._chains:
                chain.set_all("torque_enable", 1)
        except DriverError:
            if else_off:
                self._switch_off()
            raise
        self._torque = True
        self._feedback.torque.fill(1.0)
        self._sent_s = self.now()

    def _set_goals_moving(self) -> None:
        self._measure()
        self._goal_here()
        for chain in self._chains:
            chain.set("goal_position", {servo.servo_id: self._goal[servo.index] for servo in chain.servos})

    def _goal_here(self) -> None:
        """Take the last positions for the goals, or the nearest that the servos take."""
        here = np.clip(self._feedback.position, self._limits.lowest, self._limits.highest)
        self._goal = here.astype(int).tolist()
        self._profile[:] = self._rest_profile

    # -- guided ---------------------------------------------------------------------------------------------

    def refuse_guiding(self) -> None:
        """Refuse it without bodies and torque constants; once open, also by what the servos are."""
        self._guiding.refuse()

    def guide(self) -> None:
        """Change to the current mode, and carry the weight; there is no torque for some exchanges.

        Raises DriverError if a servo has shut down, is whole turns off its range, or refuses what is written.
        """
        self._guiding.refuse()
        self._opened()
        self._measure()
        self._arm()
        held, self._torque, self._halted, self._guided = self._torque, False, False, True
        try:
            change_mode(self._chains, CURRENT_MODE)
            self._carry()
            self._switch_on(else_off=not held)
        except DriverError:
            if held:
                self._hold_what_can_be()
            raise

    def _carry(self) -> None:
        position = (self._feedback.position - self._units.zero_ticks) * self._units.tick_rad
        currents = self._guiding.currents(position)
        for chain in self._chains:
            chain.send_currents(currents)
        self._sent_s = self.now()

    def _hold_what_is_guided(self) -> None:
        """Change back to the position mode and hold, with as few exchanges as can be without torque."""
        self._torque = self._halted = False
        try:
            for chain in self._chains:
                self._arm_watchdogs(chain)
            change_mode(self._chains, POSITION_MODE)
            self._guided = False
            self._set_goals_moving()
            self._switch_on(else_off=False)
        except DriverError:
            self._hold_what_can_be()
            raise
        for chain in self._chains:  # they are forgotten with the mode
            apply_settings(chain, self.options)

    def _hold_what_can_be(self) -> None:
        """Let those servos hold where they were seen last that take the mode and the goal for it.

        Another has failed, and they would drop. One that had its torque without its goal would lunge.
        """
        self._goal_here()
        for chain in self._chains:
            with suppress(DriverError):
                hold_sound(chain, self._goal, self._watchdog)

    def _set_goals_here(self) -> None:
        for _ in range(STILL_TRIES):
            self._measure()
            self._limits.refuse_held_beyond(self._feedback.position, self._servos, self._units)
            self._goal = self._feedback.position.astype(int).tolist()
            self._profile[:] = self._rest_profile
            for chain in self._chains:
                here = {servo.servo_id: self._goal[servo.index] for servo in chain.servos}
                chain.set("goal_position", here)
            self._feedback.measure()
            moved_rad = np.abs((self._feedback.position - self._goal) * self._units.tick_rad)
            if (moved_rad <= np.maximum(STILL_RAD, np.abs(self._units.tick_rad))).all():
                return
        fastest = self._servos[int(moved_rad.argmax())]
        raise DriverError(
            fastest.where, "moves", "torque would jerk it back", "hold it still, then enable again"
        )

    def disable(self) -> None:
        """Switch torque off, and verify that it is off."""
        self._opened()
        self._torque = self._halted = False
        self._switch_off()
        if self._guided:
            change_mode(self._chains, POSITION_MODE)
            self._guided = False

    def _switch_off(self) -> None:
        """Switch off all chains that can be reached, then raise for those that could not."""
        problems = []
        for chain in self._chains:
            try:
                chain.set_all("torque_enable", 0)
                self._feedback.torque[chain.indexes] = 0.0
            except DriverError as error:
                problems.append(error)
                self._feedback.torque[chain.indexes] = np.nan
        raise_all(problems)

    def halt(self) -> None:
        """Hold the positions at which the first call finds the servos."""
        if not self._torque or self.now() - self._sent_s > self.options.command_lifetime_s:
            return
        if self._guided:
            self._hold_what_is_guided()
        if not self._halted:
            self._halted = True
            self._feedback.listen(SHORT)
            self._goal_here()
        self._send()
