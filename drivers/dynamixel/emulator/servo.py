"""An emulated servo: its control table, with the limits and locks of the real one, and its motor.

Registers and refusals are as in the ROBOTIS e-manual. The motor is simple: it approaches the goal with a time
constant, no faster than its profile or velocity limit allows. `chain` puts servos on a bus.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...serial_bus.emulator import approach
from ..protocol import ALERT, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...serial_bus.models import Item
    from ..models import DynamixelModel

CURRENT_MODE, POSITION_MODE, EXTENDED_MODE, CURRENT_BASED_MODE = 0, 3, 4, 5
MODES = {CURRENT_MODE, 1, POSITION_MODE, EXTENDED_MODE, CURRENT_BASED_MODE, 16}
TICKS_S_PER_CURRENT = 1.0
"""How fast a current, in its register's unit, that carries nothing moves the motor against its friction."""
BOOT_S = 0.2
WATCHDOG_UNIT_S = 0.02
WATCHDOG_TRIPPED = 0xFF
TORQUE_ON_BY_GOAL = 0x08
MEMORY = 1024
_GOALS = ("goal_current", "goal_position")
_READ_ONLY = {"model_number", "firmware", "hardware_error"}
_FACTORY = {
    "firmware": 52,
    "baud_rate": 1,
    "return_delay": 250,
    "operating_mode": POSITION_MODE,
    "temperature_limit": 80,
    "max_voltage_limit": 160,
    "min_voltage_limit": 95,
    "velocity_limit": 350,
    "current_limit": 1193,
    "shutdown": 52,
    "status_return_level": 2,
    "velocity_i_gain": 1920,
    "velocity_p_gain": 100,
    "position_p_gain": 800,
    "present_voltage": 120,
    "present_temperature": 30,
}
_FACTORY_BY_SERIES = {
    "P": {"firmware": 12, "velocity_limit": 2900, "max_voltage_limit": 350, "present_voltage": 240}
}


