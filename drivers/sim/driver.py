"""Simulated actuators: a driver like any other, for demonstrations, dry runs and tests."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from ..base import (
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    expired,
    require_lifetime,
    slowest_rate_hz,
)
from ..limits import ActuatorLimits
from ..options import OptionProblem, OptionsError, spread
from ..registry import describe_robot
from ..weights import DOWN, Weights
from .command_log import CommandLog, CommandLogError
from .fault_injector import FaultInjector
from .faults import LifetimeExpiry, make_fault, place_of
from .layout import STEP_S, STEPS_PER_S, step_at
from .options import SimOptions
from .physics import PhysicalPlant, World, WorldOptions, oddities, refuse_what_no_world_has
from .plant import Plant, new_plant
from .plant_file import PlantFileError, map_plant
from .propagator import Dynamics
from .simulation import Simulation
from .wire import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..base import ActuatorCommand, ActuatorState, Description, Floats
    from .faults import Fault

__all__ = ["SimDriver", "SimOptions"]

WHERE = "driver sim"
CONTACT_SLOTS = 16
INERTIA = 0.1
"""In kg·m² or kg, where neither an option nor a world has one."""


class SimDriver(Driver):
    """Simulated actuators that keep the contract of real ones."""

    Options: ClassVar[type[DriverOptions]] = SimOptions
    options: SimOptions
    where = WHERE
    max_rate_hz = float(STEPS_PER_S)

    def __init__(
        self, actuators: Sequence[str], options: SimOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(actuators, options, now)
        refuse_what_no_world_has(WHERE, options, self.actuators)
        self.contact_slots = CONTACT_SLOTS if options.physics else 0
        self._initial = self._spread("initial", np.nan)
        encoder = _encoder(options, self._spread)
        self._dynamics = _dynamics(options, self._spread)
        self._refuse_crossed_stops()
        self.min_rate_hz = slowest_rate_hz(options.command_lifetime_s)
        self._faults = FaultInjector(WHERE, self.actuators, self.notices.append, self.errors)
        self._simulation = Simulation(WHERE, options, encoder, self._faults, self.now)
        self._weights = _weights(options, self.actuators)
        self._script = [self._checked(fault) for fault in options.faults]
        self._plant: Plant | None = None
        self._left: Plant | None = None
        self._log: CommandLog | None = None
        self._period_s = 0.0
        self._holding = False
        self._halted = False

    @classmethod
    def describe(cls, options: DriverOptions) -> Description | None:
        """Return what HEBI's robot configuration has of the robot, if the options name one."""
        config = cast("SimOptions", options).config
        return None if config is None else describe_robot("hebi", {"config": config})

    def _spread(self, option: str, default: float) -> Floats:
        return spread(WHERE, option, getattr(self.options, option), self.actuators, default)

    def _refuse_crossed_stops(self) -> None:
        lower, upper = self._dynamics.lower_stop, self._dynamics.upper_stop
        for place in np.flatnonzero(lower > upper):
            name = self.actuators[place]
            what = f"{name}: `lower_stop` is {lower[place]:g}, above `upper_stop`, {upper[place]:g}"
            raise OptionsError([OptionProblem(WHERE, ("lower_stop",), what, "", "exchange them")])

    def _checked(self, fault: Fault) -> Fault:
        place_of(WHERE, fault, self.actuators)
        if isinstance(fault, LifetimeExpiry) and self.options.command_lifetime_s is None:
            problem, reason = "fault lifetime_expiry: nothing can expire", "`command_lifetime_s` is null"
            raise OptionsError([OptionProblem(WHERE, ("fault",), problem, reason, "set it to a time")])
        return fault

    @property
    def devices(self) -> tuple[str, ...]:
        """The file that the simulated robot lives in; without one, no other process can drive it."""
        return () if self.options.plant is None else (f"plant:{self.options.plant.resolve()}",)

    @property
    def limits(self) -> ActuatorLimits:
        """Those of the options `velocity_limit` and `effort_limit`."""
        limits, dynamics = ActuatorLimits.none(len(self.actuators)), self._dynamics
        limits = limits.narrowed("velocity", dynamics.velocity_limit, "driver.velocity_limit")
        return limits.narrowed("effort", dynamics.effort_limit, "driver.effort_limit")

    def open(self) -> None:
        """Make the actuators, or take them as the last process left them; what was left guided holds."""
        if self._plant is not None:
            raise DriverError(WHERE, "is open already", hint="close it first")
        self._require_description()
        try:
            self._plant = self._find_plant()
            self._tell_period(self._plant)
            self._plant.configure(self._dynamics)
            self.bodies = self._plant.bodies
            self._faults.apply(self._plant)
            if self.options.trace is not None:
                self._log = CommandLog(self.options.trace, len(self.actuators))
        except (PlantFileError, CommandLogError) as error:
            self.close()
            raise DriverConfigError(WHERE, str(error)) from error
        except OSError as error:
            self.close()
            raise DriverError(
                WHERE, f"{error.filename} cannot be opened", str(error.strerror), "check `plant` and `trace`"
            ) from error
        self._begin_script(self._plant)
        if self._plant.torque and self._plant.guided:
            self._simulation.hold(self._plant)
            self._plant.set_torque(on=True)
        self._holding, self._halted = self._plant.torque, False

    def _require_description(self) -> None:
        gravity, reason = self.options.gravity, "no description with masses reaches this driver"
        if self.options.physics is True:
            raise DriverConfigError(WHERE, "`physics` is true", reason, "name one, or give it a world")
        if gravity is not None and self._weights is None and self.options.physics is False:
            problem, hint = "`gravity.from_model` is set", "name one, or list the bodies"
            raise DriverConfigError(WHERE, problem, reason, hint)

    def _begin_script(self, plant: Plant) -> None:
        """Schedule the faults of the options at the first opening; later ones meet those that still last."""
        for fault in self._script:
            self._schedule(fault)
        self._script.clear()
        try:
            self._simulation.advance_on_bus(plant)
        except CommunicationLost:
            self.close()
            raise

    def _find_plant(self) -> Plant:
        now_step = step_at(self.now())
        plant, held = self._make_plant()
        if held and plant.step > now_step:
            held = False
            self.warnings.append(
                f"{self.options.plant}: the simulated robot in it is ignored; it was left "
                f"{(plant.step - now_step) * STEP_S:.1f} s ahead of the clock, so before a reboot"
            )
        if held:
            plant.advance(now_step)
        else:
            plant.begin(now_step, self._first_place())
            if isinstance(plant, PhysicalPlant):
                self._warn_of(plant.world)
        return plant

    def _first_place(self) -> Floats:
        """Return where the actuators begin: where an option says, else at 0 or as near as stops let them."""
        nearest = np.clip(0.0, self._dynamics.lower_stop, self._dynamics.upper_stop)
        return np.where(np.isnan(self._initial), nearest, self._initial)

    def _make_plant(self) -> tuple[Plant, bool]:
        """Return the actuators, and whether they have a state from before."""
        if self._left is not None:
            return self._left, True
        delay_steps = self._simulation.delay_steps
        if isinstance(self.options.physics, WorldOptions):
            return PhysicalPlant(WHERE, self._make_world(self.options.physics), delay_steps), False
        if self.options.plant is None:
            return new_plant(len(self.actuators), delay_steps, self._weights), False
        return map_plant(self.options.plant, self.actuators, delay_steps)

    def _make_world(self, options: WorldOptions) -> World:
        gravity = DOWN if self.options.gravity is None else self.options.gravity.acceleration
        return World(WHERE, options, self.actuators, gravity)

    def _opened(self) -> Plant:
        if self._plant is None:
            raise DriverError(WHERE, "is not open", hint="open it first")
        return self._plant

    def set_period(self, period_s: float) -> None:
        """Set the tick period; the command lifetime must outlast three of it."""
        super().set_period(period_s)
        require_lifetime(WHERE, self._dynamics.command_lifetime_s, period_s)
        self._period_s = period_s
        self._tell_period(self._plant)

    def _tell_period(self, plant: Plant | None) -> None:
        if isinstance(plant, PhysicalPlant):
            plant.set_period(self._period_s)

    def read(self, state: ActuatorState) -> None:
        """Report where the actuators are, or were `latency_s` ago."""
        self._simulation.read(self._opened(), state)

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint, which acts at once or `latency_s` later.

        Raises LifetimeExpired if no setpoint came for longer than the command lifetime. Raises DriverError if
        a fault has switched actuators off; the others get the setpoint all the same.
        """
        plant = self._opened()
        if self._log is not None:
            now_s = self._simulation.advance(plant)
            self._record(self._log, now_s, command, enabled=plant.torque)
        self._simulation.advance_on_bus(plant)
        if self._holding and not plant.torque:
            raise self._expired(plant)
        if not self._holding or self._halted:
            return
        error = self._simulation.send(plant, command.values)
        if error is not None:
            raise error

    def _expired(self, plant: Plant) -> DriverError:
        lifetime_s = self._dynamics.command_lifetime_s
        return expired(WHERE, "the actuators are released", plant.command_age_s, lifetime_s)

    def _record(self, log: CommandLog, now_s: float, command: ActuatorCommand, *, enabled: bool) -> None:
        try:
            log.append(now_s, command, enabled=enabled)
        except OSError as error:
            what = f"{self.options.trace} cannot be written"
            raise DriverError(WHERE, what, str(error.strerror), "make room or do without `trace`") from error

    def enable(self) -> None:
        """Switch torque on, with the measured positions as goals.

        Raises DriverError if an m-stop is pressed, power is missing or an error is kept; then nothing
        changes.
        """
        self._take_hold(guided=False)

    def _take_hold(self, *, guided: bool) -> None:
        plant = self._opened()
        self._simulation.advance_on_bus(plant)
        self._faults.recover(plant)
        self._simulation.hold(plant)
        plant.set_torque(on=True, guided=guided)
        self._holding, self._halted = True, False

    def refuse_guiding(self) -> None:
        """Refuse nothing: what has no `gravity` weighs nothing, and gives way as it is."""

    def guide(self) -> None:
        """Carry the bodies of `gravity`, and nothing else; friction slows down what is let go.

        Raises DriverError as `enable` does.
        """
        self._take_hold(guided=True)

    def disable(self) -> None:
        """Switch torque off; friction stops what still moves."""
        plant = self._opened()
        self._simulation.advance_on_bus(plant)
        self._simulation.hold(plant)
        plant.set_torque(on=False)
        self._holding = self._halted = False

    def halt(self) -> None:
        """Hold the positions at which the first call that gets through finds the actuators."""
        plant = self._plant
        if plant is None:
            return
        self._simulation.advance(plant)
        if not self._faults.hears_halts:
            return
        if self._halted:
            plant.refresh()
        else:
            self._simulation.hold(plant)
            if plant.guided:
                plant.set_torque(on=True)
            self._halted = True

    def verify(self) -> None:
        """Raise if the actuators have released, or a fault keeps some from following commands."""
        plant = self._opened()
        self._simulation.advance_on_bus(plant)
        if self._holding and not plant.torque:
            raise self._expired(plant)
        if (failure := self._faults.failure()) is not None:
            raise failure

    def rehearse(self) -> tuple[str, ...]:
        """Make the world of `physics` once, so that what is wrong with it is seen in time.

        Returns also what is odd about how it begins.
        """
        if not isinstance(self.options.physics, WorldOptions):
            return super().rehearse()
        world = self._make_world(self.options.physics)
        world.begin(self._first_place())
        self._warn_of(world)
        return super().rehearse()

    def _warn_of(self, world: World) -> None:
        self.warnings[:] = dict.fromkeys([*self.warnings, *oddities(world)])

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        """Refuse none."""

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart actuators, so that their errors go; raises DriverError as `clear` does."""
        self._clear(actuators, restarts=True)

    def refuse_clear(self, actuators: Sequence[str]) -> None:
        """Refuse none."""

    def clear(self, actuators: Sequence[str]) -> None:
        """Let errors go that actuators keep.

        Raises DriverError if one of them holds, so that it would drop; then nothing changes.
        """
        self._clear(actuators, restarts=False)

    def _clear(self, actuators: Sequence[str], *, restarts: bool) -> None:
        chosen = np.isin(self.actuators, actuators)
        plant = self._plant
        if plant is not None:
            self._simulation.advance_on_bus(plant)
            if plant.torque and (holds := chosen & ~self._faults.without).any():
                names = ", ".join(np.array(self.actuators)[holds].tolist())
                reason, hint = "it would drop", "support it, reset and disable the robot, then try again"
                raise DriverError(names, "its torque is on", reason, hint)
        self._faults.clear(chosen, restarts=restarts)
        if plant is not None:
            self._faults.apply(plant)

    def inject(self, fault: Mapping[str, Any]) -> None:
        """Schedule a fault, `at_s` from now.

        Raises OptionsError with the nearest name, if there is no such fault, actuator or key.
        """
        self._schedule(self._checked(make_fault(WHERE, fault)))

    def _schedule(self, fault: Fault) -> None:
        self._faults.schedule.add(fault, step_at(self.now()))

    def close(self) -> None:
        """Stop driving; the actuators release at the end of the command lifetime."""
        if self.options.plant is None and self._plant is not None:
            self._left = self._plant if self._plant.is_sound else None
        self._plant = None
        self._simulation.wire.drop_commands()
        log, self._log = self._log, None
        if log is not None:
            log.close()


