"""What is refused, set and cleared in servos before they hold."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..base import DriverError
from ..serial_bus.options import of_actuator
from ..serial_bus.restarting import silent_at
from ..serial_bus.setup import (
    Wish,
    common_wishes,
    failed,
    profile_and_gains,
    raise_all,
    refused_status_levels,
)
from .family import FEETECH
from .models import COUNTS_TURNS, FINE_VELOCITY, POSITION_MODE, ZERO_IS_FASTEST, models
from .protocol import BROADCAST_ID, Instruction, encode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.chain import Chain, Servo
    from ..serial_bus.models import Item, Model
    from ..serial_bus.options import Place
    from .calibration import Calibrated
    from .options import FeetechOptions

ALL_STATUS = 1
FULL_TORQUE = 1000
_TO_NOBODY = bytes([42, 2])
"""Address and length of a goal, and no servo."""
_NEEDED = {
    "homing_offset_ticks": "homing_offset",
    "profile_acceleration_rad_s2": "profile_acceleration",
    "torque_limit": "torque_limit",
}
"""The registers that options need, which not all series have."""


def refuse_echo(bus: Bus) -> None:
    """Raise DriverError if a port returns what is sent, as questions look like answers in this protocol."""
    question = encode(BROADCAST_ID, Instruction.SYNC_WRITE, _TO_NOBODY)
    bus.send(question)
    if bus.receive(len(question), bus.deadline_s(len(question), len(question), 0.0)).startswith(question):
        raise DriverError(
            bus.port,
            "its adapter returns what is sent",
            "questions look like answers",
            "use an adapter for half-duplex buses, or one that can be set not to",
        )


def find_units(servo: Servo) -> Model:
    """Return a servo's model with the unit of velocity that its register `phase` says."""
    model = models()[servo.model.number]
    if model.coarse_velocity_rad_s is None or servo.read("phase") & FINE_VELOCITY:
        return model
    return replace(model, velocity_unit_rad_s=model.coarse_velocity_rad_s)


@contextmanager
def unlocked(chain: Chain, ids: Collection[int]) -> Iterator[None]:
    """Have the lasting settings of some servos unlocked as long as the context lasts."""
    chain.set("lock", dict.fromkeys(ids, 0))
    try:
        yield
    finally:
        chain.write("lock", dict.fromkeys(ids, 1))


def lock(place: Place, bus: Bus, value: int) -> int:
    """Lock or unlock a servo's lasting settings; return what it was before, 1 where it does not answer."""
    try:
        servo = _servo(place, bus)
        before = servo.read("lock")
        servo.write("lock", value)
    except DriverError:
        return 1
    return before


def refused(
    chain: Chain, options: FeetechOptions, calibration: Mapping[str, Calibrated]
) -> Iterator[DriverError]:
    """Yield what keeps servos from being driven, and is not to be corrected."""
    yield from refused_status_levels(chain, ALL_STATUS, FEETECH)
    for servo in chain.servos:
        for option, register in _NEEDED.items():
            if of_actuator(getattr(options, option), servo.actuator) and register not in chain.table:
                reason = f"a {servo.model.name} has no such register"
                yield DriverError(servo.where, f"takes no `{option}`", reason, "leave it out")
    yield from _too_much(chain, options)
    ends = chain.get("min_position_limit"), chain.get("max_position_limit")
    for servo, lowest, highest in zip(chain.servos, *ends, strict=True):
        if lowest >= highest and servo.actuator not in calibration:
            yield DriverError(
                servo.where,
                f"has no position limits ({lowest} to {highest}), so that it turns without end",
                "its turns are lost with its power",
                f"set them with {FEETECH.tool}, or by `calibration` with `write_eeprom`",
            )


def _too_much(chain: Chain, options: FeetechOptions) -> Iterator[DriverError]:
    """Yield a refusal for each velocity and acceleration that is more than the register takes."""
    profiles = (
        ("velocity", "rad/s", options.profile_velocity_rad_s),
        ("acceleration", "rad/s²", options.profile_acceleration_rad_s2),
    )
    for kind, unit, option in profiles:
        if (item := chain.table.items.get(f"profile_{kind}")) is None:
            continue
        for servo in chain.servos:
            model, wanted = servo.model, of_actuator(option, servo.actuator)
            step = model.velocity_unit_rad_s if kind == "velocity" else model.acceleration_unit_rad_s2
            most = (step or 0.0) * _most(item)
            if isinstance(wanted, float) and wanted > most:
                problem = f"takes a profile {kind} of at most {most:.1f} {unit}"
                hint = "lower it, or set 0 for no limit"
                yield DriverError(servo.where, problem, f"{wanted:g} is configured", hint)


def _most(item: Item) -> int:
    """Return the largest value of a register; one of a byte has 254 for the largest."""
    bits = 8 * item.size if item.sign_bit is None else item.sign_bit
    return (1 << bits) - (2 if item.size == 1 else 1)


