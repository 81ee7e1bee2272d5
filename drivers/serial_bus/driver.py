"""What drivers of servos on serial buses do alike: one goal frame and one question a tick on each bus."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import Driver, DriverConfigError, DriverError, expired, require_lifetime, slowest_rate_hz
from .bus import Bus
from .capacity import advice
from .feedback import Feedback
from .limits import Limits
from .line import SerialLine
from .options import SerialOptions, place_servos
from .restarting import reached, reboot_failed, refuse_held_places, restart
from .setup import (
    RETURN_DELAY_UNIT_US,
    by_register,
    find_servos,
    loose,
    make_chains,
    of_servos,
    raise_all,
    refuse_failed,
    refuse_held,
    settle,
    shutdown_masks,
    write_all,
)
from .units import units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ..base import ActuatorCommand, ActuatorState
    from ..limits import ActuatorLimits
    from .capacity import Capacity
    from .chain import Chain, Servo
    from .family import Family
    from .line import Line
    from .options import Place, SerialPortOptions
    from .setup import Wish
    from .units import Units

STILL_TRIES = 5
STILL_RAD = 0.005


class SerialDriver(Driver):
    """Servos in daisy chains on one or several serial ports; a subclass has what its servos differ in.

    `family`: of the servos. `released`: what becomes of them when setpoints end.
    """

    family: ClassVar[Family]
    feedback_type: ClassVar[type[Feedback]] = Feedback
    released: ClassVar[str] = "the servos hold, and take no more goals"
    options: SerialOptions

    def __init__(
        self,
        actuators: Sequence[str],
        options: SerialOptions,
        now: Callable[[], float] = time.monotonic,
        open_line: Callable[[str, int], Line] = SerialLine,
    ) -> None:
        self.where = self.family.where
        super().__init__(actuators, options, now)
        self._open_line = open_line
        self._places = place_servos(options, self.actuators, self.family)
        self.min_rate_hz = slowest_rate_hz(options.command_lifetime_s)
        self._buses: list[Bus] = []
        self._chains: list[Chain] = []
        self._servos: list[Servo] = []
        self._torque = self._halted = False
        self._sent_s = -math.inf
        self._reads = 0
        count = len(self.actuators)
        self._feedback = self.feedback_type(
            options.lost_after, self.now, self.notices, self.errors, self.family
        )
        self._limits = self._make_limits()
        self._allowed = self._limits.configured()
        self._units: Units
        self._goal = [0] * count
        self._asked = np.zeros(count)
        self._plan([self._capacity_at_best(port) for port in options.ports])

    # -- what servos differ in ------------------------------------------------------------------------------

    def _make_limits(self) -> Limits:
        return Limits(self.options, self.actuators, self.family)

    def _find_servos(self) -> list[Servo]:
        return find_servos(self._buses, self._places, self.options, self.family)

    @abstractmethod
    def _make_chain(self, bus: Bus, servos: Sequence[Servo]) -> Chain:
        """Make a chain of servos of one series on one bus."""

    def _make_units(self) -> Units:
        models = [servo.model for servo in self._servos]
        return units_of(models, self.actuators, self.options, self.family)

    @abstractmethod
    def _capacity_at_best(self, port: SerialPortOptions) -> Capacity:
        """Return what a port can carry before its servos are known."""

    @abstractmethod
    def _capacity_of(self, port: SerialPortOptions, bus: Bus) -> Capacity:
        """Return what a bus can carry with the chains that are on it."""

    def _advice(self) -> Iterable[str]:
        """Return warnings of what makes ticks longer than they need be, with the remedy."""
        return advice(self._buses, self._chains, self.family.page)

    def _begin(self, chain: Chain) -> None:
        """Do what comes before a chain is checked; nothing by default."""

    def _refused(self, chain: Chain) -> Iterable[DriverError]:
        """Return what keeps servos of a chain from being driven at all; by default nothing."""
        del chain
        return ()

    @abstractmethod
    def _wishes(self, chain: Chain) -> Iterable[Wish]:
        """Return the lasting settings of a chain that are not as configured."""

    def _write_lasting(self, chain: Chain, wishes: Sequence[Wish]) -> None:
        write_all(chain, by_register(wishes))

    @abstractmethod
    def _settings(self, chain: Chain) -> Mapping[str, Mapping[int, int]]:
        """Return the settings that servos forget without power, by register and servo id."""

    def _learn(self, chain: Chain) -> None:
        """Read what else a subclass needs of a chain; nothing by default."""

    def _arm(self, chain: Chain) -> None:
        """Do what must be done before a chain takes goals; nothing by default."""

    def _command(self, command: ActuatorCommand) -> None:
        """Take what else a setpoint has beside goals; nothing by default."""

    # -- capacity and limits --------------------------------------------------------------------------------

    def _plan(self, capacities: Sequence[Capacity]) -> None:
        self._narrowest = max(capacities, key=lambda capacity: capacity.tick_s)
        self.max_rate_hz = 1 / self._narrowest.tick_s

    def set_period(self, period_s: float) -> None:
        """Set the tick period; all bytes of a tick must fit into it."""
        if period_s * self.max_rate_hz < 1 - 1e-9:
            raise DriverConfigError(
                self.where,
                f"a tick rate of {1 / period_s:g} Hz is too fast",
                f"it takes at most {self.max_rate_hz:g} Hz: {self._narrowest}",
                "lower the rate of the motion, raise `baud_rate`, or spread the servos over more ports",
            )
        require_lifetime(self.where, self.options.command_lifetime_s, period_s)
        for bus in self._buses:
            bus.plan(period_s)

    @property
    def devices(self) -> tuple[str, ...]:
        """Each port, by the name that the options have and by the device that it stands for now."""
        ports = [Path(port.port) for port in self.options.ports]
        return tuple(sorted({f"serial:{name}" for port in ports for name in (port, port.resolve())}))

    @property
    def limits(self) -> ActuatorLimits:
        """Those of the options, and after `open` those of the servos' registers as well."""
        return self._allowed

    # -- opening --------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Find all servos, check and set them as configured; torque stays as it was.

        Servos that hold get their settings with `enable`: until then nothing changes how they hold.

        Raises DriverError if anything is missing or not as configured; with all of it.
        """
        if self._buses:
            raise DriverError(self.where, "is open already", hint="close it first")
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        options = self.options
        for port in options.ports:
            bus = Bus(
                port.port, port.baud_rate, options.answer_timeout_s, self.family.protocol, self._open_line
            )
            self._buses.append(bus)
            bus.open()
            bus.answer_timeout_s += bus.latency_s()
        self._servos = self._find_servos()
        self._chains = make_chains(self._buses, self._places, self._servos, self._make_chain)
        self._units = self._make_units()
        self._feedback.connect(self._buses, self._chains, self._servos, self._units)
        for chain in self._chains:
            self._begin(chain)
        for chain in self._chains:
            self._prepare(chain)
        self._limits.refuse_narrow(self._servos, self._units)
        self._allowed = self._limits.joined(self._servos, self._units)
        self._measure()
        pairs = zip(options.ports, self._buses, strict=True)
        self._plan([self._capacity_of(port, bus) for port, bus in pairs])
        self._report()

    def _prepare(self, chain: Chain) -> None:
        if self.options.reboot_failed:
            self.notices.extend(reboot_failed(chain, self.family))
        refuse_failed(chain, self.family)
        refusals, wishes = list(self._refused(chain)), list(self._wishes(chain))
        settle(refusals, wishes, self.options, self.family)
        if wishes:
            refuse_held(chain, wishes)
            self._write_lasting(chain, wishes)
        write_all(chain, of_servos(loose(chain), self._settings(chain)))
        self._feedback.shutdown[chain.indexes] = shutdown_masks(chain, self.family)
        if "return_delay" in chain.table:
            chain.return_delay_s = max(chain.get("return_delay")) * RETURN_DELAY_UNIT_US * 1e-6
        self._learn(chain)
        self._limits.learn(chain)

    def _measure(self) -> None:
        """Read all positions, and refuse those that are whole turns off."""
        self._feedback.measure()
        self._limits.refuse_turned(self._servos, self._feedback.ticks(), self._units)

    def _report(self) -> None:
        """Report what was found, and warn of what makes ticks longer than they need be."""
        found = ", ".join(f"{one.model.name} firmware {one.firmware} as {one.where}" for one in self._servos)
        self.notices.append(f"{self.where}: found {found}")
        self._feedback.look_at_all(held=False)
        self.warnings = list(self._advice())

    def close(self) -> None:
        """Free the ports; torque stays as it is."""
        for bus in self._buses:
            bus.close()
        self._buses, self._chains = [], []
        self._feedback.disconnect()
        self._torque = self._halted = False

    def _require_open(self) -> None:
        if not self._chains:
            raise DriverError(self.where, "is not open", hint="open it first")

    # -- a tick ---------------------------------------------------------------------------------------------

    def read(self, state: ActuatorState) -> None:
        """Ask all servos for feedback and wait for it; a servo that does not answer keeps its old stamp.

        Raises CommunicationLost if servos did not answer `lost_after` times in a row, or a bus is gone.
        Raises DriverError if a servo has shut down or lost its torque.
        """
        self._require_open()
        turn = self._reads % self.options.status_every
        self._reads += 1
        feedback = self._feedback
        feedback.end_look()
        feedback.listen(full=turn == 0)
        feedback.fill(state)
        feedback.refuse_silence()
        feedback.refuse_failures()
        if feedback.withheld:
            feedback.look_at_returned(held=self._torque)
        if turn == self.options.status_every // 2:
            feedback.begin_look(held=self._torque)

    def verify(self) -> None:
        """Read what tells whether servos hold; raise for each that does not hold or take goals."""
        self._require_open()
        self._feedback.look_at_all(held=self._torque)

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint to all servos; NaN repeats the last one. Efforts are not commanded.

        Raises LifetimeExpired if the last setpoint is older than the command lifetime. Raises DriverError if
        a goal is beyond its servo's own limits, so that the servo would ignore it.
        """
        self._require_open()
        if not self._torque or self._halted:
            return
        self._refuse_expired()
        goals = self._units.whole_ticks(command.position)
        if goals is None or not self._limits.allow(goals):
            goals = self._goals_known(command)
        self._goal = goals
        self._command(command)
        self._send()

    def _is_expired(self) -> bool:
        return self.now() - self._sent_s > self.options.command_lifetime_s

    def _refuse_expired(self) -> None:
        if self._is_expired():
            pause_s, lifetime_s = self.now() - self._sent_s, self.options.command_lifetime_s
            raise expired(self.where, self.released, pause_s, lifetime_s)

    def _goals_known(self, command: ActuatorCommand) -> list[int]:
        """Return the goals, the last ones where none are given; raise for those beyond a servo's limits."""
        self._units.to_ticks(command.position, self._asked)
        self._limits.refuse_beyond(self._asked, self._servos, self._units)
        return [
            last if math.isnan(asked) else int(asked)
            for asked, last in zip(self._asked.tolist(), self._goal, strict=True)
        ]

    def _send(self) -> None:
        self._feedback.take_look()
        withheld = self._feedback.withheld
        for chain in self._chains:
            if withheld:
                chain.send_some_goals(self._goal, withheld)
            else:
                chain.send_goals(self._goal)
        self._sent_s = self.now()

    # -- torque ---------------------------------------------------------------------------------------------

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        """Refuse none."""

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart servos; raises as `refuse_held_places` and `restart` do."""
        places = self._places_of(actuators)
        with self._reached(places) as bus_of:
            refuse_held_places(places, bus_of, self.family, is_open=bool(self._buses))
            restart(places, bus_of)

    def _places_of(self, actuators: Sequence[str]) -> list[Place]:
        return [place for place in self._places if place.actuator in actuators]

    def _reached(self, places: Sequence[Place]) -> AbstractContextManager[Mapping[int, Bus]]:
        """Have the buses of some servos by number, also while the driver is not open."""
        return reached(places, self.options, self._buses, self._open_line, self.family)

    def enable(self) -> None:
        """Set goals to the measured positions, switch torque on; each step is verified.

        Raises DriverError if a servo has shut down, is whole turns off its range, moves, or refuses what is
        written; those that held before go on holding then, and no others.
        """
        self._take_hold(self._set_goals_here)

    def catch(self) -> None:
        """Do as `enable` with servos that move, and for one beyond its own limits with the nearest of them.

        Raises DriverError as `enable` does.
        """
        self._take_hold(self._set_goals_moving)

    def _take_hold(self, set_goals: Callable[[], None]) -> None:
        self._require_open()
        self._arm_all()
        self._torque = self._halted = False
        released = [(chain, loose(chain)) for chain in self._chains]
        for chain in self._chains:
            write_all(chain, self._settings(chain))
        try:
            set_goals()
            self._switch_on()
        except DriverError:
            with suppress(DriverError):
                self._switch_off(released)
            raise

    def _arm_all(self) -> None:
        for chain in self._chains:
            refuse_failed(chain, self.family)
            self._arm(chain)

    def _switch_on(self) -> None:
        for chain in self._chains:
            chain.set_all("torque_enable", 1)
        self._torque = True
        self._feedback.note_hold()
        self._sent_s = self.now()

    def _set_goals_moving(self) -> None:
        self._measure()
        self._goal_here()
        self._set_goals()

    def _set_goals(self) -> None:
        for chain in self._chains:
            chain.set("goal_position", {servo.servo_id: self._goal[servo.index] for servo in chain.servos})

    def _goal_here(self) -> None:
        """Take the last positions for the goals, or the nearest that the servos take."""
        here = np.clip(self._feedback.ticks(), self._limits.lowest, self._limits.highest)
        self._goal = here.astype(int).tolist()

    def _set_goals_here(self) -> None:
        for _ in range(STILL_TRIES):
            self._measure()
            self._limits.refuse_held_beyond(self._feedback.ticks(), self._servos, self._units)
            self._goal_here()
            self._set_goals()
            self._feedback.measure()
            moved_rad = np.abs((self._feedback.ticks() - self._goal) * self._units.tick_rad)
            if (moved_rad <= np.maximum(STILL_RAD, np.abs(self._units.tick_rad))).all():
                return
        fastest = self._servos[int(moved_rad.argmax())]
        raise DriverError(
            fastest.where,
            "moves",
            "torque would jerk it back",
            "hold it still, then reset and enable the robot",
        )

    def disable(self) -> None:
        """Switch torque off, and verify that it is off."""
        self._require_open()
        self._torque = self._halted = False
        self._switch_off((chain, chain.ids) for chain in self._chains)

    def _switch_off(self, released: Iterable[tuple[Chain, Sequence[int]]]) -> None:
        """Switch off these servos of all chains that can be reached, then raise for the other chains."""
        problems = []
        for chain, ids in released:
            indexes = [servo.index for servo in chain.servos if servo.servo_id in ids]
            try:
                chain.set("torque_enable", dict.fromkeys(ids, 0))
                self._feedback.torque[indexes] = 0.0
            except DriverError as error:
                problems.append(error)
                self._feedback.torque[indexes] = np.nan
        raise_all(problems)

    def halt(self) -> None:
        """Hold the positions at which the first call finds the servos."""
        if not self._torque or self._is_expired():
            return
        if not self._halted:
            self._halted = True
            self._feedback.listen(full=False)
            self._goal_here()
        self._send()
