"""Emulated servos on a bus: what a daisy chain answers, byte for byte, and how its motors move.

In come frames and the time at which they arrive, out come the servos' answers. Registers, their limits and
locks, the bus watchdog and status packets follow the ROBOTIS e-manual. The motors are simple: they approach
the goal with a time constant, no faster than their profile or velocity limit allows. Nothing here knows a
port or a thread; `dynamixel_pty` puts a chain behind a pseudo-terminal.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drivers.dynamixel_protocol import (
    ALERT,
    BROADCAST_ID,
    HEADER,
    Instruction,
    Packet,
    Refusal,
    crc16,
    encode_status,
    fast_answer_length,
    take_packet,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from drivers.dynamixel_models import Model

POSITION_MODE, EXTENDED_MODE, CURRENT_BASED_MODE = 3, 4, 5
LAG_S = 0.02
BOOT_S = 0.2
WATCHDOG_UNIT_S = 0.02
RETURN_DELAY_UNIT_S = 2e-6
WATCHDOG_TRIPPED = 0xFF
TORQUE_ON_BY_GOAL = 0x08
MEMORY = 1024
_GOALS = ("goal_current", "goal_position")
_READ_ONLY = {"model_number", "firmware", "registered", "hardware_error"}
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
    "P": {"firmware": 12, "velocity_limit": 2900, "max_voltage_limit": 350, "present_voltage": 240},
}


class EmulatedServo:
    """One servo: its control table and its motor.

    Parameters
    ----------
    servo_id : int
        On the bus.
    model : Model
        Says which control table it has.
    settings : mapping, optional
        Registers that are not as from the factory, by name.
    position_ticks : float, optional
        Where the motor stands, as the register counts it; the centre by default.

    Attributes
    ----------
    position_ticks : float
        Where the motor is.
    mute : bool
        It acts and answers nothing.
    """

    def __init__(
        self,
        servo_id: int,
        model: Model,
        settings: Mapping[str, int] | None = None,
        position_ticks: float | None = None,
    ) -> None:
        self.servo_id = servo_id
        self.model = model
        self.table = model.table
        self.memory = bytearray(MEMORY)
        self.position_ticks = float(model.zero_ticks if position_ticks is None else position_ticks)
        self.velocity_ticks_s = 0.0
        self.mute = False
        self._registered: tuple[int, bytes] | None = None
        self._heard_s = -math.inf
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
        """Give a register's value."""
        return self.table[name].decode(self.memory)

    def set(self, name: str, value: int) -> None:
        """Set a register from inside, past all locks."""
        item = self.table[name]
        self.memory[item.address : item.end] = item.encode(value)

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
        """The alert bit of its answers."""
        return ALERT if self.get("hardware_error") else 0

    def turn_to(self, position_ticks: float) -> None:
        """Turn it by hand."""
        self.position_ticks = position_ticks
        self._report()

    def fail(self, bits: int) -> None:
        """Let hardware errors happen; those that the register `shutdown` names switch torque off."""
        self.set("hardware_error", bits)
        if bits & self.get("shutdown"):
            self.set("torque_enable", 0)

    def reboot(self) -> None:
        """Forget what is in RAM, and all whole turns; answer again after `BOOT_S`."""
        ram = self.table.ram_from
        self.memory[ram:] = self._power_up[ram:]
        lowest = self.model.zero_ticks - self.model.ticks_per_turn // 2
        self.position_ticks = lowest + (self.position_ticks - lowest) % self.model.ticks_per_turn
        self._registered = None
        self._booted_s = self._now_s + BOOT_S
        self._forget_goal()

    def _forget_goal(self) -> None:
        self.velocity_ticks_s = 0.0
        self.set("goal_position", round(self.position_ticks))
        self._report()

    def answers(self) -> bool:
        """Tell whether it is there for whoever asks."""
        return not self.mute and self._now_s >= self._booted_s

    def hear(self, now_s: float) -> None:
        """Let time pass up to an instruction packet on the bus, whomever it is for."""
        self._advance(now_s)
        self._heard_s = now_s

    def _advance(self, now_s: float) -> None:
        if now_s <= self._now_s:
            return
        armed = self.get("bus_watchdog")
        moving_s = now_s - max(self._now_s, 0.0)
        if self.torque and not self.tripped and armed:
            left_s = self._heard_s + armed * WATCHDOG_UNIT_S - self._now_s
            if now_s - self._now_s > left_s:
                moving_s = max(0.0, left_s)
                self._move(moving_s)
                self.set("bus_watchdog", WATCHDOG_TRIPPED)
        if self.torque and not self.tripped:
            self._move(moving_s)
        else:
            self.velocity_ticks_s = 0.0
        self._now_s = now_s
        self._report()

    def _move(self, duration_s: float) -> None:
        """Approach the goal: at full speed while it is far, then with the time constant `LAG_S`."""
        way = self.get("goal_position") - self.position_ticks
        fastest = self._fastest_ticks_s()
        near = fastest * LAG_S
        far_s = max(0.0, abs(way) - near) / fastest
        cruise_s = min(duration_s, far_s)
        way -= math.copysign(fastest * cruise_s, way)
        way *= math.exp(-(duration_s - cruise_s) / LAG_S)
        self.position_ticks = self.get("goal_position") - way
        self.velocity_ticks_s = math.copysign(min(fastest, abs(way) / LAG_S), way)

    def _fastest_ticks_s(self) -> float:
        units = self.get("profile_velocity") or self.get("velocity_limit")
        return units * self.model.velocity_unit_rad_s / self.model.rad_per_tick

    def _report(self) -> None:
        velocity_rad_s = self.velocity_ticks_s * self.model.rad_per_tick
        self.set("present_velocity", round(velocity_rad_s / self.model.velocity_unit_rad_s))
        self.set("present_position", round(self.position_ticks))

    def write(self, address: int, data: bytes) -> Refusal | None:
        """Write registers, or none; give the reason of a refusal."""
        end = address + len(data)
        touched = {
            name: item for name, item in self.table.items.items() if item.address < end and item.end > address
        }
        if not touched or _READ_ONLY & touched.keys() or any(name.startswith("present_") for name in touched):
            return Refusal.ACCESS
        if any(item.address < address or item.end > end for item in touched.values()):
            return Refusal.DATA_LENGTH
        if address < self.table.ram_from and self.torque:
            return Refusal.ACCESS
        values = {name: item.decode(data, address) for name, item in touched.items()}
        refusal = self._refusal(values)
        if refusal is None:
            self.memory[address:end] = data
            if "goal_position" in values and self.get("drive_mode") & TORQUE_ON_BY_GOAL:
                self.set("torque_enable", 1)
        return refusal

    def _refusal(self, values: Mapping[str, int]) -> Refusal | None:
        if self.tripped and any(name in values for name in _GOALS):
            return Refusal.DATA_RANGE
        if values.get("torque_enable") and self.get("hardware_error") & self.get("shutdown"):
            return Refusal.RESULT_FAIL
        if values.get("bus_watchdog", 0) > 127 or values.get("torque_enable", 0) > 1:
            return Refusal.DATA_RANGE
        goal = values.get("goal_position")
        limits = self.get("min_position_limit"), self.get("max_position_limit")
        if (
            goal is not None
            and self.get("operating_mode") == POSITION_MODE
            and not limits[0] <= goal <= limits[1]
        ):
            return Refusal.DATA_LIMIT
        return None

    def register(self, address: int, data: bytes) -> None:
        """Keep a write until the next action."""
        self._registered = address, data
        self.set("registered", 1)

    def act(self) -> None:
        """Do the registered write."""
        if self._registered is not None:
            self.write(*self._registered)
        self._registered = None
        self.set("registered", 0)