def wishes(chain: Chain, options: FeetechOptions, calibration: Mapping[str, Calibrated]) -> Iterator[Wish]:
    """Yield lasting settings that are not as configured. `options`: with the calibration."""
    delays = chain.get("return_delay")
    modes, phases, offsets = (_of_all(chain, name) for name in ("operating_mode", "phase", "homing_offset"))
    lowest, highest = chain.get("min_position_limit"), chain.get("max_position_limit")
    for at, servo in enumerate(chain.servos):
        if modes[at] != POSITION_MODE:
            text = f"is in mode {modes[at]}, and must be in the position mode"
            yield Wish(servo, "operating_mode", POSITION_MODE, text)
        if "operating_mode" in chain.table and phases[at] & COUNTS_TURNS:
            text = "counts turns (phase, bit 4), which it loses with its power"
            yield Wish(servo, "phase", phases[at] & ~COUNTS_TURNS, text)
        own = (
            options
            if "homing_offset" in chain.table
            else options.model_copy(update={"homing_offset_ticks": None})
        )
        yield from common_wishes(servo, offsets[at], delays[at], own)
        if (joint := calibration.get(servo.actuator)) is not None:
            yield from _range_wish(servo, "min_position_limit", "lower", lowest[at], joint.range_min)
            yield from _range_wish(servo, "max_position_limit", "upper", highest[at], joint.range_max)


def _of_all(chain: Chain, register: str) -> list[int]:
    """Return a register of all servos; 0 where the series has none."""
    return chain.get(register) if register in chain.table else [0] * len(chain.ids)


def _range_wish(servo: Servo, register: str, end: str, stands: int, wanted: int) -> Iterator[Wish]:
    if stands != wanted:
        text = f"its {end} position limit is {stands}, and {wanted} is configured"
        yield Wish(servo, register, wanted, text)


def settings(chain: Chain, options: FeetechOptions) -> Mapping[str, Mapping[int, int]]:
    """Return what is written with each enable, by register and id; locked first, so that nothing is saved."""
    written: dict[str, Mapping[int, int]] = {"lock": dict.fromkeys(chain.ids, 1)}
    written.update(profile_and_gains(chain, options))
    written["profile_velocity"] = dict(_velocities(chain, written["profile_velocity"]))
    limits = {one.servo_id: of_actuator(options.torque_limit, one.actuator) for one in chain.servos}
    written["torque_limit"] = {
        one: max(1, round(limit * FULL_TORQUE)) for one, limit in limits.items() if isinstance(limit, float)
    }
    return written


def _velocities(chain: Chain, configured: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the velocity of each servo; for none, 0 or the highest, by what the servo takes 0 for."""
    phases, highest = chain.get("phase"), _of_all(chain, "velocity_limit")
    for servo, phase, most in zip(chain.servos, phases, highest, strict=True):
        units = configured[servo.servo_id]
        if units or phase & ZERO_IS_FASTEST:
            yield servo.servo_id, units
        elif most:
            yield servo.servo_id, round(most * velocity_limit_units(servo))


def velocity_limit_units(servo: Servo) -> float:
    """Return one unit of the register `velocity_limit` in units of velocity."""
    coarse = models()[servo.model.number].coarse_velocity_rad_s
    return 1.0 if coarse is None else coarse / servo.model.velocity_unit_rad_s


def clear_errors(places: Sequence[Place], bus_of: Mapping[int, Bus]) -> Mapping[int, int]:
    """End errors that servos keep; one that holds is held where it is, from then on with all its torque.

    Returns the goals, in ticks, of those that hold, by the actuators' indexes. Raises DriverError if servos
    do not answer, keep their errors, or would leave the place where they hold; with all of them.
    """
    goals, problems = {}, []
    for place in places:
        try:
            goal = _clear(place, bus_of[place.bus])
        except DriverError as error:
            problems.append(error)
            continue
        if goal is not None:
            goals[place.index] = goal
    raise_all(problems)
    return goals


def _clear(place: Place, bus: Bus) -> int | None:
    servo = _servo(place, bus)
    torque, goal = servo.read("torque_enable"), None
    if torque:
        _refuse_lost(servo)
        goal = servo.read("present_position")
        _refuse_beyond(servo, goal)
        servo.write("goal_position", goal)
    servo.write("torque_enable", torque)
    bits = servo.read(FEETECH.error_register)
    if bits & (servo.read(FEETECH.shutdown_register) | FEETECH.fatal):
        raise failed(servo, bits, FEETECH)
    return goal


def _refuse_lost(servo: Servo) -> None:
    """Raise DriverError if a servo does not know where it is, and so not where it would hold."""
    bits = servo.read(FEETECH.error_register)
    if bits & FEETECH.fatal:
        raise failed(servo, bits, FEETECH)


def _refuse_beyond(servo: Servo, position: int) -> None:
    """Raise DriverError if a servo is beyond its own limits, where it takes no goal."""
    lowest, highest = servo.read("min_position_limit"), servo.read("max_position_limit")
    if not lowest <= position <= highest:
        raise DriverError(
            servo.where,
            f"is at {position} ticks, beyond its own limits, {lowest} and {highest}",
            "it takes no goal there, and would move to the limit at once with all its torque",
            f"turn it back by hand, or widen the limits with {FEETECH.tool}",
        )


def _servo(place: Place, bus: Bus) -> Servo:
    found = bus.ping(place.servo_id)
    model = FEETECH.models().get(found.model_number) if found else None
    if found is None or model is None:
        raise silent_at(place, bus)
    return place.servo(bus, model, found.firmware)
