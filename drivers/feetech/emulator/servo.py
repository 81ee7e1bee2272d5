"""An emulated servo: its control table, with the locks and protections of the real one, and its motor.

Registers are as in Feetech's memory tables. The motor is simple: it approaches the goal with a time constant,
no faster than its velocity allows. `chain` puts servos on a bus.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...serial_bus.emulator import approach
from ..errors import ANGLE_SENSOR, CURRENT, HEAT, OVERLOAD, VOLTAGE
from ..models import COUNTS_TURNS, FINE_VELOCITY, POSITION_MODE, ZERO_IS_FASTEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..models import FeetechModel

CENTRE_HERE = 128
"""Written to `torque_enable`, it makes the position where the servo is its centre."""
BOOT_S = 0.2
PROTECTION_UNIT_S = 0.01
PERCENT = 10
"""Loads are in 0.1 %, and their thresholds in 1 %."""
MEMORY = 256
_READ_ONLY = {
    "firmware_major",
    "firmware_minor",
    "byte_order",
    "model_number",
    "status",
    "moving",
    "velocity_limit",
}
_FACTORY = {
    "firmware_major": 3,
    "firmware_minor": 10,
    "status_return_level": 1,
    "temperature_limit": 70,
    "max_voltage_limit": 80,
    "min_voltage_limit": 40,
    "max_torque": 1000,
    "phase": FINE_VELOCITY | ZERO_IS_FASTEST,
    "unloading_condition": OVERLOAD | CURRENT | HEAT,
    "position_p_gain": 32,
    "position_d_gain": 32,
    "protective_torque": 20,
    "protection_time": 200,
    "lock": 1,
    "present_voltage": 74,
    "present_temperature": 30,
}
_FACTORY_BY_SERIES = {
    "STS": {"current_limit": 500, "overload_torque": 80, "velocity_limit": 68, "torque_limit": 1000},
    "SCS": {
        "byte_order": 1,
        "phase": ZERO_IS_FASTEST,
        "unloading_condition": OVERLOAD | HEAT | VOLTAGE,
        "max_torque": 1023,
    },
}
_OVERLOAD_PERCENT = 80
_FASTEST_TICKS_S = 1500
"""Where no register says how fast a servo turns at most."""


class EmulatedServo:
    """One servo: its control table and its motor.

    `settings`: registers that differ from the factory's values, by name. `position_ticks`: what it reports as
    its position, in ticks; the centre by default. `load`: what the motor bears, in 0.1 % of its torque, with
    the sign of the direction in which it is pushed. `broken`: bits of `status` that stay as long as their
    cause. `hand_ticks_s`: how fast a hand moves the motor without torque. `torque_on_by_goal`: whether a goal
    switches torque on, as with some firmware. `reboots`: whether it knows the instruction.
    """

    def __init__(
        self,
        servo_id: int,
        model: FeetechModel,
        settings: Mapping[str, int] | None = None,
        position_ticks: float | None = None,
    ) -> None:
        self.servo_id = servo_id
        self.model = model
        self.table = model.table
        self.memory = bytearray(MEMORY)
        self.velocity_ticks_s = 0.0
        self.load = 0
        self.mute = self.torque_on_by_goal = False
        self.reboots = True
        self.broken = self._latched = 0
        self.hand_ticks_s = 0.0
        self._overloaded_s = 0.0
        self._now_s = self._booted_s = -math.inf
        self._read_only = {
            at
            for name, item in self.table.items.items()
            if name in _READ_ONLY or name.startswith("present_")
            for at in range(item.address, item.end)
        }
        settings = {
            **_FACTORY,
            **_FACTORY_BY_SERIES[model.table.series],
            "id": servo_id,
            "model_number": model.number,
            "max_position_limit": model.most_ticks,
            **(settings or {}),
        }
        for name, value in settings.items():
            self.set(name, value)
        self._power_up = bytearray(self.memory)
        self.shaft_ticks = (
            float(model.zero_ticks if position_ticks is None else position_ticks) + self._offset
        )
        self._forget_goal()

    def get(self, name: str) -> int:
        """Return a register's value."""
        return self.table[name].decode(self.memory)

    def set(self, name: str, value: int) -> None:
        """Set a register regardless of all locks."""
        item = self.table[name]
        self.memory[item.address : item.end] = item.encode(value)

    @property
    def torque(self) -> bool:
        """Whether the motor holds."""
        return self.get("torque_enable") == 1

    @property
    def error_byte(self) -> int:
        """The error byte of its answers, which is the register `status`."""
        return self.get("status")

    @property
    def position_ticks(self) -> float:
        """The position that it reports: of the shaft, less the homing offset."""
        position = self.shaft_ticks - self._offset
        if self.table.series == "SCS":
            return min(max(position, 0.0), float(self.model.most_ticks))
        return position if self.get("phase") & COUNTS_TURNS else position % self.model.ticks_per_turn

    @property
    def _offset(self) -> int:
        return self.get("homing_offset") if "homing_offset" in self.table.items else 0

    def turn_to(self, position_ticks: float) -> None:
        """Move the motor, as by hand, to where it reports this position."""
        self.shaft_ticks += position_ticks - self.position_ticks
        self._report()

    def fail(self, bits: int) -> None:
        """Let errors begin that stay until they are cleared, or the servo restarts."""
        self._latched |= bits
        self._protect()

    def restart(self) -> None:
        """Restart, as by the instruction or when the supply broke down: forget what is not saved.

        It answers again after `BOOT_S`.
        """
        self.memory[:] = self._power_up
        self.servo_id = self.get("id")
        if "torque_limit" in self.table.items:
            self.set("torque_limit", self.get("max_torque"))
        self.shaft_ticks = self.position_ticks % self.model.ticks_per_turn + self._offset
        self._latched = 0
        self._overloaded_s = 0.0
        self._booted_s = self._now_s + BOOT_S
        self._forget_goal()

    def _forget_goal(self) -> None:
        self.velocity_ticks_s = 0.0
        self._report()
        self.set("goal_position", self.get("present_position"))
        self._protect()

    def attends(self, now_s: float) -> bool:
        """Advance to a time, and return whether the servo answers then."""
        self.advance(now_s)
        return not self.mute and now_s >= self._booted_s

    def advance(self, now_s: float) -> None:
        """Move the motor, and watch over it, up to a time."""
        if now_s <= self._now_s:
            return
        duration_s = now_s - self._now_s if math.isfinite(self._now_s) else 0.0
        self._now_s = now_s
        self._watch(duration_s)
        if not self.torque:
            self.velocity_ticks_s = self.hand_ticks_s
            self.shaft_ticks += self.velocity_ticks_s * duration_s
        elif self._latched & OVERLOAD or self._value("operating_mode", POSITION_MODE):
            self.velocity_ticks_s = 0.0
        else:
            self._move(duration_s)
        self._report()

    def _watch(self, duration_s: float) -> None:
        """Find an overload that lasts, and errors of voltage and temperature."""
        most = PERCENT * self._value("overload_torque", _OVERLOAD_PERCENT)
        self._overloaded_s = self._overloaded_s + duration_s if self.torque and abs(self.load) > most else 0.0
        if self._overloaded_s > self.get("protection_time") * PROTECTION_UNIT_S:
            self._latched |= OVERLOAD
        self._protect()

    def _protect(self) -> None:
        """Report errors, and switch torque off at those for which `unloading_condition` says so.

        At an overload the motor keeps a little of its torque, but follows no goal.
        """
        voltage = (
            self.get("min_voltage_limit") <= self.get("present_voltage") <= self.get("max_voltage_limit")
        )
        hot = self.get("present_temperature") > self.get("temperature_limit")
        status = self._latched | self.broken | (0 if voltage else VOLTAGE) | (HEAT if hot else 0)
        self.set("status", status)
        if status & self.get("unloading_condition") & ~OVERLOAD:
            self.set("torque_enable", 0)

    def _value(self, name: str, default: int) -> int:
        return self.get(name) if name in self.table.items else default

    def _move(self, duration_s: float) -> None:
        lowest, highest = self.get("min_position_limit"), self.get("max_position_limit")
        goal = min(max(self.get("goal_position"), lowest), highest)
        way = goal - self.position_ticks
        rest, self.velocity_ticks_s = approach(way, self._fastest_ticks_s(), duration_s)
        self.shaft_ticks += way - rest

    def _fastest_ticks_s(self) -> float:
        units = abs(self.get("profile_velocity"))
        if units:
            return units * self._velocity_unit_ticks_s()
        if not self.get("phase") & ZERO_IS_FASTEST:
            return 0.0
        coarse = self.model.coarse_velocity_rad_s
        if coarse is None:
            return _FASTEST_TICKS_S
        return self.get("velocity_limit") * coarse / self.model.rad_per_tick

    def _velocity_unit_ticks_s(self) -> float:
        coarse = self.model.coarse_velocity_rad_s
        is_fine = coarse is None or self.get("phase") & FINE_VELOCITY
        unit = self.model.velocity_unit_rad_s if is_fine or coarse is None else coarse
        return unit / self.model.rad_per_tick

    def _report(self) -> None:
        if self.broken & ANGLE_SENSOR:
            return
        self.set("present_velocity", round(self.velocity_ticks_s / self._velocity_unit_ticks_s()))
        self.set("present_position", round(self.position_ticks))
        self.set("present_load", self.load)

    def write(self, address: int, data: bytes) -> None:
        """Write registers; what is read-only, or reaches beyond the memory, stays as it is.

        What is written to the lasting settings applies at once, but is only saved while `lock` is 0.
        """
        before = self.get("torque_enable")
        written = [
            (at, value) for at, value in enumerate(data, address) if at < MEMORY and at not in self._read_only
        ]
        for at, value in written:
            self.memory[at] = value
            if at < self.table.ram_from and not self.get("lock"):
                self._power_up[at] = value
        touched = {at for at, _ in written}
        if self.table["id"].address in touched:
            self.servo_id = self.get("id")
        if self.table["torque_enable"].address in touched:
            self._switch(before)
        if self.table["goal_position"].address in touched:
            self._take_goal()
        self._protect()
        self._report()

    def _switch(self, before: int) -> None:
        """Take what was written to `torque_enable`, which clears errors whose cause is gone."""
        if self.get("torque_enable") == CENTRE_HERE:
            self.set("torque_enable", before)
            if "homing_offset" in self.table.items:
                offset = round(self.shaft_ticks - self.model.zero_ticks) % round(self.model.ticks_per_turn)
                half = self.model.zero_ticks
                self._set_lasting("homing_offset", (offset + half - 1) % (2 * half) - half + 1)
            return
        self._latched, self._overloaded_s = 0, 0.0

    def _set_lasting(self, name: str, value: int) -> None:
        self.set(name, value)
        span = slice(self.table[name].address, self.table[name].end)
        self._power_up[span] = self.memory[span]

    def _take_goal(self) -> None:
        """Let go of an overload where the goal leads away from it; switch torque on where firmware does."""
        if (self.get("goal_position") - self.get("present_position")) * self.load > 0:
            self._latched &= ~OVERLOAD
            self._overloaded_s = 0.0
        if self.torque_on_by_goal:
            self.set("torque_enable", 1)
