"""Simulated actuators: a driver like any other, for demonstrations, dry runs and tests.

In come commands, out comes feedback that lags, is late, noisy and limited as set by the options, and goes
wrong as scripted or asked for. The physics is in `sim_plant`, what may go wrong in `sim_faults`; this module
is the driver of it: who may command when, the trace, and what is raised when.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base import (
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    LetGo,
    require_lifetime,
)
from ..options import OptionProblem, OptionsError, spread
from .command_log import Trace, TraceError
from .encoder import Encoder
from .fault_injector import Mishaps
from .faults import LifetimeExpiry, make_fault, place_of
from .gravity import Weights
from .layout import STEP_S, STEPS_PER_S, step_at
from .options import SimOptions
from .plant import Dynamics, Plant, PlantFileError, map_plant, new_plant
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..base import ActuatorCommand, Floats
    from .faults import Fault

__all__ = ["SimDriver", "SimOptions"]

WHERE = "driver sim"


class SimDriver(Driver):
    """Simulated actuators that keep the contract of real ones."""

    Options: ClassVar[type[DriverOptions]] = SimOptions
    options: SimOptions
    max_rate_hz = float(STEPS_PER_S)

    def __init__(
        self, actuators: Sequence[str], options: SimOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(actuators, options, now)
        self._initial = self._spread("initial", 0.0)
        self._encoder = Encoder(
            self._spread("position_state_following_offset", 0.0),
            self._spread("noise", 0.0),
            self._spread("encoder_resolution", 0.0),
            options.seed,
        )
        self._dynamics = Dynamics(
            natural_frequency_hz=self._spread("natural_frequency_hz", 30.0),
            damping_ratio=self._spread("damping_ratio", 1.0),
            velocity_limit=self._spread("velocity_limit", np.inf),
            effort_limit=self._spread("effort_limit", np.inf),
            inertia=self._spread("inertia", 0.1),
            order=self._spread("order", 2) if options.calculate_dynamics else np.zeros(len(self.actuators)),
            viscous_friction=self._spread("viscous_friction", 0.0),
            coulomb_friction=self._spread("coulomb_friction", 0.0),
            load=self._spread("load", 0.0),
            command_lifetime_s=np.inf if options.command_lifetime_s is None else options.command_lifetime_s,
        )
        self._delay_steps = round(options.latency_s * STEPS_PER_S)
        self._wire = Wire(len(self.actuators), self._delay_steps, options.seed)
        self._mishaps = Mishaps(WHERE, self.actuators, self.notices.append)
        self._timeline = self._mishaps.timeline
        self._weights = self._weigh()
        self._script = [self._checked(fault) for fault in options.faults]
        self._is_direct = self._finds_way_direct()
        self._plant: Plant | None = None
        self._left: Plant | None = None
        self._trace: Trace | None = None
        self._holding = False
        self._halted = False

    def _weigh(self) -> Weights | None:
        if self.options.gravity is None:
            return None
        if self.options.plant is not None:
            raise DriverConfigError(
                WHERE, "`gravity` and `plant` exclude each other", "the file has no bodies", "leave one out"
            )
        if self.options.gravity.from_model:
            return None
        return Weights(WHERE, self.options.gravity, self.actuators)

    def _spread(self, option: str, default: float) -> Floats:
        return spread(WHERE, option, getattr(self.options, option), self.actuators, default)

    def _checked(self, fault: Fault) -> Fault:
        place_of(WHERE, fault, self.actuators)
        if isinstance(fault, LifetimeExpiry) and self.options.command_lifetime_s is None:
            what, why = "fault lifetime_expiry: nothing can expire", "`command_lifetime_s` is null"
            raise OptionsError([OptionProblem(WHERE, ("fault",), what, why, "set it to a time")])
        return fault

    def open(self) -> None:
        """Make the actuators, or find them where the last process left them."""
        if self._plant is not None:
            raise DriverError(WHERE, "is open already", mend="close it first")
        if self.options.gravity is not None and self._weights is None:
            what, why = "`gravity.from_model` is set", "no description with masses reaches this driver"
            raise DriverConfigError(WHERE, what, why, "name one, or list the bodies")
        try:
            self._plant = self._find_plant()
            self._plant.configure(self._dynamics)
            self._mishaps.apply(self._plant)
            if self.options.trace is not None:
                self._trace = Trace(self.options.trace, len(self.actuators))
        except (PlantFileError, TraceError) as error:
            self.close()
            raise DriverConfigError(WHERE, str(error)) from error
        except OSError as error:
            self.close()
            raise DriverError(
                WHERE, f"{error.filename} cannot be opened", str(error.strerror), "check `plant` and `trace`"
            ) from error
        self._begin_script(self._plant)
        self._holding = self._plant.torque
        self._halted = False

    def _begin_script(self, plant: Plant) -> None:
        """Start the timeline at the first opening; a later one finds the faults that last."""
        for fault in self._script:
            self._timeline.add(fault, step_at(self.now()))
        self._script.clear()
        try:
            self._reach(plant)
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
            plant.begin(now_step, self._initial)
        return plant

    def _make_plant(self) -> tuple[Plant, bool]:
        """Give the actuators, and whether they have lived before."""
        if self._left is not None:
            return self._left, True
        if self.options.plant is None:
            return new_plant(len(self.actuators), self._delay_steps, self._weights), False
        return map_plant(self.options.plant, self.actuators, self._delay_steps)

    def _opened(self) -> Plant:
        if self._plant is None:
            raise DriverError(WHERE, "is not open", mend="open it first")
        return self._plant

    def _finds_way_direct(self) -> bool:
        """Say whether commands and feedback go straight between driver and actuators."""
        detour = self._delay_steps or self.options.disable_commands or self._encoder.is_turned
        return not (detour or self._mishaps.ahead or self._wire.carries_commands)

    def _reach(self, plant: Plant) -> float:
        """Let time pass up to now, and give it; fails where nothing gets through."""
        now_s = self._catch_up(plant)
        if not self._is_direct and self._mishaps.trouble.cut:
            raise CommunicationLost(
                WHERE, "the bus is lost", "as a simulated fault", "wait, or clear the fault"
            )
        return now_s

    def _catch_up(self, plant: Plant) -> float:
        now_s = self.now()
        step = step_at(now_s)
        if step >= self._timeline.next_step:
            self._meet_faults(plant, step)
            now_s = self.now()  # a fault may have blocked
            step = step_at(now_s)
        if self._is_direct:
            plant.advance(step)
        else:
            self._advance(plant, step)
        return now_s

    def _advance(self, plant: Plant, step: int) -> None:
        before = plant.step
        while (due := self._wire.due(step)) is not None:
            arrived, values = due
            plant.advance(arrived)
            plant.command(values)
        plant.advance(step)
        if self._mishaps.heating:
            trouble = self._mishaps.trouble
            plant.heat((step - before) * STEP_S, trouble.heating_c_per_s, trouble.hottest_c)
        self._is_direct = self._finds_way_direct()

    def _meet_faults(self, plant: Plant, step: int) -> None:
        while self._timeline.next_step <= step:
            self._advance(plant, self._timeline.next_step)
            was_on_the_wire = self._mishaps.on_the_wire
            fault = self._mishaps.turn(plant, self._encoder)
            if self._mishaps.on_the_wire and not was_on_the_wire:
                self._remember(plant)
            if self._mishaps.trouble.cut:
                self._wire.drop_commands()
            self._is_direct = self._finds_way_direct()
            if fault is not None:
                fault.happen()

    def _remember(self, plant: Plant) -> None:
        state = ActuatorState(len(self.actuators))
        plant.report(0.0, state)
        self._encoder.measure(state.position)
        state.stamp_s.fill(plant.step * STEP_S)
        self._wire.remember(state)

    def set_period(self, period_s: float) -> None:
        """Learn the tick period; the actuators must not let go between two ticks."""
        super().set_period(period_s)
        require_lifetime(WHERE, self._dynamics.command_lifetime_s, period_s)

    def read(self, state: ActuatorState) -> None:
        """Report where the actuators are, or were `latency_s` ago."""
        plant = self._opened()
        now_s = self._reach(plant)
        plant.report(now_s - plant.step * STEP_S, state)
        if not self._encoder.perfect:
            self._encoder.measure(state.position)
        state.stamp_s.fill(now_s)
        if not self._is_direct and self._mishaps.on_the_wire:
            self._wire.receive(now_s, state, self._mishaps.trouble)

    def write(self, command: ActuatorCommand) -> None:
        """Take a setpoint, on time or `latency_s` later.

        Raises
        ------
        LetGo
            If no setpoint came for longer than the command lifetime.
        DriverError
            If a fault has switched actuators off; the others take the setpoint all the same.
        """
        plant = self._opened()
        if self._trace is not None:
            now_s = self._catch_up(plant)
            self._record(self._trace, now_s, command, enabled=plant.torque)
        self._reach(plant)
        if self._holding and not plant.torque:
            raise self._let_go(plant)
        if not self._holding or self._halted:
            return
        if self._is_direct:
            plant.command(command.values)
            return
        self._send(plant, command.values)
        if self._mishaps.limp:
            raise self._mishaps.without_torque()

    def _let_go(self, plant: Plant) -> LetGo:
        return LetGo(
            WHERE,
            "the actuators let go",
            f"no setpoint came for {plant.command_age_s:.3f} s, and `command_lifetime_s` is "
            f"{self.options.command_lifetime_s}",
            "enable them again",
        )

    def _send(self, plant: Plant, values: Floats) -> None:
        if self.options.disable_commands:
            plant.refresh()
            return
        if self._encoder.is_turned:
            values = values.copy()
            values[0] -= self._encoder.turned
        self._wire.send(plant.step, values, self._mishaps.trouble)
        self._advance(plant, plant.step)

    def _record(self, trace: Trace, now_s: float, command: ActuatorCommand, *, enabled: bool) -> None:
        try:
            trace.append(now_s, command, enabled=enabled)
        except OSError as error:
            what = f"{self.options.trace} cannot be written"
            raise DriverError(WHERE, what, str(error.strerror), "make room or do without `trace`") from error

    def enable(self) -> None:
        """Take hold of the actuators where they are measured to be.

        Raises
        ------
        DriverError
            If an m-stop is pressed or power is missing; then all stay as they were.
        """
        plant = self._opened()
        self._reach(plant)
        self._mishaps.recover(plant)
        self._hold_here(plant)
        plant.set_torque(on=True)
        self._holding, self._halted = True, False

    def disable(self) -> None:
        """Let go; friction stops what still moves."""
        plant = self._opened()
        self._reach(plant)
        self._hold_here(plant)
        plant.set_torque(on=False)
        self._holding = self._halted = False

    def _hold_here(self, plant: Plant) -> None:
        self._wire.drop_commands()
        self._is_direct = self._finds_way_direct()
        plant.hold(self._encoder.nearest(plant.position))

    def halt(self) -> None:
        """Hold where the first of these calls that gets through finds the actuators."""
        plant = self._plant
        if plant is None:
            return
        self._catch_up(plant)
        trouble = self._mishaps.trouble
        if trouble.cut or trouble.deaf:
            return
        if self._halted:
            plant.refresh()
        else:
            self._hold_here(plant)
            self._halted = True

    def inject(self, fault: Mapping[str, Any]) -> None:
        """Let a fault happen, `at_s` from now.

        Parameters
        ----------
        fault : mapping
            As one of the option `faults`.

        Raises
        ------
        OptionsError
            With the nearest name, if there is no such fault, actuator or key.
        """
        self._timeline.add(self._checked(make_fault(WHERE, fault)), step_at(self.now()))

    def close(self) -> None:
        """Leave the actuators to themselves; they let go at the end of the command lifetime."""
        if self.options.plant is None and self._plant is not None:
            self._left = self._plant
        self._plant = None
        self._wire.drop_commands()
        trace, self._trace = self._trace, None
        if trace is not None:
            trace.close()
