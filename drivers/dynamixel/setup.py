"""Prepares servos for torque: finds them, checks them against the configuration, and sets them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from ..serial_bus.models import name_of
from .chain import Chain, Servo
from .models import in_words, models
from .options import CURRENT_MODE, MODE_NUMBERS, WHERE, GainOptions, of_actuator
from .scanning import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..base import Floats
    from ..serial_bus.bus import Bus
    from ..serial_bus.line import Line
    from .options import DynamixelOptions, Place

REVERSE, SLAVE, TIME_BASED, TORQUE_ON_BY_GOAL = 0x01, 0x02, 0x04, 0x08
BAD_DRIVE_MODES = {
    SLAVE: "follows another servo (drive mode, bit 1)",
    TIME_BASED: "takes its profile as times (drive mode, bit 2)",
    TORQUE_ON_BY_GOAL: "switches torque on by itself with any goal (drive mode, bit 3)",
}
ALL_STATUS = 2
BOOT_S = 0.5
RETURN_DELAY_UNIT_US = 2
MODE_NAMES = {number: name for name, number in MODE_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class Wish:
    """A lasting setting that is wrong, and its right value."""

    servo: Servo
    register: str
    value: int
    problem: str


def raise_all(problems: Sequence[DriverError]) -> None:
    """Raise the only problem, or one error with a line for each; do nothing if there are none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        where = problems[0].where
        raise DriverError(where, "\n".join(map(str, problems)).removeprefix(f"{where}: "))


def find_servos(buses: Sequence[Bus], places: Sequence[Place], options: DynamixelOptions) -> list[Servo]:
    """Find all servos, and check their models.

    Raises DriverError if servos are missing; with all of them and what else is on the bus. If models are not
    as expected or not known; with all of those.
    """
    found = {place.index: buses[place.bus].ping(place.servo_id) for place in places}
    missing = [place for place in places if found[place.index] is None]
    if missing:
        raise _not_found(buses, places, missing)
    servos, problems = [], []
    for place in places:
        where = f"{buses[place.bus].port} servo {place.servo_id} ({place.actuator})"
        answer = found[place.index]
        model = models().get(answer.model_number) if answer else None
        expected = of_actuator(options.models, place.actuator)
        if answer is None or model is None:
            number = answer.model_number if answer else 0
            problems.append(
                DriverError(
                    where,
                    f"is of an unknown model, {number}",
                    "docs/dynamixel.md lists the known ones",
                    "add it to the tables, or use another servo",
                )
            )
            continue
        if expected is not None and model.name != expected:
            problems.append(
                DriverError(
                    where, f"is {model.name}", f"`models` says {expected}", "correct `models` or `ids`"
                )
            )
        bus = buses[place.bus]
        servos.append(Servo(place.index, place.actuator, where, place.servo_id, model, answer.firmware, bus))
    raise_all(problems)
    return servos


def _not_found(buses: Sequence[Bus], places: Sequence[Place], missing: Sequence[Place]) -> DriverError:
    names = ", ".join(
        f"{place.actuator} ({buses[place.bus].port} servo {place.servo_id})" for place in missing
    )
    wanted = {(place.bus, place.servo_id) for place in places}
    others = [
        f"{name_of(one.model_number, models())} as servo {one.servo_id} of {buses[number].port}"
        for number in sorted({place.bus for place in missing})
        for one in buses[number].ping_all()
        if (number, one.servo_id) not in wanted
    ]
    also = f", and there is also {', '.join(others)}" if others else ""
    return DriverError(
        WHERE,
        f"no answer from {names}",
        f"{len(places) - len(missing)} of {len(places)} answered{also}",
        "check cables, power, ids and the baud rate; `motiond scan` finds servos",
    )


def make_chains(
    buses: Sequence[Bus], places: Sequence[Place], servos: Sequence[Servo], *, follow_velocity: bool
) -> list[Chain]:
    """Group servos of one bus and one series into chains."""
    groups: dict[tuple[int, str], list[Servo]] = {}
    for servo in servos:
        key = places[servo.index].bus, servo.model.table.series
        groups.setdefault(key, []).append(servo)
    return [Chain(buses[bus], group, follow_velocity=follow_velocity) for (bus, _), group in groups.items()]


def settle(chain: Chain, options: DynamixelOptions) -> None:
    """Check a chain's lasting settings against the configuration, and correct them with `write_eeprom`.

    Raises DriverError with every setting that is wrong and may not be written.
    """
    refusals = list(_refused(chain))
    wishes = list(_wishes(chain, options))
    if not options.write_eeprom:
        refusals += [
            DriverError(
                wish.servo.where,
                wish.problem,
                "",
                "set it with DYNAMIXEL Wizard, or let `write_eeprom` do it",
            )
            for wish in wishes
        ]
    raise_all(refusals)
    if wishes:
        _write_lasting(chain, wishes)


