"""Serial servos with DYNAMIXEL Protocol 2.0, in daisy chains on one or several ports.

In each tick every bus gets one sync write with all goals, and answers one sync read. The servos' bus watchdog
stops them when the bus is silent for the command lifetime; reading feeds it too, so `write` checks the
lifetime by itself as well.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import DriverError
from ..serial_bus.driver import SerialDriver
from ..serial_bus.line import SerialLine
from ..serial_bus.setup import loose, of_servos, profile_velocity_units, write_all
from .capacity import advice, capacity_at_best, capacity_of
from .chain import DynamixelChain
from .family import DYNAMIXEL
from .feedback import WATCHDOG_TRIPPED, DynamixelFeedback
from .guiding import POSITION_MODE, Guiding, change_mode, hold_sound, put_back_modes
from .limits import DynamixelLimits
from .options import CURRENT_MODE, WATCHDOG_UNIT_S, DynamixelOptions
from .setup import refused, settings, wishes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..base import ActuatorCommand, DriverOptions
    from ..serial_bus.bus import Bus
    from ..serial_bus.capacity import Capacity
    from ..serial_bus.chain import Chain, Servo
    from ..serial_bus.family import Family
    from ..serial_bus.feedback import Feedback
    from ..serial_bus.line import Line
    from ..serial_bus.options import SerialPortOptions
    from ..serial_bus.setup import Wish


class DynamixelDriver(SerialDriver):
    """Serial servos on one or several ports."""

    Options: ClassVar[type[DriverOptions]] = DynamixelOptions
    family: ClassVar[Family] = DYNAMIXEL
    feedback_type: ClassVar[type[Feedback]] = DynamixelFeedback
    released: ClassVar[str] = "the servos stopped and are released"
    options: DynamixelOptions
    _chains: list[DynamixelChain]  # type: ignore[assignment] # `_make_chain` makes no others

    def __init__(
        self,
        actuators: Sequence[str],
        options: DynamixelOptions,
        now: Callable[[], float] = time.monotonic,
        open_line: Callable[[str, int], Line] = SerialLine,
    ) -> None:
        super().__init__(actuators, options, now, open_line)
        self._watchdog = math.ceil(options.command_lifetime_s / WATCHDOG_UNIT_S - 1e-9)
        self._guided = False
        self._guiding = Guiding(options, self.actuators)
        count = len(self.actuators)
        self._profile, self._rest_profile, self._fastest = np.zeros((3, count))
        self._known = np.zeros(count, bool)

    def _make_limits(self) -> DynamixelLimits:
        follows = self.options.follow_velocity
        return DynamixelLimits(self.options, self.actuators, self.family, follow_velocity=follows)

    def _make_chain(self, bus: Bus, servos: Sequence[Servo]) -> DynamixelChain:
        return DynamixelChain(bus, servos, follow_velocity=self.options.follow_velocity)

    def _capacity_at_best(self, port: SerialPortOptions) -> Capacity:
        return capacity_at_best(port, follow_velocity=self.options.follow_velocity)

    def _capacity_of(self, port: SerialPortOptions, bus: Bus) -> Capacity:
        return capacity_of(port, bus, self._chains, follow_velocity=self.options.follow_velocity)

    def _advice(self) -> Iterable[str]:
        return advice(self._buses, self._chains, self.family.page)

    def _connect(self) -> None:
        super()._connect()
        self._guiding.learn(self._chains, self._units)

    def _begin(self, chain: Chain) -> None:
        if self.options.gravity is not None:
            held = put_back_modes(chain, self._watchdog)
            write_all(chain, of_servos(held, self._settings(chain)))

    def _refused(self, chain: Chain) -> Iterable[DriverError]:
        return refused(chain)

    def _wishes(self, chain: Chain) -> Iterable[Wish]:
        return wishes(chain, self.options)

    def _settings(self, chain: Chain) -> Mapping[str, Mapping[int, int]]:
        return settings(chain, self.options)

    def _learn(self, chain: Chain) -> None:
        at = chain.indexes
        self._rest_profile[at] = [profile_velocity_units(servo, self.options) for servo in chain.servos]
        self._fastest[at] = chain.get("velocity_limit")

    def close(self) -> None:
        """Free the ports; torque stays as it is, and the bus watchdog stops what still moves."""
        super().close()
        self._guided = False

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint to all servos, or carry their weight while they are guided.

        Raises as `SerialDriver.write` does.
        """
        if self._guided and self._torque and not self._halted:
            self._refuse_expired()
            self._carry()
        else:
            super().write(command)

    def _command(self, command: ActuatorCommand) -> None:
        if not self.options.follow_velocity:
            return
        self._units.to_profile_velocity(command.velocity, self._profile)
        np.minimum(self._profile, self._fastest, self._profile)  # a servo ignores a goal with more
        np.isfinite(command.velocity, self._known)
        np.logical_not(self._known, self._known)
        np.copyto(self._profile, self._rest_profile, where=self._known)

    def _send(self) -> None:
        for chain in self._chains:
            if chain.profile is not None:
                chain.profile[:] = self._profile[chain.indexes]
        super()._send()

    def _arm(self, chain: Chain) -> None:
        """Start the watchdogs; servos that these have stopped do not go on to their old goals."""
        watchdogs = zip(chain.ids, chain.get("bus_watchdog"), strict=True)
        if stopped := [one for one, watchdog in watchdogs if watchdog == WATCHDOG_TRIPPED]:
            here = dict(zip(chain.ids, chain.get("present_position"), strict=True))
            chain.write("bus_watchdog", dict.fromkeys(stopped, 0))  # ends the lock on goals
            chain.write("goal_position", {one: here[one] for one in stopped})
        chain.set_all("bus_watchdog", 0)
        chain.set_all("bus_watchdog", self._watchdog)

    def _take_hold(self, set_goals: Callable[[], None]) -> None:
        if not self._guided:
            super()._take_hold(set_goals)
            return
        self._require_open()
        self._arm_all()
        self._hold_what_is_guided()

    def _goal_here(self) -> None:
        super()._goal_here()
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
        self._require_open()
        self._measure()
        self._arm_all()
        released = [(chain, loose(chain)) for chain in self._chains]
        self._torque, self._halted, self._guided = False, False, True
        try:
            change_mode(self._chains, CURRENT_MODE)
            self._carry()
            self._switch_on()
        except DriverError:
            with suppress(DriverError):
                self._switch_off(released)
            self._hold_what_can_be(released)
            raise

    def _carry(self) -> None:
        self._feedback.take_look()
        currents = self._guiding.currents(self._feedback.position)
        for chain in self._chains:
            chain.send_currents(currents)
        self._sent_s = self.now()

    def _hold_what_is_guided(self) -> None:
        """Change back to the position mode and hold, with as few exchanges as can be without torque."""
        self._torque = self._halted = False
        try:
            for chain in self._chains:
                self._arm(chain)
            change_mode(self._chains, POSITION_MODE)
            self._guided = False
            self._set_goals_moving()
            self._switch_on()
        except DriverError:
            self._hold_what_can_be()
            raise
        for chain in self._chains:  # they are forgotten with the mode
            write_all(chain, self._settings(chain))

    def _hold_what_can_be(self, but: Iterable[tuple[Chain, Sequence[int]]] = ()) -> None:
        """Let those servos hold where they were seen last that take the mode and the goal for it.

        Another has failed, and they would drop. One that had its torque without its goal would lunge. `but`:
        the servos that did not hold before.
        """
        self._goal_here()
        released = dict(but)
        for chain in self._chains:
            held = [one for one in chain.servos if one.servo_id not in released.get(chain, ())]
            with suppress(DriverError):
                hold_sound(chain, {one.servo_id: self._goal[one.index] for one in held}, self._watchdog)

    def disable(self) -> None:
        """Switch torque off, verify that it is off, and change back to the position mode."""
        super().disable()
        if self._guided:
            change_mode(self._chains, POSITION_MODE)
            self._guided = False

    def halt(self) -> None:
        """Hold the positions at which the first call finds the servos."""
        if self._guided and self._torque and not self._is_expired():
            self._hold_what_is_guided()
        super().halt()
