"""Prepares servos for torque: finds them, checks them against the configuration, and sets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..base import DriverError
from .chain import Chain, Servo
from .models import name_of
from .options import of_actuator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ..base import Floats
    from .bus import Bus
    from .family import Family
    from .options import Place, SerialOptions

SomeChain = TypeVar("SomeChain", bound=Chain)
RETURN_DELAY_UNIT_US = 2
SWITCH_OFF = "support the robot, then switch its power off and on"
"""What releases a servo while no driver is open."""


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
        text = "\n".join(map(str, problems)).removeprefix(f"{where}: ")
        actuators = dict.fromkeys(name for problem in problems for name in problem.actuators)
        raise DriverError(where, text, actuators=[*actuators])


def find_servos(
    buses: Sequence[Bus], places: Sequence[Place], options: SerialOptions, family: Family
) -> list[Servo]:
    """Find all servos, and check their models.

    Raises DriverError if servos are missing; with all of them and what else is on the bus. If models are not
    as expected or not known; with all of those.
    """
    servos: list[Servo] = []
    problems: list[DriverError] = []
    missing: list[Place] = []
    damaged: list[Place] = []
    for place in places:
        bus = buses[place.bus]
        answer = bus.ping(place.servo_id)
        if answer is None:
            (damaged if bus.heard_from(place.servo_id) else missing).append(place)
            continue
        model, expected = (
            family.models().get(answer.model_number),
            of_actuator(options.models, place.actuator),
        )
        if model is None:
            problem = f"is of an unknown model, {answer.model_number}"
            known, hint = f"{family.page} lists the known ones", "add it to the tables, or use another servo"
            problems.append(DriverError(place.where(bus), problem, known, hint))
            continue
        if expected is not None and model.name != expected:
            reason, hint = f"`models` says {expected}", "correct `models` or `ids`"
            problems.append(DriverError(place.where(bus), f"is {model.name}", reason, hint))
        servos.append(place.servo(bus, model, answer.firmware))
    if missing or damaged:
        raise _not_found(buses, places, missing, damaged, family)
    raise_all(problems)
    return servos


def _not_found(
    buses: Sequence[Bus],
    places: Sequence[Place],
    missing: Sequence[Place],
    damaged: Sequence[Place],
    family: Family,
) -> DriverError:
    def named(some: Sequence[Place]) -> str:
        return ", ".join(
            f"{place.actuator} ({buses[place.bus].port} servo {place.servo_id})" for place in some
        )

    problems = [f"no answer from {named(missing)}"] if missing else []
    if damaged:
        problems.append(f"no sound answer from {named(damaged)}, as where several servos have one id")
    wanted = {(place.bus, place.servo_id) for place in places}
    others = [
        f"{name_of(one.model_number, family.models())} as servo {one.servo_id} of {buses[number].port}"
        for number in sorted({place.bus for place in missing})
        for one in buses[number].ping_all()
        if (number, one.servo_id) not in wanted
    ]
    also = f", and there is also {', '.join(others)}" if others else ""
    return DriverError(
        family.where,
        "; ".join(problems),
        f"{len(places) - len(missing) - len(damaged)} of {len(places)} answered{also}",
        "check cables, power, ids and the baud rate; `motiond scan` finds servos",
        actuators=[place.actuator for place in (*missing, *damaged)],
    )


def make_chains(
    buses: Sequence[Bus],
    places: Sequence[Place],
    servos: Sequence[Servo],
    make_chain: Callable[[Bus, Sequence[Servo]], SomeChain],
) -> list[SomeChain]:
    """Group servos of one bus and one series into chains."""
    groups: dict[tuple[int, str], list[Servo]] = {}
    for servo in servos:
        key = places[servo.index].bus, servo.model.table.series
        groups.setdefault(key, []).append(servo)
    return [make_chain(buses[bus], group) for (bus, _), group in groups.items()]


def settle(
    refusals: Sequence[DriverError], wishes: Sequence[Wish], options: SerialOptions, family: Family
) -> None:
    """Raise for lasting settings that are wrong and are not to be written; with `write_eeprom`, some are.

    Raises DriverError with all refusals, and all wishes that may not be fulfilled.
    """
    forbidden = [] if options.write_eeprom else wishes
    hint = f"set it with {family.tool}, or let `write_eeprom` do it"
    raise_all([*refusals, *(DriverError(wish.servo.where, wish.problem, "", hint) for wish in forbidden)])


def refused_status_levels(chain: Chain, complete: int, family: Family) -> Iterator[DriverError]:
    """Yield a refusal for each servo that does not answer all instructions.

    `complete`: the status return level at which it does.
    """
    for servo, level in zip(chain.servos, chain.get("status_return_level"), strict=True):
        if level < complete:
            yield DriverError(
                servo.where,
                f"answers only some instructions (status return level {level})",
                "its settings cannot be verified",
                f"set it to {complete} with {family.tool}",
            )


def common_wishes(servo: Servo, offset: int, delay: int, options: SerialOptions) -> Iterator[Wish]:
    """Yield what is wrong with a servo's homing offset and return delay, by the registers' values."""
    wanted = of_actuator(options.homing_offset_ticks, servo.actuator)
    if isinstance(wanted, int) and offset != wanted:
        yield Wish(
            servo, "homing_offset", wanted, f"its homing offset is {offset}, and {wanted} is configured"
        )
    wanted = of_actuator(options.return_delay_us, servo.actuator)
    if isinstance(wanted, int) and delay * RETURN_DELAY_UNIT_US != wanted:
        text = f"its return delay is {delay * RETURN_DELAY_UNIT_US} µs, and {wanted} is configured"
        yield Wish(servo, "return_delay", wanted // RETURN_DELAY_UNIT_US, text)


def refuse_held(chain: Chain, wishes: Iterable[Wish]) -> None:
    """Raise if a servo that is to be set holds; lasting settings are written without torque only."""
    held = [servo for servo, on in zip(chain.servos, chain.get("torque_enable"), strict=True) if on]
    changed = {wish.servo.servo_id for wish in wishes}
    raise_all(
        [
            DriverError(servo.where, "its lasting settings cannot be written", "its torque is on", SWITCH_OFF)
            for servo in held
            if servo.servo_id in changed
        ]
    )


def by_register(wishes: Iterable[Wish]) -> Mapping[str, Mapping[int, int]]:
    """Return the values that are wished for by register and servo id."""
    found: dict[str, dict[int, int]] = {}
    for wish in wishes:
        found.setdefault(wish.register, {})[wish.servo.servo_id] = wish.value
    return found


def loose(chain: Chain) -> list[int]:
    """Return the ids of the servos whose torque is off."""
    return [one for one, on in zip(chain.ids, chain.get("torque_enable"), strict=True) if not on]


def of_servos(
    ids: Collection[int], settings: Mapping[str, Mapping[int, int]]
) -> Mapping[str, Mapping[int, int]]:
    """Return the settings of some servos alone."""
    return {
        register: {one: value for one, value in values.items() if one in ids}
        for register, values in settings.items()
    }


def write_all(chain: Chain, settings: Mapping[str, Mapping[int, int]]) -> None:
    """Write registers by name and servo id, and read them back.

    Raises DriverError if a servo does not accept its value.
    """
    for register, values in settings.items():
        chain.set(register, values)


def profile_velocity_units(servo: Servo, options: SerialOptions) -> int:
    """Return the configured profile velocity in the register's unit."""
    return _units(options.profile_velocity_rad_s, servo, servo.model.velocity_unit_rad_s)