def _refused(chain: Chain) -> Iterator[DriverError]:
    for servo in chain.servos:
        if int(servo.firmware) < servo.model.table.watchdog_from:
            yield DriverError(
                servo.where,
                f"its firmware {servo.firmware} has no bus watchdog",
                "nothing would stop it when setpoints end",
                f"update it to {servo.model.table.watchdog_from} or newer with DYNAMIXEL Wizard",
            )
    for servo, level in zip(chain.servos, chain.get("status_return_level"), strict=True):
        if level != ALL_STATUS:
            yield DriverError(
                servo.where,
                f"answers only some instructions (status return level {level})",
                "its settings cannot be verified",
                "set it to 2 with DYNAMIXEL Wizard",
            )


def _wishes(chain: Chain, options: DynamixelOptions) -> Iterator[Wish]:
    modes, drives = chain.get("operating_mode"), chain.get("drive_mode")
    offsets, delays = chain.get("homing_offset"), chain.get("return_delay")
    for servo, mode, drive, offset, delay in zip(chain.servos, modes, drives, offsets, delays, strict=True):
        if mode != CURRENT_MODE or options.gravity is None:  # or else it waits for torque to go off
            yield from _mode_wish(servo, mode, of_actuator(options.operating_mode, servo.actuator))
        bad = [text for bit, text in BAD_DRIVE_MODES.items() if drive & bit]
        if bad:
            yield Wish(servo, "drive_mode", drive & REVERSE, " and ".join(bad))
        wanted = of_actuator(options.homing_offset_ticks, servo.actuator)
        if isinstance(wanted, int) and offset != wanted:
            yield Wish(
                servo, "homing_offset", wanted, f"its homing offset is {offset}, and {wanted} is configured"
            )
        wanted = of_actuator(options.return_delay_us, servo.actuator)
        if isinstance(wanted, int) and delay * RETURN_DELAY_UNIT_US != wanted:
            text = f"its return delay is {delay * RETURN_DELAY_UNIT_US} µs, and {wanted} is configured"
            yield Wish(servo, "return_delay", wanted // RETURN_DELAY_UNIT_US, text)


def put_back_modes(chain: Chain) -> bool:
    """Set servos that were left guided to the position mode; return whether some hold, and have to wait.

    A mode is written without torque only, and what holds may fall.
    """
    modes, held = chain.get("operating_mode"), chain.get("torque_enable")
    left = [(one, on) for one, mode, on in zip(chain.ids, modes, held, strict=True) if mode == CURRENT_MODE]
    chain.set("operating_mode", {one: MODE_NUMBERS["position"] for one, on in left if not on})
    return any(on for _, on in left)


def _mode_wish(servo: Servo, mode: int, wanted: object) -> Iterator[Wish]:
    name = MODE_NAMES.get(mode, f"mode {mode}, which takes no positions")
    if wanted is None and mode not in MODE_NAMES:
        wanted = "position"
    if wanted is not None and MODE_NUMBERS[str(wanted)] != mode:
        yield Wish(
            servo, "operating_mode", MODE_NUMBERS[str(wanted)], f"is in {name}, and must be in {wanted}"
        )


def _write_lasting(chain: Chain, wishes: Iterable[Wish]) -> None:
    held = [servo for servo, on in zip(chain.servos, chain.get("torque_enable"), strict=True) if on]
    changed = {wish.servo.servo_id for wish in wishes}
    raise_all(
        [
            DriverError(
                servo.where, "its lasting settings cannot be written", "its torque is on", "switch it off"
            )
            for servo in held
            if servo.servo_id in changed
        ]
    )
    by_register: dict[str, dict[int, int]] = {}
    for wish in wishes:
        by_register.setdefault(wish.register, {})[wish.servo.servo_id] = wish.value
    for register, values in by_register.items():
        chain.set(register, values)


def apply_settings(chain: Chain, options: DynamixelOptions) -> None:
    """Write the settings that servos forget without power (profile, gains, goal current), and read them back.

    Raises DriverError if a servo does not accept its value.
    """
    for register, values in _settings(chain, options).items():
        chain.set(register, values)


def profile_velocity_units(servo: Servo, options: DynamixelOptions) -> int:
    """Return the configured profile velocity in the register's unit."""
    return _units(options.profile_velocity_rad_s, servo, servo.model.velocity_unit_rad_s)


def profiles_of(servos: Sequence[Servo], options: DynamixelOptions) -> tuple[Floats, Floats]:
    """Return the profiles that servos have, rounded as their registers are; 0 where there is none.

    Returns `velocity`, `acceleration` (servos,): in rad/s and rad/s².
    """
    velocity = [profile_velocity_units(one, options) * one.model.velocity_unit_rad_s for one in servos]
    acceleration = [_acceleration_units(one, options) * one.model.acceleration_unit_rad_s2 for one in servos]
    return np.array(velocity), np.array(acceleration)


def _acceleration_units(servo: Servo, options: DynamixelOptions) -> int:
    return _units(options.profile_acceleration_rad_s2, servo, servo.model.acceleration_unit_rad_s2)


def _settings(chain: Chain, options: DynamixelOptions) -> Mapping[str, Mapping[int, int]]:
    settings: dict[str, dict[int, int]] = {
        "profile_acceleration": {one.servo_id: _acceleration_units(one, options) for one in chain.servos},
        "profile_velocity": {one.servo_id: profile_velocity_units(one, options) for one in chain.servos},
    }
    for gain in GainOptions.model_fields:
        values = {
            one.servo_id: of_actuator(getattr(options.gains, gain), one.actuator) for one in chain.servos
        }
        settings[f"{gain}_gain"] = {one: value for one, value in values.items() if isinstance(value, int)}
    settings["goal_current"] = {
        one.servo_id: round(current_a / one.model.current_unit_a)
        for one in chain.servos
        if one.model.current_unit_a is not None
        and isinstance(current_a := of_actuator(options.goal_current_a, one.actuator), float)
    }
    return settings


def _units(option: object, servo: Servo, unit: float) -> int:
    """Return an option in the register's unit; more than 0 stays at least 1, as 0 means no limit."""
    value = of_actuator(option, servo.actuator)
    if not isinstance(value, float) or value == 0:
        return 0
    return max(1, round(value / unit))


def failures(chain: Chain) -> list[tuple[Servo, int]]:
    """Return the servos that have a hardware error, with its bits."""
    return [pair for pair in zip(chain.servos, chain.get("hardware_error"), strict=True) if pair[1]]


def reboot_failed(chain: Chain) -> Iterator[str]:
    """Restart the servos that have a hardware error, yield a notice of each, and wait until they are back."""
    broken = failures(chain)
    for servo, bits in broken:
        chain.bus.reboot(servo.servo_id)
        yield f"{servo.where}: restarted, because it reported {in_words(bits)}"
    if broken:
        chain.bus.sleep(BOOT_S)


def refuse_failed(chain: Chain) -> None:
    """Raise if servos have shut down. Raises DriverError with each such servo and what it reports."""
    masks = dict(zip(chain.ids, chain.get("shutdown"), strict=True))
    raise_all([failed(servo, bits) for servo, bits in failures(chain) if bits & masks[servo.servo_id]])


def failed(servo: Servo, bits: int) -> DriverError:
    """Return the error of a servo that has shut down, with how to restart it."""
    bus = servo.bus
    return DriverError(
        servo.where,
        f"reports {in_words(bits)}",
        "it has switched its torque off and ignores goals",
        f"remove the cause, then `motiond reboot ROBOT {servo.actuator}`, or, where no daemon has the port, "
        f"`motiond scan {bus.port} --baud {bus.baud_rate} --reboot {servo.servo_id}`",
    )


STILL_BOOTING_TRIES = 5


def restart(
    places: Sequence[Place],
    options: DynamixelOptions,
    buses: Sequence[Bus],
    open_line: Callable[[str, int], Line],
) -> None:
    """Restart servos, and wait until they answer again.

    Raises DriverError if a port cannot be opened, a servo holds, so that it would drop (then none is
    restarted), or does not answer.
    """
    with ExitStack() as stack:
        used = {place.bus for place in places}
        ports = {number: options.ports[number] for number in used}
        bus_of = {
            number: buses[number]
            if buses
            else stack.enter_context(opened(one.port, one.baud_rate, open_line))
            for number, one in ports.items()
        }
        raise_all([problem for one in places if (problem := _hindrance(one, bus_of[one.bus])) is not None])
        for place in places:
            bus_of[place.bus].reboot(place.servo_id)
        for bus in list(bus_of.values())[:1]:
            bus.sleep(BOOT_S)
        silent = [one for one in places if not bus_of[one.bus].is_there(one.servo_id, STILL_BOOTING_TRIES)]
        raise_all([_silent(one, bus_of[one.bus]) for one in silent])


def _hindrance(place: Place, bus: Bus) -> DriverError | None:
    """Return why a servo is not to be restarted."""
    found = bus.ping(place.servo_id)
    if found is None:
        return _silent(place, bus)
    model = models().get(found.model_number)
    if model is None:
        return None
    torque = model.table["torque_enable"]
    if not torque.decode(bus.read(place.servo_id, torque.address, torque.size), torque.address):
        return None
    hint = "support it, reset and disable the robot, then restart it"
    return DriverError(_where(place, bus), "its torque is on", "a restart would let it drop", hint)


def _silent(place: Place, bus: Bus) -> DriverError:
    return DriverError(_where(place, bus), "no answer", "", "check its cable, power and id")


def _where(place: Place, bus: Bus) -> str:
    return f"{bus.port} servo {place.servo_id} ({place.actuator})"
