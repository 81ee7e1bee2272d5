"""Serial servos with DYNAMIXEL Protocol 2.0, in daisy chains on one or several ports.

In come commands, out comes feedback. In each tick every bus gets one sync write with all goals, and answers
one sync read; all buses are asked before any is heard. The servos' bus watchdog stops them when nothing is
said for the command lifetime; reading feeds it too, so `write` keeps the lifetime by itself as well.

`dynamixel_protocol` makes the bytes, `dynamixel_bus` carries them, `dynamixel_chain` addresses servos
together, `dynamixel_setup` checks and sets them before torque, and `dynamixel_units` knows what a tick is.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import Driver, DriverConfigError, DriverError, LifetimeExpired, require_lifetime
from .bus import TRIES, Bus
from .capacity import Capacity, Exchange, feedback_exchange, register_exchange
from .chain import FULL, SHORT, Chain, Servo, lost
from .health import in_words
from .options import (
    MODE_NUMBERS,
    WATCHDOG_UNIT_S,
    WHERE,
    DynamixelOptions,
    of_actuator,
    place_servos,
)
from .protocol import ALERT
from .setup import (
    RETURN_DELAY_UNIT_US,
    apply_settings,
    failed,
    failures,
    find_servos,
    make_chains,
    profile_velocity_units,
    raise_all,
    refuse_failed,
    settle,
)
from .units import VOLT, units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..base import ActuatorCommand, ActuatorState, DriverOptions

BOOT_S = 0.5
STILL_TRIES = 5
STILL_RAD = 0.005
TURN_SLACK_RAD = 0.1
GOAL_BYTES, FOLLOWED_GOAL_BYTES = 4, 8
POSITION_MODE = MODE_NUMBERS["position"]
FARTHEST_TICKS = 2**30
GOOD_LATENCY_S, GOOD_BAUD_RATE = 0.001, 1_000_000


class DynamixelDriver(Driver):
    """Serial servos; see the module."""

    Options: ClassVar[type[DriverOptions]] = DynamixelOptions
    options: DynamixelOptions

    def __init__(
        self,
        actuators: Sequence[str],
        options: DynamixelOptions,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(actuators, options, now)
        self._places = place_servos(options, self.actuators)
        self._watchdog = math.ceil(options.command_lifetime_s / WATCHDOG_UNIT_S - 1e-9)
        self._buses: list[Bus] = []
        self._chains: list[Chain] = []
        self._rounds: list[list[Chain]] = []
        self._servos: list[Servo] = []
        self._torque = self._halted = False
        self._sent_s = -math.inf
        self._reads = self._next_servo = 0
        self._make_arrays(len(self.actuators))
        self._plan([self._capacity_at_best(number) for number in range(len(options.ports))])

    def _make_arrays(self, count: int) -> None:
        self._position, self._velocity, self._current = np.full((3, count), np.nan)
        self._voltage, self._temperature, self._stamp_s = np.full((3, count), np.nan)
        self._goal, self._asked, self._profile, self._rest_profile = np.zeros((4, count))
        self._lowest, self._highest, self._fastest = np.zeros((3, count))
        self._known, self._below, self._above = np.zeros((3, count), bool)
        self._alert, self._alerted = np.zeros((2, count), bool)
        self._shutdown = np.zeros(count, np.uint8)
        self._missed = np.zeros(count, np.int64)

    # -- capacity -------------------------------------------------------------------------------------------

    def _capacity_at_best(self, number: int) -> Capacity:
        port = self.options.ports[number]
        count = len(port.ids)
        return self._capacity(number, 0.0, [(count, True, 0.0)])

    def _capacity(self, number: int, latency_s: float, chains: Sequence[tuple[int, bool, float]]) -> Capacity:
        """Give the longest tick: with full feedback, or with short feedback and one servo's torque."""
        port = self.options.ports[number]
        goal = FOLLOWED_GOAL_BYTES if self.options.follow_velocity else GOAL_BYTES

        def feedback(length: int) -> list[Exchange]:
            return [
                feedback_exchange(count, goal, length, delay_s, fast=fast) for count, fast, delay_s in chains
            ]

        slowest_s = max(delay_s for _, _, delay_s in chains)
        ticks = feedback(FULL), [*feedback(SHORT), register_exchange(1, slowest_s)]
        return max(
            (Capacity(port.port, port.baud_rate, latency_s, tick) for tick in ticks),
            key=lambda capacity: capacity.tick_s,
        )

    def _plan(self, capacities: Sequence[Capacity]) -> None:
        self._narrowest = max(capacities, key=lambda capacity: capacity.tick_s)
        self.max_rate_hz = 1 / self._narrowest.tick_s

    def set_period(self, period_s: float) -> None:
        """Learn the tick period; what a tick says and hears must fit into it."""
        if period_s * self.max_rate_hz < 1 - 1e-9:
            raise DriverConfigError(
                WHERE,
                f"a tick rate of {1 / period_s:g} Hz is too fast",
                f"it takes at most {self.max_rate_hz:g} Hz: {self._narrowest}",
                "lower the rate of the motion, raise `baud_rate`, or spread the servos over more ports",
            )
        require_lifetime(WHERE, self.options.command_lifetime_s, period_s)

    # -- open and close -------------------------------------------------------------------------------------

    def open(self) -> None:
        """Find every servo, check and set it as configured; torque stays as it was.

        Raises
        ------
        DriverError
            With everything that is missing or not as configured.
        """
        if self._buses:
            raise DriverError(WHERE, "is open already", mend="close it first")
        try:
            self._connect()
        except BaseException:
            self.close()
            raise
        self._torque = self._halted = False

    def _connect(self) -> None:
        options = self.options
        for port in options.ports:
            bus = Bus(port.port, port.baud_rate, options.answer_timeout_s)
            self._buses.append(bus)
            bus.open()
            bus.answer_timeout_s += bus.latency_s()
        self._servos = find_servos(self._buses, self._places, options)
        self._chains = make_chains(
            self._buses, self._places, self._servos, follow_velocity=options.follow_velocity
        )
        self._rounds = self._make_rounds()
        self._units = units_of([servo.model for servo in self._servos], self.actuators, options)
        for chain in self._chains:
            self._prepare(chain)
        self._refuse_narrow()
        self._measure()
        self._refuse_turned()
        self._plan([self._capacity_of(number) for number in range(len(self._buses))])
        self._advise()

    def _make_rounds(self) -> list[list[Chain]]:
        """Put chains of different buses together, as they can speak at once."""
        of_bus = [[chain for chain in self._chains if chain.bus is bus] for bus in self._buses]
        return [
            [chains[number] for chains in of_bus if number < len(chains)]
            for number in range(max(map(len, of_bus)))
        ]

    def _prepare(self, chain: Chain) -> None:
        if self.options.reboot_failed:
            self._reboot_failed(chain)
        refuse_failed(chain)
        settle(chain, self.options)
        apply_settings(chain, self.options)
        at = chain.indexes
        self._rest_profile[at] = [profile_velocity_units(servo, self.options) for servo in chain.servos]
        self._shutdown[at] = chain.get("shutdown")
        chain.return_delay_s = max(chain.get("return_delay")) * RETURN_DELAY_UNIT_US * 1e-6
        self._fastest[at] = chain.get("velocity_limit")
        is_limited = np.array(chain.get("operating_mode")) == POSITION_MODE
        self._lowest[at] = np.where(is_limited, chain.get("min_position_limit"), -FARTHEST_TICKS)
        self._highest[at] = np.where(is_limited, chain.get("max_position_limit"), FARTHEST_TICKS)

    def _reboot_failed(self, chain: Chain) -> None:
        broken = failures(chain)
        for servo, bits in broken:
            chain.bus.reboot(servo.servo_id)
            self.notices.append(f"{servo.where}: restarted, because it reported {in_words(bits)}")
        if broken:
            time.sleep(BOOT_S)

    def _capacity_of(self, number: int) -> Capacity:
        bus = self._buses[number]
        chains = [chain for chain in self._chains if chain.bus is bus]
        return self._capacity(
            number,
            bus.latency_s(),
            [(len(chain.ids), chain.can_read_fast, chain.return_delay_s) for chain in chains],
        )

    def _advise(self) -> None:
        """Say what was found, and what makes it slower than it could be."""
        found = ", ".join(f"{one.model.name} firmware {one.firmware} as {one.where}" for one in self._servos)
        self.notices.append(f"{WHERE}: found {found}")
        self.warnings = list(_advice(self._buses, self._chains))

    def close(self) -> None:
        """Let go of the ports; torque stays as it is, and the bus watchdog stops what still moves."""
        for bus in self._buses:
            bus.close()
        self._buses, self._chains, self._rounds = [], [], []
        self._torque = self._halted = False

    def _opened(self) -> list[Chain]:
        if not self._chains:
            raise DriverError(WHERE, "is not open", mend="open it first")
        return self._chains

    # -- feedback -------------------------------------------------------------------------------------------

    def read(self, state: ActuatorState) -> None:
        """Ask all servos for their feedback and wait for it; one that is missing keeps its old stamp.

        Raises
        ------
        CommunicationLost
            If servos did not answer `lost_after` times in a row, or a bus is gone.
        DriverError
            If a servo has shut down or lost its torque.
        """
        self._opened()
        turn = self._reads % self.options.status_every
        self._reads += 1
        self._listen(FULL if turn == 0 else SHORT)
        self._fill(state)
        if self._missed.any() and self._missed.max() >= self.options.lost_after:
            raise self._lost()
        if (self._alert != self._alerted).any():
            self._learn_of_failures()
        if self._torque and turn == self.options.status_every // 2:
            self._refuse_loose()

    def _listen(self, length: int) -> None:
        for chains in self._rounds:
            for chain in chains:
                chain.ask(length)
            for chain in chains:
                self._take(chain, length)

    def _take(self, chain: Chain, length: int) -> None:
        rows, at = chain.take(), chain.indexes
        if not chain.heard.all():
            self._missed[at[~chain.heard]] += 1
            rows, at = rows[chain.heard], at[chain.heard]
        self._missed[at] = 0
        self._position[at] = rows["position"]
        self._velocity[at] = rows["velocity"]
        self._current[at] = rows["current"]
        self._alert[at] = rows["error"] >= ALERT
        self._stamp_s[at] = self.now()
        if length == FULL:
            self._voltage[at] = rows["voltage"]
            self._temperature[at] = rows["temperature"]

    def _fill(self, state: ActuatorState) -> None:
        units = self._units
        units.to_position(self._position, state.position)
        np.multiply(self._velocity, units.velocity_rad_s, state.velocity)
        np.multiply(self._current, units.effort_nm, state.effort)
        np.multiply(self._voltage, VOLT, state.voltage_v)
        state.temperature_c[:] = self._temperature
        state.stamp_s[:] = self._stamp_s

    def _lost(self) -> DriverError:
        """Ask the silent servos one by one, as a missing answer may have hidden others."""
        suspects = [one for one in self._servos if self._missed[one.index] >= self.options.lost_after]
        silent = [one for one in suspects if self._bus_of(one).ping(one.servo_id, 1) is None]
        if silent:
            return lost(silent, len(self._servos) - len(silent), len(self._servos), self.options.lost_after)
        self._missed.fill(0)
        return DriverError(
            suspects[0].where,
            f"no sound feedback ({self.options.lost_after} tries)",
            "it answers when asked alone",
            "check the wiring and its length, and lower the baud rate",
        )

    def _bus_of(self, servo: Servo) -> Bus:
        return self._buses[self._places[servo.index].bus]

    def _learn_of_failures(self) -> None:
        self._alerted[:] = self._alert
        problems = []
        for chain in self._chains:
            if self._alert[chain.indexes].any():
                for servo, bits in failures(chain):
                    if bits & self._shutdown[servo.index]:
                        problems.append(failed(chain.bus, servo, bits))
                    else:
                        self.notices.append(f"{servo.where}: reports {in_words(bits)}; it goes on")
        raise_all(problems)

    def _refuse_loose(self) -> None:
        """Look at the torque of one servo at a time: one that restarts answers on, and holds nothing."""
        servo = self._servos[self._next_servo]
        self._next_servo = (self._next_servo + 1) % len(self._servos)
        item = servo.model.table["torque_enable"]
        if self._bus_of(servo).glance(servo.servo_id, item.address, item.size) == bytes(1):
            raise DriverError(
                servo.where,
                "its torque is off",
                "it has restarted, or another program switched it off",
                "check its power, then enable again",
            )

    # -- goals ----------------------------------------------------------------------------------------------

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint to all servos; NaN sends the last one again. Efforts are not commanded.

        Raises
        ------
        LifetimeExpired
            If the last setpoint is older than the command lifetime.
        DriverError
            If a servo would ignore its goal, as it is beyond its own limits.
        """
        self._opened()
        if not self._torque or self._halted:
            return
        pause_s = self.now() - self._sent_s
        if pause_s > self.options.command_lifetime_s:
            raise LifetimeExpired(
                WHERE,
                "the servos stopped, and the driver let go",
                f"no setpoint came for {pause_s:.3f} s, and `command_lifetime_s` is "
                f"{self.options.command_lifetime_s:g}",
                "enable them again",
            )
        np.isfinite(command.position, self._known)
        self._units.to_ticks(command.position, self._asked)
        self._refuse_beyond_limits()
        np.copyto(self._goal, self._asked, where=self._known)
        if self.options.follow_velocity:
            self._follow(command)
        self._send()

    def _refuse_beyond_limits(self) -> None:
        np.less(self._asked, self._lowest, self._below)
        np.greater(self._asked, self._highest, self._above)
        np.logical_or(self._below, self._above, self._below)
        if self._below.any():
            servo = self._servos[int(self._below.argmax())]
            asked = self._units.position_of(servo.index, self._asked[servo.index])
            lower, upper = self._own_limits(servo)
            raise DriverError(
                servo.where,
                f"a goal of {asked:.3f} rad is beyond its own limits, {lower:.3f} and {upper:.3f} rad",
                "it would ignore the goal",
                "narrow the joint's limits, or widen the servo's with DYNAMIXEL Wizard",
            )

    def _own_limits(self, servo: Servo) -> tuple[float, float]:
        ends = self._lowest[servo.index], self._highest[servo.index]
        lower, upper = sorted(self._units.position_of(servo.index, end) for end in ends)
        return lower, upper

    def _follow(self, command: ActuatorCommand) -> None:
        self._units.to_profile_velocity(command.velocity, self._profile)
        np.minimum(self._profile, self._fastest, self._profile)  # a servo ignores a goal with more
        np.isfinite(command.velocity, self._known)
        np.logical_not(self._known, self._known)
        np.copyto(self._profile, self._rest_profile, where=self._known)

    def _send(self) -> None:
        for chain in self._chains:
            chain.goals[:] = self._goal[chain.indexes]
            if chain.profile is not None:
                chain.profile[:] = self._profile[chain.indexes]
            chain.send_goals()
        self._sent_s = self.now()

    # -- torque ---------------------------------------------------------------------------------------------

    def enable(self) -> None:
        """Set the goals to where the servos are, arm their watchdogs, then switch torque on; all verified.

        Raises
        ------
        DriverError
            If a servo has shut down, is a turn off its range, moves, or does not take what is written.
        """
        chains = self._opened()
        held = self._torque
        self._torque = self._halted = False
        for chain in chains:
            refuse_failed(chain)
            chain.set_all("bus_watchdog", 0)  # ends the lock on goals after it has tripped
            chain.set_all("bus_watchdog", self._watchdog)
            apply_settings(chain, self.options)
        self._set_goals_here()
        try:
            for chain in chains:
                chain.set_all("torque_enable", 1)
        except DriverError:
            if not held:
                self._switch_off()
            raise
        self._torque = True
        self._sent_s = self.now()

    def _set_goals_here(self) -> None:
        for _ in range(STILL_TRIES):
            self._measure()
            self._refuse_turned()
            self._goal[:] = self._position
            self._profile[:] = self._rest_profile
            for chain in self._chains:
                here = map(int, self._goal[chain.indexes])
                chain.set("goal_position", dict(zip(chain.ids, here, strict=True)))
            self._measure()
            moved_rad = np.abs((self._position - self._goal) * self._units.tick_rad)
            if (moved_rad <= np.maximum(STILL_RAD, np.abs(self._units.tick_rad))).all():
                return
        fastest = self._servos[int(moved_rad.argmax())]
        raise DriverError(
            fastest.where, "moves", "torque would jerk it back", "hold it still, then enable again"
        )

    def _measure(self) -> None:
        """Hear all servos, or none."""
        for _ in range(TRIES):
            self._listen(SHORT)
            if all(chain.heard.all() for chain in self._chains):
                return
        silent = [
            servo
            for chain in self._chains
            for servo, heard in zip(chain.servos, chain.heard, strict=True)
            if not heard
        ]
        raise lost(silent, len(self._servos) - len(silent), len(self._servos))

    def _refuse_turned(self) -> None:
        """Refuse joints that are where they can only be when whole turns were lost or gained."""
        problems = []
        for servo, lower, upper in self._ranges():
            position = self._units.position_of(servo.index, self._position[servo.index])
            turns = round((position - (lower + upper) / 2) / (2 * math.pi))
            if turns and not lower - TURN_SLACK_RAD <= position <= upper + TURN_SLACK_RAD:
                problems.append(_turned(servo, position, turns, lower, upper))
        raise_all(problems)

    def _refuse_narrow(self) -> None:
        """Refuse servos whose own limits leave out a part of their joint's range."""
        raise_all(
            [
                _narrow(servo, own, lower, upper)
                for servo, lower, upper in self._ranges()
                if (own := self._own_limits(servo))[0] > lower or own[1] < upper
            ]
        )

    def _ranges(self) -> Iterator[tuple[Servo, float, float]]:
        for servo in self._servos:
            lower = of_actuator(self.options.lower_rad, servo.actuator)
            upper = of_actuator(self.options.upper_rad, servo.actuator)
            if isinstance(lower, float) and isinstance(upper, float):
                yield servo, lower, upper

    def disable(self) -> None:
        """Switch torque off, and see that it is off."""
        self._opened()
        self._torque = self._halted = False
        self._switch_off()

    def _switch_off(self) -> None:
        """Switch all chains off that can be reached, whatever becomes of one."""
        problems = []
        for chain in self._chains:
            try:
                chain.set_all("torque_enable", 0)
            except DriverError as error:
                problems.append(error)
        raise_all(problems)

    def halt(self) -> None:
        """Hold where the first of these calls finds the servos."""
        if not self._torque or self.now() - self._sent_s > self.options.command_lifetime_s:
            return
        if not self._halted:
            self._halted = True
            self._listen(SHORT)
            np.clip(self._position, self._lowest, self._highest, self._goal)
            self._profile[:] = self._rest_profile
        self._send()


