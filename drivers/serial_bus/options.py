"""The options that all drivers of serial servos have; `place_servos` checks them against the actuators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence  # noqa: TC003 - pydantic resolves the annotations of the options
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from motiond.text import nearest

from ..base import DriverOptions
from ..options import (
    Finite,
    NotNegative,
    OptionProblem,
    OptionsError,
    PerActuatorOf,
    Positive,
    unknown_actuators,
)
from .chain import Servo
from .models import by_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .bus import Bus
    from .family import Family
    from .models import Model
    from .protocol import Firmware

Direction = Literal[1, -1]
MOST_TICKS = 2**31 - 1
"""Registers of positions have four bytes at most."""
Ticks = Annotated[int, Field(ge=-MOST_TICKS, le=MOST_TICKS)]


class SerialPortOptions(DriverOptions):
    """A serial port and the servos on its bus; a driver limits its baud rates and ids."""

    port: str = Field(description="Such as /dev/ttyUSB0, or better a path under /dev/serial/by-id.")
    baud_rate: int = Field(description="As the servos are set.")
    ids: dict[str, int] = Field(min_length=1, description="The servos' ids by actuator.")


class SerialOptions(DriverOptions):
    """A value holds for all actuators, a mapping by actuator."""

    ports: Sequence[SerialPortOptions] = Field(min_length=1, description="The buses, which work in parallel.")
    models: PerActuatorOf[str] | None = Field(
        default=None, description="Which model is expected; another one is refused."
    )
    direction: PerActuatorOf[Direction] = Field(
        default=1, description="-1 where the actuator turns against the servo."
    )
    zero_ticks: PerActuatorOf[Ticks] | None = Field(
        default=None, description="The register's position at 0 rad; the servo's centre by default."
    )
    lower_rad: PerActuatorOf[Finite] | None = Field(
        default=None, description="The least position that the joint can be at."
    )
    upper_rad: PerActuatorOf[Finite] | None = Field(
        default=None, description="The greatest position that the joint can be at."
    )
    homing_offset_ticks: PerActuatorOf[Ticks] | None = Field(
        default=None, description="As it must be in the servo."
    )
    return_delay_us: PerActuatorOf[Annotated[int, Field(ge=0, le=508, multiple_of=2)]] | None = Field(
        default=None, description="As it must be; 0 is fastest."
    )
    write_eeprom: bool = Field(
        default=False, description="Set the servos' lasting settings where they differ, instead of refusing."
    )
    reboot_failed: bool = Field(
        default=False, description="Restart servos that are found with a hardware error, when opening."
    )
    profile_velocity_rad_s: PerActuatorOf[NotNegative] = Field(default=0.0, description="0 is without limit.")
    profile_acceleration_rad_s2: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="0 is without limit."
    )
    gains: DriverOptions = DriverOptions()
    torque_constant_nm_per_a: PerActuatorOf[Positive] | None = Field(
        default=None, description="Turns current into effort; without it no effort is reported."
    )
    command_lifetime_s: Annotated[float, Field(gt=0, le=10)] = Field(
        default=0.2, description="No command goes out when none came for so long."
    )
    answer_timeout_s: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.004, description="How much later than by the baud rate an answer may come."
    )
    lost_after: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="So many answers must be missing in a row for a servo to be lost."
    )
    status_every: Annotated[int, Field(ge=2, le=10_000)] = Field(
        default=10, description="Voltage, temperature and health are read once in so many reads."
    )

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield each option that is a mapping by actuator, with each actuator that it names."""
        groups = (("", self), ("gains.", self.gains))
        for prefix, options in groups:
            for option in type(options).model_fields:
                value = getattr(options, option)
                if isinstance(value, dict):
                    yield from ((f"{prefix}{option}", name) for name in value)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an actuator's servo is."""

    index: int
    actuator: str
    bus: int
    servo_id: int

    def where(self, bus: Bus) -> str:
        """Return what messages name."""
        return f"{bus.port} servo {self.servo_id} ({self.actuator})"

    def servo(self, bus: Bus, model: Model, firmware: Firmware) -> Servo:
        """Return the servo that is here, whose model and firmware are known by a ping."""
        return Servo(self.index, self.actuator, self.where(bus), self.servo_id, model, firmware, bus)


def place_servos(options: SerialOptions, actuators: Sequence[str], family: Family) -> tuple[Place, ...]:
    """Return the bus and servo of each actuator, in the order of the actuators.

    Raises OptionsError with every option that does not fit the actuators or the others.
    """
    problems = [
        *_wrong_ports(options, family.where),
        *_wrong_names(options, actuators, family.where),
        *_wrong_models(options, family),
        *_wrong_ranges(options, actuators, family.where),
    ]
    if problems:
        raise OptionsError(problems)
    found = {name: (bus, servo) for bus, port in enumerate(options.ports) for name, servo in port.ids.items()}
    return tuple(Place(index, name, *found[name]) for index, name in enumerate(actuators))


def of_actuator(value: object, actuator: str) -> object:
    """Return the value of an option for one actuator; None where it has none."""
    return value.get(actuator) if isinstance(value, dict) else value


def _wrong_ports(options: SerialOptions, where: str) -> Iterator[OptionProblem]:
    for device, count in Counter(port.port for port in options.ports).items():
        if count > 1:
            yield OptionProblem(
                where, ("ports",), f"port {device} stands there {count} times", hint="put its servos together"
            )
    for port in options.ports:
        for servo_id, count in Counter(port.ids.values()).items():
            if count > 1:
                names = ", ".join(name for name, one in port.ids.items() if one == servo_id)
                yield OptionProblem(
                    where,
                    ("ports",),
                    f"{names} have one id, {servo_id}, on {port.port}",
                    "servos with one id answer at once and are not understood",
                    "give each an id of its own",
                )


def _wrong_names(options: SerialOptions, actuators: Sequence[str], where: str) -> Iterator[OptionProblem]:
    placed = [name for port in options.ports for name in port.ids]
    for name, count in Counter(placed).items():
        if count > 1:
            yield OptionProblem(where, ("ports",), f"'{name}' has {count} ids", hint="give it one")
    missing = [name for name in actuators if name not in placed]
    if missing:
        yield OptionProblem(
            where, ("ports",), f"no id for {', '.join(missing)}", hint="name them under `ids` of a port"
        )
    named = [("ports", name) for name in placed] + list(options.names())
    yield from unknown_actuators(where, named, actuators)


def _wrong_models(options: SerialOptions, family: Family) -> Iterator[OptionProblem]:
    models = options.models
    named = set(models.values()) if isinstance(models, dict) else {models} - {None}
    known = by_name(family.models())
    for name in sorted(name for name in named if name is not None and name not in known):
        yield OptionProblem(
            family.where,
            ("models",),
            f"unknown model '{name}'",
            f"{family.page} lists them",
            nearest(name, known),
        )


def _wrong_ranges(options: SerialOptions, actuators: Sequence[str], where: str) -> Iterator[OptionProblem]:
    for name in actuators:
        lower, upper = of_actuator(options.lower_rad, name), of_actuator(options.upper_rad, name)
        if (lower is None) != (upper is None):
            yield OptionProblem(
                where,
                ("lower_rad",),
                f"'{name}' has only one end of its range",
                "its turns cannot be checked so",
                "give both `lower_rad` and `upper_rad`",
            )
        elif isinstance(lower, float) and isinstance(upper, float) and lower >= upper:
            yield OptionProblem(
                where,
                ("lower_rad",),
                f"the range of '{name}' is empty, {lower:g} to {upper:g} rad",
                hint="put the lower end first",
            )