@dataclass(frozen=True, slots=True)
class Reply:
    """What comes back for one instruction packet, and how long the servos hesitate before it."""

    frame: bytes
    delay_s: float


@dataclass(slots=True)
class EmulatedChain:
    """Servos that share a bus.

    Attributes
    ----------
    servos : sequence of EmulatedServo
        In the order in which they answer a broadcast.
    now : callable
        Gives monotonic time in seconds.
    faults : deque of callable
        Each is applied to one reply, in turn: it gets the frame and gives what arrives of it.
    """

    servos: Sequence[EmulatedServo]
    now: Callable[[], float]
    faults: deque[Callable[[bytes], bytes]] = field(default_factory=deque)
    _by_id: dict[int, EmulatedServo] = field(init=False)

    def __post_init__(self) -> None:
        self._by_id = {servo.servo_id: servo for servo in self.servos}

    def lose_next(self, count: int = 1) -> None:
        """Lose the next replies."""
        self.faults.extend([lambda _: b""] * count)

    def garble_next(self, count: int = 1) -> None:
        """Let a bit of each of the next replies tip over."""
        self.faults.extend([_tip_a_bit] * count)

    def feed(self, received: bytearray) -> Iterator[Reply]:
        """Take what came over the wire; give a reply for each packet that is answered."""
        while (packet := take_packet(received)) is not None:
            now_s = self.now()
            for servo in self.servos:
                servo.hear(now_s)
            reply = self._answer(packet)
            if reply is None or not reply.frame:
                continue
            fault = self.faults.popleft() if self.faults else None
            yield Reply(fault(reply.frame), reply.delay_s) if fault else reply

    def _answer(self, packet: Packet) -> Reply | None:
        match packet.instruction:
            case Instruction.PING:
                return self._join(servo for servo in self._meant(packet) if servo.answers())
            case Instruction.SYNC_READ | Instruction.FAST_SYNC_READ:
                return self._answer_sync_read(packet)
            case Instruction.SYNC_WRITE:
                self._sync_write(packet.parameters)
            case Instruction.BULK_READ:
                return self._bulk_read(packet.parameters)
            case Instruction.STATUS:
                return None
            case _:
                for servo in self._meant(packet):
                    reply = self._instruct(servo, packet)
                    if packet.servo_id != BROADCAST_ID:
                        return reply
        return None

    def _meant(self, packet: Packet) -> list[EmulatedServo]:
        if packet.servo_id == BROADCAST_ID:
            return list(self.servos)
        return [self._by_id[packet.servo_id]] if packet.servo_id in self._by_id else []

    def _join(self, servos: Iterator[EmulatedServo]) -> Reply:
        """Let servos tell their model and firmware, one after the other."""
        frames, delay_s = [], 0.0
        for servo in servos:
            data = bytes(servo.memory[0:2]) + bytes([servo.get("firmware")])
            frames.append(encode_status(servo.servo_id, servo.error_byte, data))
            delay_s += _delay_s(servo)
        return Reply(b"".join(frames), delay_s)

    def _instruct(self, servo: EmulatedServo, packet: Packet) -> Reply | None:
        """Do what one servo is told, and let it answer if its status return level says so."""
        if not servo.answers():
            return None
        data, refusal, level = b"", None, servo.get("status_return_level")
        if packet.instruction == Instruction.READ:
            data = _read(servo, packet.parameters)
            level += 1
        else:
            refusal = _obey(servo, packet)
        if level < 2:
            return None
        return Reply(encode_status(servo.servo_id, servo.error_byte | (refusal or 0), data), _delay_s(servo))

    def _answer_sync_read(self, packet: Packet) -> Reply:
        ids = packet.parameters[4:]
        asked = [self._by_id.get(servo_id) for servo_id in ids]
        if packet.instruction == Instruction.FAST_SYNC_READ:
            return _fast_reply(asked, packet.parameters)
        frames, delay_s = [], 0.0
        for servo in asked:
            if servo is not None and servo.answers():
                data = _read(servo, packet.parameters)
                frames.append(encode_status(servo.servo_id, servo.error_byte, data))
                delay_s += _delay_s(servo)
        return Reply(b"".join(frames), delay_s)

    def _sync_write(self, parameters: bytes) -> None:
        address, length = _span(parameters)
        for begin in range(4, len(parameters), 1 + length):
            servo = self._by_id.get(parameters[begin])
            if servo is not None and servo.answers():
                servo.write(address, parameters[begin + 1 : begin + 1 + length])

    def _bulk_read(self, parameters: bytes) -> Reply:
        frames, delay_s = [], 0.0
        for begin in range(0, len(parameters), 5):
            servo = self._by_id.get(parameters[begin])
            if servo is not None and servo.answers():
                data = _read(servo, parameters[begin + 1 :])
                frames.append(encode_status(servo.servo_id, servo.error_byte, data))
                delay_s += _delay_s(servo)
        return Reply(b"".join(frames), delay_s)