def _weights(options: SimOptions, actuators: Sequence[str]) -> Weights | None:
    if options.gravity is None or options.physics is not False:
        return None
    if options.plant is not None:
        raise DriverConfigError(
            WHERE, "`gravity` and `plant` exclude each other", "the file has no bodies", "leave one out"
        )
    if options.gravity.from_model:
        return None
    return Weights(WHERE, options.gravity, actuators)


def _encoder(options: SimOptions, spread_option: Callable[[str, float], Floats]) -> Encoder:
    return Encoder(
        spread_option("position_state_following_offset", 0.0),
        spread_option("noise", 0.0),
        spread_option("encoder_resolution", 0.0),
        options.seed,
    )


def _dynamics(options: SimOptions, spread_option: Callable[[str, float], Floats]) -> Dynamics:
    """Spread the options over the actuators; those that a mapping leaves out have the option's default."""
    none = {"velocity_limit": np.inf, "effort_limit": np.inf, "lower_stop": -np.inf, "upper_stop": np.inf}
    none["inertia"] = INERTIA if options.physics is False else np.nan
    names = [one.name for one in fields(Dynamics) if one.name != "command_lifetime_s"]
    found = {
        name: spread_option(name, none.get(name, SimOptions.model_fields[name].default)) for name in names
    }
    if not options.calculate_dynamics:
        found["order"] = np.zeros_like(found["order"])
    lifetime_s = np.inf if options.command_lifetime_s is None else options.command_lifetime_s
    return Dynamics(**found, command_lifetime_s=lifetime_s)
