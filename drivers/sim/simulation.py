"""Lets time pass for simulated actuators: what is on the wire arrives, faults begin and end, joints move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base import ActuatorState, CommunicationLost
from .layout import STEP_S, STEPS_PER_S, step_at
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import DriverError, Floats
    from .fault_injector import FaultInjector
    from .options import SimOptions
    from .plant import Plant
    from .wire import Encoder


class Simulation:
    """All that lies between a driver and its plant, on one clock.

    `delay_steps`: how long a command takes without a fault, in steps of the grid.
    """

    def __init__(
        self,
        where: str,
        options: SimOptions,
        encoder: Encoder,
        injector: FaultInjector,
        now: Callable[[], float],
    ) -> None:
        self._missed = injector.errors.missed
        self.delay_steps = round(options.latency_s * STEPS_PER_S)
        self._where, self._count = where, len(injector.without)
        self._disables_commands = options.disable_commands
        self._now = now
        self._encoder = encoder
        self.wire = Wire(self._count, self.delay_steps, options.seed)
        self._injector, self._schedule = injector, injector.schedule
        self._is_direct = self._passes_directly()

    def _passes_directly(self) -> bool:
        """Return whether commands and feedback pass between driver and plant unchanged and at once."""
        detour = self.delay_steps or self._disables_commands or self._encoder.is_turned
        return not (detour or self._injector.active or self.wire.carries_commands)

    def advance_on_bus(self, plant: Plant) -> float:
        """Let time pass up to now and return it. Raises CommunicationLost if the bus is lost."""
        now_s = self.advance(plant)
        if not self._is_direct and self._injector.effects.cut:
            raise CommunicationLost(
                self._where, "the bus is lost", "as a simulated fault", "wait, or clear the fault"
            )
        return now_s

    def advance(self, plant: Plant) -> float:
        """Let time pass up to now and return it."""
        now_s = self._now()
        step = step_at(now_s)
        if step >= self._schedule.next_step:
            self._meet_faults(plant, step)
            now_s = self._now()  # a fault may have blocked
            step = step_at(now_s)
        if self._is_direct:
            plant.advance(step)
        else:
            self._advance_to(plant, step)
        return now_s

    def _advance_to(self, plant: Plant, step: int) -> None:
        before = plant.step
        while (due := self.wire.due(step)) is not None:
            arrived, values = due
            plant.advance(arrived)
            plant.command(values)
        plant.advance(step)
        if self._injector.heating:
            effects = self._injector.effects
            plant.heat((step - before) * STEP_S, effects.heating_c_per_s, effects.hottest_c)
        self._is_direct = self._passes_directly()

    def _meet_faults(self, plant: Plant, step: int) -> None:
        while self._schedule.next_step <= step:
            self._advance_to(plant, self._schedule.next_step)
            was_disturbed = self._injector.disturbs_wire
            fault = self._injector.apply_next_change(plant, self._encoder)
            if self._injector.disturbs_wire and not was_disturbed:
                self._remember(plant)
            if self._injector.effects.cut:
                self.wire.drop_commands()
            self._is_direct = self._passes_directly()
            if fault is not None:
                fault.happen()

    def _remember(self, plant: Plant) -> None:
        state = ActuatorState(self._count)
        plant.report(0.0, state)
        self._encoder.measure(state.position)
        self._report_torque(plant, state)
        state.stamp_s.fill(plant.step * STEP_S)
        self.wire.remember(state)

    def read(self, plant: Plant, state: ActuatorState) -> None:
        """Let time pass up to now, and fill in what the driver receives.

        Raises CommunicationLost if the bus is lost.
        """
        now_s = self.advance_on_bus(plant)
        plant.report(now_s - plant.step * STEP_S, state)
        if not self._encoder.perfect:
            self._encoder.measure(state.position)
        self._report_torque(plant, state)
        state.stamp_s.fill(now_s)
        if not self._is_direct and self._injector.disturbs_wire:
            self._missed += self.wire.receive(now_s, state, self._injector.effects)

    def _report_torque(self, plant: Plant, state: ActuatorState) -> None:
        state.torque.fill(plant.torque)
        if self._injector.limp:
            state.torque[self._injector.without] = 0.0

    def send(self, plant: Plant, values: Floats) -> DriverError | None:
        """Send a command (3, actuators); return an error if some actuators have no torque to follow it."""
        if self._is_direct:
            plant.command(values)
            return None
        if self._disables_commands:
            plant.refresh()
        else:
            self._send_by_wire(plant, values)
        return self._injector.failure() if self._injector.active else None

    def _send_by_wire(self, plant: Plant, values: Floats) -> None:
        if self._encoder.is_turned:
            values = values.copy()
            values[0] -= self._encoder.turned
        if self._injector.deaf:
            values = values.copy()
            values[:, self._injector.tripped] = np.nan
        self.wire.send(plant.step, values, self._injector.effects)
        self._advance_to(plant, plant.step)

    def hold(self, plant: Plant) -> None:
        """Set the goal to where the actuators are, in place of all that is under way."""
        self.wire.drop_commands()
        self._is_direct = self._passes_directly()
        plant.hold(self._encoder.nearest(plant.position))