def _tip_a_bit(frame: bytes) -> bytes:
    return frame[:-3] + bytes([frame[-3] ^ 0x10]) + frame[-2:]


def _span(parameters: bytes) -> tuple[int, int]:
    return int.from_bytes(parameters[0:2], "little"), int.from_bytes(parameters[2:4], "little")


def _read(servo: EmulatedServo, parameters: bytes) -> bytes:
    address, length = _span(parameters)
    return bytes(servo.memory[address : address + length])


def _delay_s(servo: EmulatedServo) -> float:
    return servo.get("return_delay") * RETURN_DELAY_UNIT_S


def _obey(servo: EmulatedServo, packet: Packet) -> Refusal | None:
    address, data = int.from_bytes(packet.parameters[:2], "little"), packet.parameters[2:]
    match packet.instruction:
        case Instruction.WRITE:
            return servo.write(address, data)
        case Instruction.REG_WRITE:
            servo.register(address, data)
        case Instruction.ACTION:
            servo.act()
        case Instruction.REBOOT:
            servo.reboot()
        case Instruction.FACTORY_RESET:
            return Refusal.RESULT_FAIL
        case _:
            return Refusal.INSTRUCTION
    return None


def _fast_reply(asked: Sequence[EmulatedServo | None], parameters: bytes) -> Reply:
    """Let servos add their parts to one packet; each waits for the one before it."""
    _, length = _span(parameters)
    size = fast_answer_length(len(asked), length) - len(HEADER) - 3
    frame = HEADER + bytes([BROADCAST_ID]) + size.to_bytes(2, "little") + bytes([Instruction.STATUS])
    crc = crc16(frame)
    for number, servo in enumerate(asked):
        if servo is None or not servo.answers():
            return Reply(frame if number else b"", 0.0)
        part = bytes([servo.error_byte, servo.servo_id]) + _read(servo, parameters)
        crc = crc16(part, crc)
        sealed = crc.to_bytes(2, "little")
        crc = crc16(sealed, crc)
        frame += part + sealed
    return Reply(frame, _delay_s(asked[0]) if asked[0] else 0.0)