def profiles_of(servos: Sequence[Servo], options: SerialOptions) -> tuple[Floats, Floats]:
    """Return the profiles that servos have, rounded as their registers are; 0 where there is none.

    Returns `velocity`, `acceleration` (servos,): in rad/s and rad/s².
    """
    velocity = [profile_velocity_units(one, options) * one.model.velocity_unit_rad_s for one in servos]
    acceleration = [
        profile_acceleration_units(one, options) * (one.model.acceleration_unit_rad_s2 or 0.0)
        for one in servos
    ]
    return np.array(velocity), np.array(acceleration)


def profile_acceleration_units(servo: Servo, options: SerialOptions) -> int:
    """Return the configured profile acceleration in the register's unit; 0 where it has no such register."""
    if servo.model.acceleration_unit_rad_s2 is None:
        return 0
    return _units(options.profile_acceleration_rad_s2, servo, servo.model.acceleration_unit_rad_s2)


def _units(option: object, servo: Servo, unit: float) -> int:
    """Return an option in the register's unit; more than 0 stays at least 1, as 0 means no limit."""
    value = of_actuator(option, servo.actuator)
    if not isinstance(value, float) or value == 0:
        return 0
    return max(1, round(value / unit))


def profile_and_gains(chain: Chain, options: SerialOptions) -> dict[str, dict[int, int]]:
    """Return the profile and the gains that are configured, by register and servo id."""
    settings = {
        "profile_acceleration": {
            one.servo_id: profile_acceleration_units(one, options)
            for one in chain.servos
            if one.model.acceleration_unit_rad_s2 is not None
        },
        "profile_velocity": {one.servo_id: profile_velocity_units(one, options) for one in chain.servos},
    }
    for gain in type(options.gains).model_fields:
        values = {
            one.servo_id: of_actuator(getattr(options.gains, gain), one.actuator) for one in chain.servos
        }
        settings[f"{gain}_gain"] = {one: value for one, value in values.items() if isinstance(value, int)}
    return settings


def failures(chain: Chain, family: Family) -> list[tuple[Servo, int]]:
    """Return the servos that have a hardware error, with its bits."""
    return [pair for pair in zip(chain.servos, chain.get(family.error_register), strict=True) if pair[1]]


def refuse_failed(chain: Chain, family: Family) -> None:
    """Raise if servos have shut down. Raises DriverError with each such servo and what it reports."""
    masks = dict(zip(chain.ids, shutdown_masks(chain, family), strict=True))
    raise_all(
        [
            failed(servo, bits, family)
            for servo, bits in failures(chain, family)
            if bits & masks[servo.servo_id]
        ]
    )


def shutdown_masks(chain: Chain, family: Family) -> list[int]:
    """Return the errors with which each servo is not driven."""
    return [mask | family.fatal for mask in chain.get(family.shutdown_register)]


def failed(servo: Servo, bits: int, family: Family) -> DriverError:
    """Return the error of a servo that has shut down, with what helps."""
    what = f"reports {family.in_words(bits)}"
    return DriverError(servo.where, what, *family.meaning(servo, bits), actuators=[servo.actuator])
