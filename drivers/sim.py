"""Simulated actuators: a driver like any other, for demonstrations, dry runs and tests.

In come commands, out comes feedback that lags, is late, noisy and limited as set by the options. The physics
is in `sim_plant`; this module is the bus to it: delays, noise, the trace, and who may command when.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from drivers.base import Driver, DriverConfigError, DriverError, DriverOptions, LetGo, require_lifetime
from drivers.options import Finite, NotNegative, PerActuatorOf, Positive, spread
from drivers.sim_plant import (
    STEP_S,
    STEPS_PER_S,
    Dynamics,
    Plant,
    PlantFileError,
    map_plant,
    new_plant,
    step_at,
)
from drivers.trace import Trace, TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from drivers.base import ActuatorCommand, ActuatorState, Floats

WHERE = "driver sim"
Frequency = Annotated[float, Field(ge=1, le=500)]


class SimOptions(DriverOptions):
    """What stands under `driver:` with `type: sim`; a number is for all actuators, a mapping by actuator."""

    natural_frequency_hz: PerActuatorOf[Frequency] = Field(
        default=30.0, description="How fast an actuator follows."
    )
    damping_ratio: PerActuatorOf[Positive] = Field(
        default=1.0, description="1 follows without overshoot; less swings."
    )
    velocity_limit: PerActuatorOf[Positive] | None = Field(default=None, description="In rad/s or m/s.")
    effort_limit: PerActuatorOf[Positive] | None = Field(default=None, description="In N·m or N.")
    inertia: PerActuatorOf[Positive] = Field(
        default=0.1,
        description="In kg·m² or kg: what the actuator moves; effort is inertia times acceleration.",
    )
    initial: PerActuatorOf[Finite] = Field(default=0.0, description="Position at the start, in rad or m.")
    noise: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="Standard deviation of the measured position, in rad or m."
    )
    seed: int = Field(
        default=0, ge=0, description="Of the noise: the same seed and calls give the same feedback."
    )
    latency_s: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="One way: commands arrive and feedback comes back so much later."
    )
    command_lifetime_s: Positive | None = Field(
        default=0.5, description="The actuators let go when no command came for so long; null: never."
    )
    trace: Path | None = Field(
        default=None, description="A .npy file that gets a row for each command received."
    )
    plant: Path | None = Field(
        default=None,
        description="A file that the simulated robot lives in, so that it outlives this process.",
    )


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
        self._noise = self._spread("noise", 0.0)
        self._noisy = bool(self._noise.any())
        self._drawn = np.empty(len(self.actuators))
        self._random = np.random.default_rng(options.seed)
        self._dynamics = Dynamics(
            natural_frequency_hz=self._spread("natural_frequency_hz", 30.0),
            damping_ratio=self._spread("damping_ratio", 1.0),
            velocity_limit=self._spread("velocity_limit", np.inf),
            effort_limit=self._spread("effort_limit", np.inf),
            inertia=self._spread("inertia", 0.1),
            command_lifetime_s=np.inf if options.command_lifetime_s is None else options.command_lifetime_s,
        )
        self._delay_steps = round(options.latency_s * STEPS_PER_S)
        self._under_way: deque[tuple[int, Floats]] = deque()
        self._plant: Plant | None = None
        self._trace: Trace | None = None
        self._holding = False
        self._halted = False

    def _spread(self, option: str, default: float) -> Floats:
        return spread(WHERE, option, getattr(self.options, option), self.actuators, default)

    def open(self) -> None:
        """Make the actuators, or find them where the last process left them."""
        if self._plant is not None:
            raise DriverError(WHERE, "is open already", mend="close it first")
        try:
            self._plant = self._find_plant()
            self._plant.configure(self._dynamics)
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
        self._holding = self._plant.torque
        self._halted = False

    def _find_plant(self) -> Plant:
        count, now_step = len(self.actuators), step_at(self.now())
        held = False
        if self.options.plant is None:
            plant = new_plant(count, self._delay_steps)
        else:
            plant, held = map_plant(self.options.plant, self.actuators, self._delay_steps)
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

    def _opened(self) -> Plant:
        if self._plant is None:
            raise DriverError(WHERE, "is not open", mend="open it first")
        return self._plant

    def _catch_up(self, plant: Plant) -> float:
        now_s = self.now()
        step = step_at(now_s)
        while self._under_way and self._under_way[0][0] <= step:
            due, values = self._under_way.popleft()
            plant.advance(due)
            plant.command(values)
        plant.advance(step)
        return now_s

    def set_period(self, period_s: float) -> None:
        """Learn the tick period; the actuators must not let go between two ticks."""
        super().set_period(period_s)
        require_lifetime(WHERE, self._dynamics.command_lifetime_s, period_s)

    def read(self, state: ActuatorState) -> None:
        """Report where the actuators are, or were `latency_s` ago."""
        plant = self._opened()
        now_s = self._catch_up(plant)
        plant.report(now_s - plant.step * STEP_S, state)
        if self._noisy:
            self._random.standard_normal(out=self._drawn)
            np.multiply(self._drawn, self._noise, self._drawn)
            np.add(state.position, self._drawn, state.position)
        state.stamp_s.fill(now_s)

    def write(self, command: ActuatorCommand) -> None:
        """Take a setpoint, on time or `latency_s` later."""
        plant = self._opened()
        now_s = self._catch_up(plant)
        if self._trace is not None:
            self._record(self._trace, now_s, command, enabled=plant.torque)
        if self._holding and not plant.torque:
            raise LetGo(
                WHERE,
                "the actuators let go",
                f"no setpoint came for {plant.command_age_s:.3f} s, and `command_lifetime_s` is "
                f"{self.options.command_lifetime_s}",
                "enable them again",
            )
        if not self._holding or self._halted:
            return
        if self._delay_steps:
            self._under_way.append((plant.step + self._delay_steps, command.values.copy()))
        else:
            plant.command(command.values)

    def _record(self, trace: Trace, now_s: float, command: ActuatorCommand, *, enabled: bool) -> None:
        try:
            trace.append(now_s, command, enabled=enabled)
        except OSError as error:
            what = f"{self.options.trace} cannot be written"
            raise DriverError(WHERE, what, str(error.strerror), "make room or do without `trace`") from error

    def enable(self) -> None:
        """Take hold of the actuators where they are."""
        plant = self._opened()
        self._hold_here(plant)
        plant.set_torque(on=True)
        self._holding, self._halted = True, False

    def disable(self) -> None:
        """Let go; friction stops what still moves."""
        plant = self._opened()
        self._hold_here(plant)
        plant.set_torque(on=False)
        self._holding = self._halted = False

    def _hold_here(self, plant: Plant) -> None:
        self._catch_up(plant)
        self._under_way.clear()
        plant.hold()

    def halt(self) -> None:
        """Hold where the first of these calls finds the actuators."""
        if self._plant is None:
            return
        if self._halted:
            self._catch_up(self._plant)
            self._plant.refresh()
        else:
            self._hold_here(self._plant)
            self._halted = True

    def close(self) -> None:
        """Leave the actuators to themselves; they let go at the end of the command lifetime."""
        self._plant = None
        self._under_way.clear()
        trace, self._trace = self._trace, None
        if trace is not None:
            trace.close()