class EmulatedServo:
    """One servo: its control table and its motor.

    `settings`: registers that differ from the factory's values, by name. `position_ticks`: where the motor
    is, in ticks; the centre by default. `hand_ticks_s`: how fast a hand moves the motor wherever it gives
    way: without torque, or in the current mode; None where there is no hand. `weigh`: returns the current
    that carries what the motor does, in its register's unit, at a position in ticks.
    """

    def __init__(
        self,
        servo_id: int,
        model: DynamixelModel,
        settings: Mapping[str, int] | None = None,
        position_ticks: float | None = None,
    ) -> None:
        self.servo_id = servo_id
        self.model = model
        self.table = model.table
        self.memory = bytearray(MEMORY)
        self._spans = {name: (slice(one.address, one.end), one) for name, one in self.table.items.items()}
        self._touched: dict[tuple[int, int], Mapping[str, Item] | Refusal] = {}
        self.position_ticks = float(model.zero_ticks if position_ticks is None else position_ticks)
        self.velocity_ticks_s = 0.0
        self.mute = False
        self.hand_ticks_s: float | None = None
        self.weigh: Callable[[float], float] | None = None
        self._received_s = -math.inf
        self._now_s = -math.inf
        self._booted_s = -math.inf
        half_turn = model.ticks_per_turn // 2
        lowest = model.zero_ticks - half_turn
        settings = {
            **_FACTORY,
            **_FACTORY_BY_SERIES.get(model.table.series, {}),
            "id": servo_id,
            "model_number": model.number,
            "min_position_limit": lowest,
            "max_position_limit": lowest + model.ticks_per_turn - 1,
            **(settings or {}),
        }
        for name, value in settings.items():
            self.set(name, value)
        self._power_up = bytes(self.memory)
        self._forget_goal()

    def get(self, name: str) -> int:
        """Return a register's value."""
        span, item = self._spans[name]
        return int.from_bytes(self.memory[span], "little", signed=item.signed)

    def set(self, name: str, value: int) -> None:
        """Set a register regardless of all locks."""
        span, item = self._spans[name]
        self.memory[span] = item.encode(value)

    @property
    def torque(self) -> bool:
        """Whether the motor holds."""
        return self.get("torque_enable") == 1

    @property
    def tripped(self) -> bool:
        """Whether the bus watchdog has stopped the motor."""
        return self.get("bus_watchdog") == WATCHDOG_TRIPPED

    @property
    def error_byte(self) -> int:
        """The error byte of its answers: the alert bit, or 0."""
        return ALERT if self.get("hardware_error") else 0

    def turn_to(self, position_ticks: float) -> None:
        """Move the motor, as by hand."""
        self.position_ticks = position_ticks
        self._report()

    def fail(self, bits: int) -> None:
        """Set hardware errors; those in the register `shutdown` switch torque off."""
        self.set("hardware_error", bits)
        if bits & self.get("shutdown"):
            self.set("torque_enable", 0)

    def reboot(self) -> None:
        """Restart: forget RAM and whole turns, and answer again after `BOOT_S`."""
        ram = self.table.ram_from
        self.memory[ram:] = self._power_up[ram:]
        lowest = self.model.zero_ticks - self.model.ticks_per_turn // 2
        self.position_ticks = lowest + (self.position_ticks - lowest) % self.model.ticks_per_turn
        self._booted_s = self._now_s + BOOT_S
        self._forget_goal()

    def _forget_goal(self) -> None:
        self.velocity_ticks_s = 0.0
        self.set("goal_position", round(self.position_ticks))
        self._report()

    def attends(self, now_s: float) -> bool:
        """Advance to a time, and return whether the servo answers then."""
        self.advance(now_s)
        return not self.mute and now_s >= self._booted_s

    def receive(self, now_s: float) -> None:
        """Register an instruction packet to any servo on the bus, which feeds the watchdog."""
        if now_s - self._received_s > WATCHDOG_UNIT_S:
            self.advance(now_s)
        self._received_s = now_s

    def advance(self, now_s: float) -> None:
        """Move the motor and run the watchdog up to a time."""
        if now_s <= self._now_s:
            return
        gives_way = not self.torque or (self.get("operating_mode") == CURRENT_MODE and not self.tripped)
        until_s = now_s
        if self.torque:
            until_s = self._trip(now_s)
        duration_s = max(0.0, until_s - max(self._now_s, 0.0))
        if gives_way:
            self._give_way(duration_s if math.isfinite(self._now_s) else 0.0)
        else:
            self._move(duration_s)
        self._now_s = now_s
        self._report()

    def _trip(self, now_s: float) -> float:
        """Return the time up to which the motor moves; trip the watchdog if it runs out before `now_s`."""
        armed = self.get("bus_watchdog")
        if armed == WATCHDOG_TRIPPED:
            return self._now_s
        runs_out_s = self._received_s + armed * WATCHDOG_UNIT_S
        if not armed or now_s <= runs_out_s:
            return now_s
        self.set("bus_watchdog", WATCHDOG_TRIPPED)
        return runs_out_s

    def _give_way(self, duration_s: float) -> None:
        """Follow a hand, or else what the current does not carry."""
        if self.hand_ticks_s is None:
            carried = self.get("goal_current") if self.torque else 0
            weight = 0.0 if self.weigh is None else self.weigh(self.position_ticks)
            self.velocity_ticks_s = (carried - weight) * TICKS_S_PER_CURRENT
        else:
            self.velocity_ticks_s = self.hand_ticks_s
        self.position_ticks += self.velocity_ticks_s * duration_s

    def _move(self, duration_s: float) -> None:
        way = self.get("goal_position") - self.position_ticks
        rest, self.velocity_ticks_s = approach(way, self._fastest_ticks_s(), duration_s)
        self.position_ticks += way - rest

    def _fastest_ticks_s(self) -> float:
        units = self.get("profile_velocity") or self.get("velocity_limit")
        return units * self.model.velocity_unit_rad_s / self.model.rad_per_tick

    def _report(self) -> None:
        velocity_rad_s = self.velocity_ticks_s * self.model.rad_per_tick
        self.set("present_velocity", round(velocity_rad_s / self.model.velocity_unit_rad_s))
        self.set("present_position", round(self.position_ticks))

    def write(self, address: int, data: bytes) -> Refusal | None:
        """Write all registers or none, and return the reason of a refusal."""
        touched = self._touched.get((address, len(data)))
        if touched is None:
            touched = self._touched[address, len(data)] = self._touched_by(address, address + len(data))
        if isinstance(touched, Refusal):
            return touched
        if address < self.table.ram_from and self.torque:
            return Refusal.ACCESS
        values = {name: item.decode(data, address) for name, item in touched.items()}
        refusal = self._refusal(values)
        if refusal is None:
            self.memory[address : address + len(data)] = data
            if "operating_mode" in values:
                self.set("goal_current", 0)
            if "goal_position" in values and self.get("drive_mode") & TORQUE_ON_BY_GOAL:
                self.set("torque_enable", 1)
        return refusal

    def _touched_by(self, address: int, end: int) -> Mapping[str, Item] | Refusal:
        """Return the registers that a write would change, or why it can never succeed."""
        touched = {
            name: item for name, item in self.table.items.items() if item.address < end and item.end > address
        }
        is_locked = any(name in _READ_ONLY or name.startswith("present_") for name in touched)
        if not touched or is_locked:
            return Refusal.ACCESS
        if any(item.address < address or item.end > end for item in touched.values()):
            return Refusal.DATA_LENGTH
        return touched

    def _refusal(self, values: Mapping[str, int]) -> Refusal | None:
        if self.tripped and any(name in values for name in _GOALS):
            return Refusal.DATA_RANGE
        if values.get("torque_enable") and self.get("hardware_error") & self.get("shutdown"):
            return Refusal.RESULT_FAIL
        if values.get("bus_watchdog", 0) > 127 or values.get("torque_enable", 0) > 1:
            return Refusal.DATA_RANGE
        if values.get("operating_mode", POSITION_MODE) not in MODES:
            return Refusal.DATA_RANGE
        return Refusal.DATA_LIMIT if self._is_beyond(values) else None

    def _is_beyond(self, values: Mapping[str, int]) -> bool:
        """Return whether a value is beyond the limit that another register sets."""
        if values.get("profile_velocity", 0) > self.get("velocity_limit"):
            return True
        if abs(values.get("goal_current", 0)) > self.get("current_limit"):
            return True
        goal = values.get("goal_position")
        mode = self.get("operating_mode")
        if goal is None or mode == CURRENT_MODE:
            return False
        if mode != POSITION_MODE:
            return abs(goal) > self.model.farthest_ticks
        return not self.get("min_position_limit") <= goal <= self.get("max_position_limit")