def _turned(servo: Servo, position: float, turns: int, lower: float, upper: float) -> DriverError:
    count = "a whole turn" if abs(turns) == 1 else f"{abs(turns)} whole turns"
    return DriverError(
        servo.where,
        f"is at {position:.2f} rad, {count} {'above' if turns > 0 else 'below'} its range",
        f"{lower:g} to {upper:g} rad is configured",
        "turn it back by hand, or correct `zero_ticks`, `lower_rad` and `upper_rad`",
    )


def _narrow(servo: Servo, own: tuple[float, float], lower: float, upper: float) -> DriverError:
    return DriverError(
        servo.where,
        f"takes goals from {own[0]:.3f} to {own[1]:.3f} rad",
        f"{lower:g} to {upper:g} rad is configured; it would ignore goals beyond",
        "narrow `lower_rad` and `upper_rad`, or widen its limits with DYNAMIXEL Wizard",
    )


def _advice(buses: Sequence[Bus], chains: Sequence[Chain]) -> Iterator[str]:
    for bus in buses:
        latency_s = bus.latency_s()
        if latency_s > GOOD_LATENCY_S:
            yield (
                f"{bus.port}: its adapter keeps answers back for {latency_s * 1000:g} ms; ticks take longer; "
                "write 1 to its `latency_timer` (docs/dynamixel.md)"
            )
        if bus.baud_rate < GOOD_BAUD_RATE:
            yield (
                f"{bus.port}: {bus.baud_rate} baud is slow; ticks take longer; "
                f"set the servos and `baud_rate` to {GOOD_BAUD_RATE} or more"
            )
    for chain in chains:
        if chain.return_delay_s > 0:
            yield (
                f"{chain.bus.port}: servos wait up to {chain.return_delay_s * 1e6:g} µs before they answer; "
                "ticks take longer; set `return_delay_us: 0`"
            )
        slow = [servo for servo in chain.servos if not servo.reads_fast]
        if slow:
            yield (
                f"{chain.bus.port}: feedback comes one by one, as {slow[0].where} ({slow[0].model.name} "
                f"firmware {slow[0].firmware}) answers no fast sync reads; look for newer firmware"
            )
